#include "lib/report/mmtests_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "memsim/report/pft.h"

namespace memsim {

namespace {

// Columns side by side: a row of three of mmtests' cells is 93 characters wide.
constexpr size_t kSideBySide = 3;

}  // namespace

Titles TitlesOf(const Configuration& c) {
  std::string memcg = c.memcg();
  if (c.gate != c.kernel->default_gate) absl::StrAppend(&memcg, " ", GateName(c.gate));
  return {std::string(c.kernel->name), memcg};
}

std::string InBlocks(const std::vector<Titles>& titles,
                     const std::function<void(size_t first, size_t last, Table&)>& rows) {
  std::string text;
  for (size_t first = 0; first < titles.size(); first += kSideBySide) {
    const size_t last = std::min(first + kSideBySide, titles.size());
    Table table(absl::StrCat("l", std::string(last - first, 'r')));
    for (size_t line = 0; line < titles[first].size(); ++line) {
      std::vector<std::string> cells = {""};
      for (size_t column = first; column < last; ++column) cells.push_back(titles[column][line]);
      table.Row(std::move(cells));
    }
    rows(first, last, table);
    absl::StrAppend(&text, first == 0 ? "" : "\n", table.Text());
  }
  return text;
}

void AddRow(Table& table, std::string label, size_t first, size_t last,
            const std::function<std::string(size_t)>& cell) {
  std::vector<std::string> cells = {std::move(label)};
  for (size_t column = first; column < last; ++column) cells.push_back(cell(column));
  table.Row(std::move(cells));
}

std::string MmtestsLabel(absl::string_view statistic, absl::string_view row) {
  return absl::StrFormat("%-8s %s", statistic, row);
}

std::string MmtestsCell(std::optional<double> base, std::optional<double> value, Better better,
                        bool significant) {
  const std::string number = value.has_value() ? Fixed(*value, 4) : "-";
  if (!base.has_value() || !value.has_value()) return absl::StrCat(number, std::string(10, ' '));
  const double more = *value == *base ? 0 : PercentBetter(*base, *value);
  const double percent = better == Better::kMore ? more : 0 - more;
  if (significant) return absl::StrFormat("%s *%6.2f%%*", number, percent);
  return absl::StrFormat("%s (%6.2f%%)", number, percent);
}

}  // namespace memsim
