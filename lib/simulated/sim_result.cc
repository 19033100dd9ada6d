#include "memsim/machine/sim_result.h"

#include <algorithm>

namespace memsim {

absl::string_view SimRowName(size_t row) {
  if (row < kFnCount) return Info(static_cast<Fn>(row)).name;
  if (row < kSimClearPage) return kStages[row - kFnCount].name;
  if (row == kSimClearPage) return "clear_page";
  if (row == kSimTimer) return "timer interrupt";
  return "mmap lock";
}

uint64_t SimResult::accesses() const {
  uint64_t sum = 0;
  for (const SimCpuTimes& cpu : cpus) sum += cpu.accesses;
  return sum;
}

CauseTimes SimResult::RowCauses(size_t row) const {
  CauseTimes sum{};
  for (const RowTimes& part : times) {
    for (size_t c = 0; c < kCauseCount; ++c) sum[c] += part[row][c];
  }
  return sum;
}

uint64_t SimResult::RowTime(size_t row) const {
  uint64_t sum = 0;
  for (const uint64_t ps : RowCauses(row)) sum += ps;
  return sum;
}

uint64_t SimResult::Time() const {
  uint64_t sum = 0;
  for (size_t row = 0; row < kSimRows; ++row) sum += RowTime(row);
  return sum;
}

uint64_t SimResult::Wall(size_t phase) const {
  uint64_t begin = UINT64_MAX, end = 0;
  for (const SimCpuTimes& cpu : cpus) {
    if (!cpu.phase[phase].any) continue;
    begin = std::min(begin, cpu.phase[phase].begin);
    end = std::max(end, cpu.phase[phase].end);
  }
  return end > begin ? end - begin : 0;
}

uint64_t SimResult::Samples() const {
  uint64_t sum = 0;
  for (const uint64_t n : samples) sum += n;
  return sum;
}

}  // namespace memsim
