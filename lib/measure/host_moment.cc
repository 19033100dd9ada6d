// What an EnvironmentWatch reads at both ends of a run.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/measure/calibrate/core.h"
#include "lib/measure/environment_notes.h"
#include "memsim/machine/native.h"
#include "memsim/session/threads.h"

namespace memsim {

namespace {

constexpr int kProbes = 11;  // of some 4 ms each; eleven give an interval of 95 %

// Lines "cpuN user nice system idle iowait irq softirq steal ...", in ticks.
absl::StatusOr<HostMoment::Ticks> ReadTicks(const std::string& root, const std::vector<int>& cpus) {
  std::set<std::string> wanted;
  for (const int cpu : cpus) wanted.insert(absl::StrCat("cpu", cpu));
  const double tick = 1 / static_cast<double>(sysconf(_SC_CLK_TCK));
  HostMoment::Ticks sum;
  std::ifstream file(root + "/proc/stat");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty() || wanted.erase(words[0]) == 0) continue;
    uint64_t ticks[8];
    for (size_t i = 0; i < 8; ++i) {
      if (words.size() < 9 || !absl::SimpleAtoi(words[i + 1], &ticks[i])) {
        return absl::NotFoundError("not in /proc/stat");
      }
    }
    sum.busy += tick * static_cast<double>(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]);
    sum.stolen += tick * static_cast<double>(ticks[7]);
  }
  if (!wanted.empty()) return absl::NotFoundError("no CPUs in /proc/stat");
  return sum;
}

absl::StatusOr<double> ReadLoad(const std::string& root) {
  const auto line = FirstLine(root + "/proc/loadavg");
  if (!line.ok()) return absl::NotFoundError("no /proc/loadavg");
  double load = 0;
  const std::vector<std::string> words = absl::StrSplit(*line, ' ');
  if (!absl::SimpleAtod(words[0], &load)) return absl::NotFoundError("/proc/loadavg holds no number");
  return load;
}

double OwnSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

HostMoment ReadHostMoment(const std::string& root, const std::vector<int>& cpus) {
  HostMoment moment;
  moment.ticks = ReadTicks(root, cpus);
  moment.load = ReadLoad(root);
  moment.seconds = 1e-9 * static_cast<double>(native::NowNs());
  moment.own_seconds = OwnSeconds();
  return moment;
}

Interval ProbeClock() {
  std::vector<double> clock;
  RunOnCpus(1, [&](CpuId) {
    for (int probe = 0; probe < kProbes; ++probe) clock.push_back(calibrate::ClockGhz());
  });
  return MedianInterval(std::move(clock));
}

}  // namespace memsim
