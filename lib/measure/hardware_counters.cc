#include "memsim/measure/hardware_counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace memsim {

namespace {

constexpr std::array<uint64_t, kHardwareEvents> kConfigs = {
    PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CACHE_MISSES,
    PERF_COUNT_HW_BRANCH_MISSES};
constexpr absl::string_view kNeverRan = "the counters were busy with something else all the time";
constexpr absl::string_view kStoodStill = "the counter stayed at 0";

std::optional<int> Paranoid() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int level = 0;
  if (file >> level) return level;
  return std::nullopt;
}

// Disabled until the leader is enabled; -1 with errno set.
int OpenEvent(uint64_t config, int leader) {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = config;
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  if (leader < 0) attr.disabled = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

// The counters of one thread. `counts` holds the reasons of those that could not be opened.
struct HardwareCounters::Group {
  std::vector<int> files;      // the first is the leader
  std::vector<size_t> events;  // by file
  HardwareCounts counts;
};

HardwareCounters::HardwareCounters() = default;

HardwareCounters::~HardwareCounters() {
  for (const auto& [cpu, group] : running_) {
    for (const int file : group.files) close(file);
  }
}

void HardwareCounters::OnCpuStart(CpuId cpu) {
  Group group;
  for (size_t event = 0; event < kHardwareEvents; ++event) {
    const int file = OpenEvent(kConfigs[event], group.files.empty() ? -1 : group.files[0]);
    if (file < 0) {
      group.counts[event].why = internal::WhyNoCounter(errno, Paranoid());
      continue;
    }
    group.files.push_back(file);
    group.events.push_back(event);
  }
  const int leader = group.files.empty() ? -1 : group.files[0];
  {
    const std::lock_guard<std::mutex> hold(mutex_);
    running_[cpu] = std::move(group);
  }
  if (leader >= 0) ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

void HardwareCounters::OnCpuEnd(CpuId cpu) {
  const std::lock_guard<std::mutex> hold(mutex_);
  Group group = std::move(running_.extract(cpu).mapped());
  if (!group.files.empty()) {
    ioctl(group.files[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
    std::array<uint64_t, 3 + kHardwareEvents> words;
    const ssize_t n = read(group.files[0], words.data(), sizeof(words));
    const size_t got = n < 0 ? 0 : static_cast<size_t>(n) / sizeof(uint64_t);
    const auto values =
        internal::ScaledGroup(absl::MakeSpan(words).first(got), group.events.size());
    for (size_t i = 0; i < group.events.size(); ++i) {
      HardwareCount& count = group.counts[group.events[i]];
      if (!values.has_value())
        count.why = std::string(kNeverRan);
      else if ((*values)[i] == 0)
        count.why = std::string(kStoodStill);
      else
        count.count = (*values)[i];
    }
    for (const int file : group.files) close(file);
  }
  for (size_t event = 0; event < kHardwareEvents; ++event) {
    counts_[event] = internal::Sum(counts_[event], group.counts[event]);
  }
}

HardwareCounts HardwareCounters::Take() {
  const std::lock_guard<std::mutex> hold(mutex_);
  HardwareCounts taken = std::exchange(counts_, HardwareCounts());
  for (HardwareCount& count : taken) {
    if (!count.count.has_value() && count.why.empty()) count.why = "nothing was run";
  }
  return taken;
}

namespace internal {

std::optional<std::vector<double>> ScaledGroup(absl::Span<const uint64_t> words, size_t events) {
  constexpr size_t kHead = 3;
  if (words.size() != kHead + events || words[0] != events) return std::nullopt;
  const uint64_t enabled = words[1], running = words[2];
  if (running == 0) return std::nullopt;
  std::vector<double> values;
  for (const uint64_t word : words.subspan(kHead)) {
    values.push_back(static_cast<double>(word) * static_cast<double>(enabled) /
                     static_cast<double>(running));
  }
  return values;
}

std::string WhyNoCounter(int error, std::optional<int> paranoid) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "this CPU, or the hypervisor around it, has no such counter";
    case ENOSYS:
      return "this kernel was built without perf events";
    case EACCES:
    case EPERM:
      return paranoid.has_value() && *paranoid > 2
                 ? absl::StrCat("not permitted: kernel.perf_event_paranoid is ", *paranoid,
                                ", 2 would do")
                 : "not permitted: perf_event_open() is forbidden here, as in many containers";
    default:
      return absl::StrCat("perf_event_open: ", strerror(error));
  }
}

HardwareCount Sum(const HardwareCount& a, const HardwareCount& b) {
  const auto untouched = [](const HardwareCount& c) {
    return !c.count.has_value() && c.why.empty();
  };
  if (untouched(a)) return b;
  if (untouched(b)) return a;
  if (!a.count.has_value()) return a;
  if (!b.count.has_value()) return b;
  return {*a.count + *b.count, ""};
}

}  // namespace internal

}  // namespace memsim
