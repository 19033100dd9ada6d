#include "lib/simulated/line_stats.h"

#include <algorithm>

namespace memsim {

void LineStats::AddPair(LineReport& report, uint8_t waiter, uint8_t writer) {
  for (LineReport::Pair& pair : report.pairs) {
    if (pair.waiter == waiter && pair.writer == writer) {
      ++pair.n;
      return;
    }
  }
  report.pairs.push_back({waiter, writer, 1});
}

std::vector<LineReport> LineStats::Report() const {
  std::vector<LineReport> lines;
  for (const auto& stat : slots_) {
    if (stat != nullptr) lines.push_back(*stat);
  }
  for (LineReport& line : lines) {
    std::sort(line.pairs.begin(), line.pairs.end(),
              [](const LineReport::Pair& a, const LineReport::Pair& b) {
                return a.n != b.n ? a.n > b.n : a.waiter * 8 + a.writer < b.waiter * 8 + b.writer;
              });
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const LineReport& a, const LineReport& b) { return a.cost > b.cost; });
  return lines;
}

}  // namespace memsim
