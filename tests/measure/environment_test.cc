// What is said about the host, from made-up hosts: a tree of files, and two moments with numbers of our own.
#include "memsim/measure/environment.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "lib/measure/environment_notes.h"
#include "lib/report/environment_render.h"
#include "lib/report/table.h"

namespace memsim {
namespace {

using Tree = std::map<std::string, std::string>;  // path -> content

const std::string kCpu = "/sys/devices/system/cpu/";

class Host {
 public:
  explicit Host(const Tree& tree)
      : root_(absl::StrCat(testing::TempDir(), "memsim_host_", getpid(), "_", ++count_)) {
    std::filesystem::create_directories(root_);
    for (const auto& [path, content] : tree) {
      std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
      std::ofstream(root_ + path) << content << "\n";
    }
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() { std::filesystem::remove_all(root_); }
  const std::string& root() const { return root_; }

 private:
  static inline int count_ = 0;
  std::string root_;
};

// Of a host with two CPUs.
EnvironmentNote Setting(const Tree& tree, const std::string& name) {
  const Host host(tree);
  for (const EnvironmentNote& note : SettingNotes(host.root(), {0, 1})) {
    if (note.name == name) return note;
  }
  ADD_FAILURE() << name;
  return {};
}

void ExpectNote(const EnvironmentNote& note, absl::string_view value, bool harms) {
  EXPECT_TRUE(absl::StrContains(note.value, value)) << note.value;
  EXPECT_EQ(note.harms, harms) << note.name << ": " << note.value;
  EXPECT_NE(note.effect, "");
  EXPECT_LE(16 + Width(note.value) + 2 + Width(note.effect), kColumns) << note.value << ": " << note.effect;
}

Tree Governors(const std::string& first, const std::string& second) {
  return {{kCpu + "cpu0/cpufreq/scaling_governor", first}, {kCpu + "cpu1/cpufreq/scaling_governor", second}};
}

// Governors that keep the clock up, follow the load, or differ; and a host that has none. Expect harm where
// the clock is not kept up, and "not available" where nobody says.
TEST(EnvironmentTest, Governor) {
  ExpectNote(Setting(Governors("performance", "performance"), "governor"), "performance", false);
  ExpectNote(Setting(Governors("schedutil", "schedutil"), "governor"), "schedutil", true);
  ExpectNote(Setting(Governors("powersave", "powersave"), "governor"), "powersave", true);
  ExpectNote(Setting(Governors("performance", "powersave"), "governor"), "2 kinds", true);
  ExpectNote(Setting({}, "governor"), "not available (no cpufreq here)", false);
}

// The two files that say whether the clock is boosted mean the opposite of each other. Expect both read
// right.
TEST(EnvironmentTest, Turbo) {
  ExpectNote(Setting({{kCpu + "intel_pstate/no_turbo", "0"}}, "turbo"), "on", true);
  ExpectNote(Setting({{kCpu + "intel_pstate/no_turbo", "1"}}, "turbo"), "off", false);
  ExpectNote(Setting({{kCpu + "cpufreq/boost", "1"}}, "turbo"), "on", true);
  ExpectNote(Setting({{kCpu + "cpufreq/boost", "0"}}, "turbo"), "off", false);
  ExpectNote(Setting({}, "turbo"), "not available", false);
}

TEST(EnvironmentTest, Smt) {
  ExpectNote(Setting({{kCpu + "smt/active", "1"}}, "SMT"), "on", true);
  ExpectNote(Setting({{kCpu + "smt/active", "0"}}, "SMT"), "off", false);
  ExpectNote(Setting({}, "SMT"), "not available", false);
}

// The flag of a CPU under a hypervisor, also as the last one; a CPU without; one that has no flags at all.
TEST(EnvironmentTest, Virtualisation) {
  const std::string name = "virtualisation", info = "/proc/cpuinfo";
  ExpectNote(Setting({{info, "flags\t\t: fpu hypervisor lahf_lm"}}, name), "under a hypervisor", true);
  ExpectNote(Setting({{info, "flags\t\t: fpu hypervisor"}}, name), "under a hypervisor", true);
  ExpectNote(Setting({{info, "flags\t\t: fpu vme"}}, name), "none", false);
  ExpectNote(Setting({{info, "Features\t: fp asimd"}}, name), "not available", false);
}

// Addresses at random for the system, for all but the heap, not at all, or not for this process.
TEST(EnvironmentTest, Aslr) {
  const std::string space = "/proc/sys/kernel/randomize_va_space", personality = "/proc/self/personality";
  ExpectNote(Setting({{space, "2"}, {personality, "00000000"}}, "ASLR"), "on", false);
  ExpectNote(Setting({{space, "1"}}, "ASLR"), "on, but for the heap", false);
  ExpectNote(Setting({{space, "0"}}, "ASLR"), "off", true);
  ExpectNote(Setting({{space, "2"}, {personality, "00040000"}}, "ASLR"), "off for this process", true);
  ExpectNote(Setting({}, "ASLR"), "not available", false);
}

TEST(EnvironmentTest, Build) {
  ExpectNote(BuildNote("optimised", true), "optimised", false);
  ExpectNote(BuildNote("optimised, assertions on", true), "assertions on", true);
  ExpectNote(BuildNote("optimised, sanitizers on: times mean little", true), "sanitizers on", true);
  ExpectNote(BuildNote("not optimised: times mean little, assertions on, sanitizers on: times mean little",
                       false),
             "not optimised", true);
}

// Somebody changes the governor while a comparison runs. Expect both values, and harm.
TEST(EnvironmentTest, WhatChangedDuringTheRunIsSaid) {
  const Host before(Governors("performance", "performance"));
  const Host after(Governors("powersave", "powersave"));
  const auto notes = SettingsOver(SettingNotes(before.root(), {0, 1}), SettingNotes(after.root(), {0, 1}));
  ExpectNote(notes[0], "performance, then powersave", true);
  EXPECT_TRUE(absl::StrContains(notes[0].effect, "early and late rounds differ"));
  ExpectNote(notes[1], "not available", false);
}

// Two CPUs, ten seconds. Ticks of 10 ms: 1000 of user time on both, of which we had 9 s; 100 stolen.
Tree Moment(int user, int stolen) {
  const auto cpu = [&](int n) {
    return absl::StrCat("cpu", n, " ", user / 2, " 0 0 500 0 0 0 ", stolen / 2, " 0 0\n");
  };
  return {{"/proc/loadavg", "0.50 0.40 0.30 1/88 4906"},
          {"/proc/stat", absl::StrCat("cpu  1 2 3 4 5 6 7 8 9 10\n", cpu(0), cpu(1), cpu(7), "intr 5")}};
}

// Expect what others used and what was stolen, as shares; the third CPU is not ours to use.
TEST(EnvironmentTest, LoadAndStealTime) {
  HostMoment begin = ReadHostMoment(Host(Moment(0, 0)).root(), {0, 1});
  HostMoment end = ReadHostMoment(Host(Moment(1000, 100)).root(), {0, 1});
  begin.seconds = begin.own_seconds = 5;
  end.seconds = 15;
  end.own_seconds = 14;
  ExpectNote(LoadNote(begin, end, 2), "0.5; others used 0.10 of 2 CPUs", true);
  ExpectNote(StealNote(begin, end), "9.1 % went to other guests", true);
  ExpectNote(StealNote(begin, begin), "not available (0.00 s is too short)", false);
  ExpectNote(LoadNote(begin, begin, 2), "0.5 at the start", false);
  end.own_seconds = 15;
  end.ticks->stolen = 0;
  ExpectNote(LoadNote(begin, end, 2), "others used 0.00 of 2 CPUs", false);
  ExpectNote(StealNote(begin, end), "none counted", false);
}

// A host whose kernel says nothing of the kind. Expect that said, and no zero.
TEST(EnvironmentTest, NoTicksIsNotNoSteal) {
  const Host empty(Tree{});
  const Host old(Tree{{"/proc/stat", "cpu0 1 2 3 4 5 6 7\ncpu1 1 2 3 4 5 6 7"}});
  for (const Host* host : {&empty, &old}) {
    const HostMoment moment = ReadHostMoment(host->root(), {0, 1});
    HostMoment later = moment;
    later.seconds += 10;
    ExpectNote(StealNote(moment, later), "in /proc/stat)", false);
    ExpectNote(LoadNote(moment, later, 2), "not available (no /proc/loadavg)", false);
  }
}

// A clock that falls by a tenth, and one that moves less than its own spread. Expect a drift with its
// interval, and "not resolved".
TEST(EnvironmentTest, ClockDrift) {
  const Interval early{3.0, 2.99, 3.01, 0.95, 11}, late{2.7, 2.69, 2.71, 0.95, 11};
  const EnvironmentNote drift = DriftNote(early, late);
  ExpectNote(drift, "-10.0 %, -10.6…-9.4", true);
  ExpectNote(DriftNote(early, {3.0, 2.98, 3.02, 0.95, 11}), "not resolved, -1.0…+1.0 %", false);
  ExpectNote(DriftNote(early, {}), "not available", false);
}

// This host, as it is. Expect every line there is, in its order, and lines that fit.
TEST(EnvironmentTest, ThisHostIsSaidAloud) {
  const EnvironmentWatch watch;
  Environment environment = watch.Finish();
  const std::vector<std::string> names = {"governor", "turbo", "SMT",         "virtualisation", "ASLR",
                                          "build",    "load",  "clock drift", "steal time",
                                          "set by memsim"};
  ASSERT_EQ(environment.notes.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(environment.notes[i].name, names[i]);
    ExpectNote(environment.notes[i], "", environment.notes[i].harms);
  }
  environment.notes = {environment.notes[0], environment.notes[1]};
  environment.notes[0].harms = false;
  environment.notes[1].harms = true;
  EXPECT_TRUE(absl::StartsWith(NotesText(environment, WhichNotes::kAll), "governor        "));
  EXPECT_TRUE(absl::StartsWith(NotesText(environment, WhichNotes::kHarming), "turbo           "));
}

}  // namespace
}  // namespace memsim
