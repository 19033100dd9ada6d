// The table of mmtests' compare-kernels.sh: a column for each kernel, and behind each value in
// parentheses how much better it is than that of the first column, in percent. Later versions of
// mmtests put a difference that they call significant between asterisks.
#ifndef MEMSIM_LIB_REPORT_MMTESTS_TABLE_H_
#define MEMSIM_LIB_REPORT_MMTESTS_TABLE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/report/table.h"
#include "memsim/measure/configuration.h"

namespace memsim {

using Titles = std::vector<std::string>;  // the lines above a column
// Kernel, and memcg with the gate where it is not the kernel's own.
Titles TitlesOf(const Configuration& configuration);

// As many tables as it takes for 100 columns, each of the rows for columns first…last. `rows` writes one.
std::string InBlocks(const std::vector<Titles>& titles,
                     const std::function<void(size_t first, size_t last, Table&)>& rows);

// One row: what `cell` says for each column.
void AddRow(Table& table, std::string label, size_t first, size_t last,
            const std::function<std::string(size_t)>& cell);

// "Hmean    faults/cpu-1"
std::string MmtestsLabel(absl::string_view statistic, absl::string_view row);

enum class Better : uint8_t { kMore, kLess };
// "1508934.4568 ( -0.01%)"; what stands for a hole ends where the values end.
std::string MmtestsCell(std::optional<double> base, std::optional<double> value,
                        Better better = Better::kMore, bool significant = false);

}  // namespace memsim

#endif  // MEMSIM_LIB_REPORT_MMTESTS_TABLE_H_
