// The lines of EnvironmentWatch: what the host says, and what it does to a time.
//
// `root` stands before /proc and /sys. What cannot be read is "not available", with the reason.
#ifndef MEMSIM_LIB_MEASURE_ENVIRONMENT_NOTES_H_
#define MEMSIM_LIB_MEASURE_ENVIRONMENT_NOTES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "memsim/measure/environment.h"
#include "memsim/measure/statistics.h"

namespace memsim {

// The first line of a file. Errors    what the system says about it
absl::StatusOr<std::string> FirstLine(const std::string& path);

// Whether the CPU says that it is a hypervisor's; nothing where it says nothing.
std::optional<bool> UnderHypervisor(const std::string& root);

// What stays as it is unless somebody changes it: governor, turbo, SMT, virtualisation, ASLR. `cpus` are
// those that the process may use.
std::vector<EnvironmentNote> SettingNotes(const std::string& root, const std::vector<int>& cpus);
// The same before and after: what changed is said.
std::vector<EnvironmentNote> SettingsOver(const std::vector<EnvironmentNote>& before,
                                          const std::vector<EnvironmentNote>& after);

EnvironmentNote BuildNote(const std::string& build, bool optimised);

// What runs on while a comparison does.
struct HostMoment {
  struct Ticks {
    double busy = 0, stolen = 0;  // seconds, all `cpus` together
  };
  double seconds = 0;      // of the steady clock
  double own_seconds = 0;  // CPU time of this process
  absl::StatusOr<Ticks> ticks = absl::UnknownError("");
  absl::StatusOr<double> load = absl::UnknownError("");
};

HostMoment ReadHostMoment(const std::string& root, const std::vector<int>& cpus);
// GHz, of a chain of adds that wait for each other; takes 40 ms.
Interval ProbeClock();

EnvironmentNote LoadNote(const HostMoment& begin, const HostMoment& end, int cpus);
// `begin` and `end` are what ProbeClock() gave then.
EnvironmentNote DriftNote(const Interval& begin, const Interval& end);
EnvironmentNote StealNote(const HostMoment& begin, const HostMoment& end);

}  // namespace memsim

#endif  // MEMSIM_LIB_MEASURE_ENVIRONMENT_NOTES_H_
