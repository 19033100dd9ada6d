// The counters of this CPU around the threads of a native session: what `perf stat -e …:u` counts.
//
// Mechanism  one perf_event_open() group for each thread, opened as it starts and read as it ends
// Units      events in user space; a group that shared the counters with others is scaled by the time it ran
// Threads    OnCpuStart/OnCpuEnd run on the counted threads; Take() after they have ended
// Errors     a counter that the CPU, the hypervisor or the permissions do not give has no count but a reason.
//            One that stayed at 0 while a workload ran has none either: hypervisors show counters that stand
#ifndef MEMSIM_MEASURE_HARDWARE_COUNTERS_H_
#define MEMSIM_MEASURE_HARDWARE_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "memsim/session.h"

namespace memsim {

enum class HardwareEvent : uint8_t { kCycles, kInstructions, kCacheMisses, kBranchMisses, kCount };

inline constexpr size_t kHardwareEvents = static_cast<size_t>(HardwareEvent::kCount);
// As perf names them.
inline constexpr std::array<absl::string_view, kHardwareEvents> kHardwareEventNames = {
    "cycles", "instructions", "cache-misses", "branch-misses"};

struct HardwareCount {
  std::optional<double> count;
  std::string why;  // when there is no count
};

using HardwareCounts = std::array<HardwareCount, kHardwareEvents>;

class HardwareCounters : public CpuObserver {
 public:
  HardwareCounters();
  ~HardwareCounters() override;

  void OnCpuStart(CpuId cpu) override;
  void OnCpuEnd(CpuId cpu) override;

  // What has been counted since the last call, all threads together.
  HardwareCounts Take();

 private:
  struct Group;

  std::mutex mutex_;
  std::map<CpuId, Group> running_;
  HardwareCounts counts_;
};

namespace internal {

// One read of a group with PERF_FORMAT_GROUP and both times: { n, enabled, running, n values }. One value for
// each of `events`, scaled; none when the group never ran or the kernel answered something else.
std::optional<std::vector<double>> ScaledGroup(absl::Span<const uint64_t> words, size_t events);

// What the user is told of a perf_event_open() that failed. `paranoid` is what
// /proc/sys/kernel/perf_event_paranoid says, if it can be read.
std::string WhyNoCounter(int error, std::optional<int> paranoid);

// Joins the counts of two threads, or of two runs: a sum of which a part is missing is missing.
HardwareCount Sum(const HardwareCount& a, const HardwareCount& b);

}  // namespace internal

}  // namespace memsim

#endif  // MEMSIM_MEASURE_HARDWARE_COUNTERS_H_
