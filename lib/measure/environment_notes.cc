#include "lib/measure/environment_notes.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace memsim {

namespace {

constexpr absl::string_view kSysCpu = "/sys/devices/system/cpu/";
// Below this the host counts too few ticks, of 10 ms each, to say anything.
constexpr double kShortestRun = 0.2;
constexpr double kMuchSteal = 0.001;   // of the time that CPUs wanted to run
constexpr double kMuchLoad = 0.1;      // CPUs

EnvironmentNote NotAvailable(absl::string_view name, absl::string_view why, absl::string_view effect) {
  return {std::string(name), absl::StrCat("not available (", why, ")"), std::string(effect), false};
}

EnvironmentNote GovernorNote(const std::string& root, const std::vector<int>& cpus) {
  std::set<std::string> names;
  for (const int cpu : cpus) {
    const auto name = FirstLine(absl::StrCat(root, kSysCpu, "cpu", cpu, "/cpufreq/scaling_governor"));
    if (!name.ok()) {
      return NotAvailable("governor", "no cpufreq here", "the clock may move unseen; see clock drift");
    }
    names.insert(name->substr(0, 16));
  }
  const std::string value = *names.begin();
  if (names.size() > 1) {
    return {"governor", absl::StrCat(names.size(), " kinds, ", value, " and others"),
            "the CPUs do not run at one clock", true};
  }
  if (value == "performance") {
    return {"governor", value, "none: the clock is not lowered for idle CPUs", false};
  }
  if (value == "powersave") return {"governor", value, "the clock may be low, and follow the load", true};
  return {"governor", value, "the clock follows the load: early rounds may be slower than late ones", true};
}

EnvironmentNote TurboNote(const std::string& root) {
  const auto no_turbo = FirstLine(absl::StrCat(root, kSysCpu, "intel_pstate/no_turbo"));
  const auto boost = FirstLine(absl::StrCat(root, kSysCpu, "cpufreq/boost"));
  if (!no_turbo.ok() && !boost.ok()) {
    return NotAvailable("turbo", "no no_turbo, no boost", "the clock may move unseen; see clock drift");
  }
  if (no_turbo.ok() ? *no_turbo == "0" : *boost == "1") {
    return {"turbo", "on", "the clock depends on heat and on what other cores do", true};
  }
  return {"turbo", "off", "none: the clock does not depend on other cores", false};
}

EnvironmentNote SmtNote(const std::string& root) {
  const auto active = FirstLine(absl::StrCat(root, kSysCpu, "smt/active"));
  if (!active.ok()) {
    return NotAvailable("SMT", "no smt/active here", "a second thread may share the core");
  }
  if (*active == "1") {
    return {"SMT", "on", "what runs on the core's other thread takes instruction slots and cache", true};
  }
  return {"SMT", "off", "none that this system sees; a hypervisor may still share the core", false};
}

EnvironmentNote VirtualNote(const std::string& root) {
  const std::optional<bool> under = UnderHypervisor(root);
  if (!under.has_value()) {
    return NotAvailable("virtualisation", "no flags in /proc/cpuinfo",
                        "faults may cost more than on bare metal");
  }
  if (!*under) return {"virtualisation", "none", "none", false};
  return {"virtualisation", "under a hypervisor", "faults and TLB misses cost more than on bare metal", true};
}

EnvironmentNote AslrNote(const std::string& root) {
  constexpr uint32_t kNoRandomize = 0x0040000;  // ADDR_NO_RANDOMIZE of personality(2)
  constexpr absl::string_view kSame = "every run has the same addresses, and what is slow about them";
  const auto space = FirstLine(absl::StrCat(root, "/proc/sys/kernel/randomize_va_space"));
  const auto personality = FirstLine(absl::StrCat(root, "/proc/self/personality"));
  uint32_t bits = 0;
  if (personality.ok() && absl::SimpleHexAtoi(*personality, &bits) && (bits & kNoRandomize) != 0) {
    return {"ASLR", "off for this process", std::string(kSame), true};
  }
  if (!space.ok()) {
    return NotAvailable("ASLR", "no randomize_va_space", "addresses may differ from run to run");
  }
  if (*space == "0") return {"ASLR", "off", std::string(kSame), true};
  return {"ASLR", *space == "1" ? "on, but for the heap" : "on",
          "addresses differ from run to run, and times a little with them", false};
}

}  // namespace

absl::StatusOr<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  errno = 0;
  if (file.is_open() && std::getline(file, line)) return line;
  return absl::NotFoundError(absl::StrCat(path, ": ", errno != 0 ? strerror(errno) : "cannot be read"));
}

