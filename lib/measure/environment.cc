#include "memsim/measure/environment.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "memsim/internal/compiler.h"
#include "memsim/session/threads.h"
#include "memsim/static_key/static_key.h"

namespace memsim {

namespace {

std::string Compiler() {
#if defined(__clang__)
  return absl::StrCat("clang++ ", __clang_major__, ".", __clang_minor__);
#elif defined(__GNUC__)
  return absl::StrCat("g++ ", __GNUC__, ".", __GNUC_MINOR__);
#else
  return "unknown compiler";
#endif
}

std::string Build() {
#if defined(__OPTIMIZE__)
  std::string build = "optimised";
#else
  std::string build = "not optimised: times mean little";
#endif
#if !defined(NDEBUG)
  absl::StrAppend(&build, ", assertions on");
#endif
  if (MEMSIM_SANITIZED) absl::StrAppend(&build, ", sanitizers on: times mean little");
  return build;
}

}  // namespace

Environment ReadEnvironment() {
  Environment env;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::pair<std::string, std::string> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(field.first);
    if (name == "model name" && env.cpu.empty()) {
      env.cpu = std::string(absl::StripAsciiWhitespace(field.second));
    }
    if (name == "flags" && absl::StrContains(field.second, " hypervisor")) env.virtual_machine = true;
  }
  if (env.cpu.empty()) env.cpu = "unknown CPU";
  env.cpus = HostCpus();
  utsname name;
  if (uname(&name) == 0) env.os = absl::StrCat(name.sysname, " ", name.release, " ", name.machine);
  if (double load[1]; getloadavg(load, 1) == 1) env.load = load[0];
  env.compiler = Compiler();
  env.build = Build();
  env.static_keys = static_key::mechanism().text;
  env.time = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  return env;
}

std::string Environment::Line() const {
  return absl::StrFormat("%s, %d CPU%s%s, %s, load %.1f, %s %s", cpu, cpus, cpus == 1 ? "" : "s",
                         virtual_machine ? " (virtual)" : "", os, load, compiler, build);
}

}  // namespace memsim
