// Aligned text tables.
#ifndef MEMSIM_LIB_REPORT_TABLE_H_
#define MEMSIM_LIB_REPORT_TABLE_H_

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "memsim/measure/statistics.h"

namespace memsim {

// Columns a report may take.
inline constexpr size_t kColumns = 100;

class Table {
 public:
  // One character per column: 'l' or 'r', the side it is aligned to.
  explicit Table(absl::string_view align) : align_(align) {}
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // A line across the table.
  void Rule() { rows_.push_back({}); }
  // Two blanks between columns, no trailing blanks.
  std::string Text() const;

 private:
  std::string align_;
  std::vector<std::vector<std::string>> rows_;
};

// "12.34"; "-" for a value that is not there (negative digits are the caller's business).
std::string Fixed(double value, int digits);
// Shortest with at most `digits` decimals; "." for zero, so that a table of counts is easy to scan.
std::string Count(double value, int digits = 3);
// A time in ns with as many decimals as make sense: 12.34, 123.4, 12345.
std::string Ns(double value);
std::string NsRange(const Interval& interval);
// "12.3…12.9"
std::string Range(const Interval& interval, int digits, double scale = 1);
// The line that heads a report whose measuring was interrupted; empty otherwise.
std::string PartialNote(bool partial);
// Columns a UTF-8 text takes on a terminal.
size_t Width(absl::string_view text);
// Breaks a paragraph into lines of at most `width` columns, each after `indent`.
std::string Wrap(absl::string_view text, size_t width, absl::string_view indent);

}  // namespace memsim

#endif  // MEMSIM_LIB_REPORT_TABLE_H_