std::optional<bool> UnderHypervisor(const std::string& root) {
  std::ifstream info(absl::StrCat(root, "/proc/cpuinfo"));
  for (std::string line; std::getline(info, line);) {
    if (absl::StartsWith(line, "flags")) return absl::StrContains(absl::StrCat(line, " "), " hypervisor ");
  }
  return std::nullopt;
}

std::vector<EnvironmentNote> SettingNotes(const std::string& root, const std::vector<int>& cpus) {
  return {GovernorNote(root, cpus), TurboNote(root), SmtNote(root), VirtualNote(root), AslrNote(root)};
}

std::vector<EnvironmentNote> SettingsOver(const std::vector<EnvironmentNote>& before,
                                          const std::vector<EnvironmentNote>& after) {
  std::vector<EnvironmentNote> notes = after;
  for (size_t i = 0; i < notes.size(); ++i) {
    if (before[i].value == after[i].value) continue;
    notes[i] = {after[i].name, absl::StrCat(before[i].value, ", then ", after[i].value),
                "early and late rounds differ", true};
  }
  return notes;
}

EnvironmentNote BuildNote(const std::string& build, bool optimised) {
  if (build == "optimised") return {"build", build, "none", false};
  // The words about times are said by the effect here.
  const std::string value(absl::StripSuffix(build, ": times mean little"));
  return {"build", value,
          optimised && !absl::StrContains(build, "sanitizers") ? "what is checked costs time in every arm"
                                                               : "times mean little",
          true};
}

EnvironmentNote LoadNote(const HostMoment& begin, const HostMoment& end, int cpus) {
  constexpr absl::string_view kEffect = "caches they cool count, waiting for them does not";
  if (!begin.load.ok()) {
    return NotAvailable("load", begin.load.status().message(), "caches that others cool count");
  }
  const std::string average = absl::StrFormat("%.1f", *begin.load);
  bool harms = *begin.load >= cpus;
  const double seconds = end.seconds - begin.seconds;
  if (!begin.ticks.ok() || !end.ticks.ok() || seconds < kShortestRun) {
    return {"load", absl::StrCat(average, " at the start"), "caches that others cool count, waiting does not",
            harms};
  }
  const double own = end.own_seconds - begin.own_seconds;
  const double others = std::max(0.0, end.ticks->busy - begin.ticks->busy - own);
  harms = harms || others / seconds >= kMuchLoad;
  return {"load", absl::StrFormat("%s; others used %.2f of %d CPUs", average, others / seconds, cpus),
          std::string(kEffect), harms};
}

EnvironmentNote DriftNote(const Interval& begin, const Interval& end) {
  const auto percent = [](double late, double early) { return 100 * (late / early - 1); };
  if (begin.n == 0 || end.n == 0) {
    return NotAvailable("clock drift", "not measured", "absolute times move with the clock");
  }
  const double low = percent(end.low, begin.high), high = percent(end.high, begin.low);
  if (low <= 0 && high >= 0) {
    return {"clock drift", absl::StrFormat("not resolved, %+.1f…%+.1f %% from start to end", low, high),
            "none that was seen", false};
  }
  return {"clock drift",
          absl::StrFormat("%+.1f %%, %+.1f…%+.1f, start to end", percent(end.centre, begin.centre),
                          low, high),
          "times move with it, paired differences less", true};
}

EnvironmentNote StealNote(const HostMoment& begin, const HostMoment& end) {
  constexpr absl::string_view kEffect = "CPU time leaves it out, caches it cools count";
  if (!begin.ticks.ok()) return NotAvailable("steal time", begin.ticks.status().message(), kEffect);
  if (!end.ticks.ok()) return NotAvailable("steal time", end.ticks.status().message(), kEffect);
  const double seconds = end.seconds - begin.seconds;
  if (seconds < kShortestRun) {
    return NotAvailable("steal time", absl::StrFormat("%.2f s is too short", seconds), kEffect);
  }
  const double stolen = std::max(0.0, end.ticks->stolen - begin.ticks->stolen);
  const double wanted = stolen + std::max(0.0, end.ticks->busy - begin.ticks->busy);
  const double share = wanted > 0 ? stolen / wanted : 0;
  if (stolen == 0) return {"steal time", "none counted", "none", false};
  return {"steal time", absl::StrFormat("%.1f %% went to other guests", 100 * share), std::string(kEffect),
          share >= kMuchSteal};
}

}  // namespace memsim
