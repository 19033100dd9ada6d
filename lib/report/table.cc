#include "lib/report/table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace memsim {

size_t Width(absl::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string Table::Text() const {
  std::vector<size_t> widths(align_.size());
  size_t all = 0;
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Width(row[c]));
  }
  for (const size_t width : widths) all += width + 2;
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    if (row.empty()) line = std::string(all - 2, '-');
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - Width(row[c]), ' ');
      absl::StrAppend(&line, c == 0 ? "" : "  ", align_[c] == 'r' ? pad : "", row[c],
                      align_[c] == 'l' ? pad : "");
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string Fixed(double value, int digits) { return absl::StrFormat("%.*f", digits, value); }

std::string Count(double value, int digits) {
  if (std::abs(value) < 0.5 * std::pow(10.0, -digits)) return ".";
  std::string text = Fixed(value, digits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

namespace {
int NsDigits(double value) { return std::abs(value) < 100 ? 2 : std::abs(value) < 1000 ? 1 : 0; }
}  // namespace

std::string Ns(double value) { return Fixed(value, NsDigits(value)); }

std::string NsRange(const Interval& interval) { return Range(interval, NsDigits(interval.high)); }

std::string Range(const Interval& interval, int digits, double scale) {
  return absl::StrCat(Fixed(interval.low * scale, digits), "…", Fixed(interval.high * scale, digits));
}

std::string PartialNote(bool partial) {
  return partial ? "PARTIAL: interrupted; what follows is what had been measured until then\n" : "";
}

std::string Wrap(absl::string_view text, size_t width, absl::string_view indent) {
  std::string out;
  std::string line(indent);
  bool empty = true;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!empty && Width(line) + 1 + Width(word) > width) {
      absl::StrAppend(&out, line, "\n");
      line = std::string(indent);
      empty = true;
    }
    absl::StrAppend(&line, empty ? "" : " ", word);
    empty = false;
  }
  return absl::StrCat(out, line, "\n");
}

}  // namespace memsim
