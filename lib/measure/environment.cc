#include "memsim/measure/environment.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/measure/environment_notes.h"
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

#if defined(__OPTIMIZE__)
constexpr bool kOptimised = true;
#else
constexpr bool kOptimised = false;
#endif

std::string Build() {
  std::string build = kOptimised ? "optimised" : "not optimised: times mean little";
#if !defined(NDEBUG)
  absl::StrAppend(&build, ", assertions on");
#endif
  if (MEMSIM_SANITIZED) absl::StrAppend(&build, ", sanitizers on: times mean little");
  return build;
}

// The linker's build-id among the notes of an object; empty when it made none.
std::string BuildId(const char* notes, size_t size) {
  const auto aligned = [](size_t n) { return (n + 3) & ~size_t{3}; };
  ElfW(Nhdr) note;
  for (size_t at = 0; at + sizeof(note) <= size;) {
    memcpy(&note, notes + at, sizeof(note));
    const char* const name = notes + at + sizeof(note);
    const size_t before = sizeof(note) + aligned(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      return std::string(notes + at + before, std::min<size_t>(note.n_descsz, 6));
    }
    at += before + aligned(note.n_descsz);
  }
  return "";
}

std::string Program() {
  std::string id;
  // The program itself comes first.
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* found) {
        for (size_t i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = object->dlpi_phdr[i];
          if (part.p_type != PT_NOTE) continue;
          const char* const notes = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
          const std::string one = BuildId(notes, part.p_memsz);
          if (!one.empty()) *static_cast<std::string*>(found) = one;
        }
        return 1;
      },
      &id);
  return absl::StrCat("memsim " MEMSIM_VERSION ", build-id ",
                      id.empty() ? "not available (the linker made none)" : absl::BytesToHexString(id));
}

}  // namespace

Environment ReadEnvironment(const std::string& root) {
  Environment env;
  std::ifstream info(root + "/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::pair<std::string, std::string> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(field.first);
    if (name == "model name" && env.cpu.empty()) {
      env.cpu = std::string(absl::StripAsciiWhitespace(field.second));
    }
  }
  if (env.cpu.empty()) env.cpu = "unknown CPU";
  env.virtual_machine = UnderHypervisor(root).value_or(false);
  env.cpus = HostCpus();
  utsname name;
  if (uname(&name) == 0) env.os = absl::StrCat(name.sysname, " ", name.release, " ", name.machine);
  if (double load[1]; getloadavg(load, 1) == 1) env.load = load[0];
  env.compiler = Compiler();
  env.build = Build();
  env.program = Program();
  env.static_keys = static_key::mechanism().text;
  env.time = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  return env;
}

struct EnvironmentWatch::Begin {
  std::vector<EnvironmentNote> settings;
  Interval clock;
  HostMoment moment;
};

EnvironmentWatch::EnvironmentWatch(std::string root)
    : root_(std::move(root)),
      begin_(new Begin{SettingNotes(root_, AllowedCpus()), ProbeClock(),
                       ReadHostMoment(root_, AllowedCpus())}) {}
EnvironmentWatch::~EnvironmentWatch() = default;

Environment EnvironmentWatch::Finish() const {
  const HostMoment end = ReadHostMoment(root_, AllowedCpus());
  Environment env = ReadEnvironment(root_);
  env.notes = SettingsOver(begin_->settings, SettingNotes(root_, AllowedCpus()));
  env.notes.push_back(BuildNote(env.build, kOptimised));
  env.notes.push_back(LoadNote(begin_->moment, end, env.cpus));
  env.notes.push_back(DriftNote(begin_->clock, ProbeClock()));
  env.notes.push_back(StealNote(begin_->moment, end));
  env.notes.push_back(
      {"set by memsim", "threads are pinned while they run", "nothing of the host is changed", false});
  return env;
}

std::string Environment::Line() const {
  return absl::StrFormat("%s, %d CPU%s%s, %s, load %.1f, %s %s", cpu, cpus, cpus == 1 ? "" : "s",
                         virtual_machine ? " (virtual)" : "", os, load, compiler, build);
}

}  // namespace memsim
