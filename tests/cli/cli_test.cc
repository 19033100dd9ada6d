// Runs the program and looks at what a user sees: exit status, one line on standard error, tables that fit.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/program.h"

namespace memsim {
namespace {

// Names that do not exist. Expect the names that do.
TEST(WrongInputTest, UnknownNamesAreAnsweredWithTheNamesThatExist) {
  ExpectRefused("run --kernel v9.9", "valid: v4.0, v4.0-chargefirst, v4.2, v4.4");
  ExpectRefused("run --gate magnetic", "valid: constant, flag, atomic, static_key, indirect");
  ExpectRefused("run --workload aim8", "valid: churn, page_fault1, pft");
  ExpectRefused("run --rest some", "valid: none, clear, fault");
  ExpectRefused("run --irq cli", "valid: flag, popf, none");
  ExpectRefused("run --format xml", "valid: text, json, csv");
  ExpectRefused("explain --event fork", "valid: fault, uncharge, miss, limit");
  ExpectRefused("layout --struct dentry", "valid: struct mem_cgroup");
  ExpectRefused("layout --kernel v9.9", "valid: v4.0");
  ExpectRefused("pft --column v9.9", "valid: v4.0, v4.0-chargefirst, v4.2, v4.4");
  ExpectRefused("pft --column v4.0:attic", "valid: disabled, root, or depth:N");
  ExpectRefused("pft --column v4.0:root:flag:x", "valid: KERNEL[:MEMCG[:GATE]]");
  ExpectRefused("pft --machine abacus", "valid: ");
  ExpectRefused("pft --format xml", "valid: text, json, csv");
  ExpectRefused("run --order sideways", "valid: charge-first, uptodate-first");
  ExpectRefused("compare v4.0", "valid: 2 to 8");
  ExpectRefused("compare v4.0 v9.9", "valid: v4.0, v4.0-chargefirst, v4.2, v4.4");
  ExpectRefused("compare v4.0 v4.0,colour=red", "valid: KERNEL, or kernel=, gate=");
  ExpectRefused("compare v4.0 v4.0,batch=many", "valid: a whole number");
  ExpectRefused("compare v4.0,rest=clear v4.0", "valid: the same for all");
  ExpectRefused("compare v4.0 v4.4 --until soon", "valid: the width of an interval, 0.001ns to 1000ns");
  ExpectRefused("compare v4.0 v4.4 --seconds 0", "valid: 0.1 to 3600");
  ExpectRefused("count --kernel v9.9", "valid: v4.0, v4.0-chargefirst, v4.2, v4.4");
  ExpectRefused("count --format xml", "valid: text, json, csv");
  ExpectRefused("count --repetitions 0", "valid: ");
  ExpectRefused("compare v4.0 v4.4 --format xml", "valid: text, mmtests, lkp, json, csv");
  ExpectRefused("compare v4.0 v4.4 --machine tracing --until 1ns", "valid: --machine native");
  ExpectRefused("compare v4.0 v4.4 --machine i7-3770 --seconds 3", "valid: --machine native");
  ExpectRefused("compare v4.0 v4.4 --seeds 3", "valid: --machine with a name of `memsim list`");
  ExpectRefused("compare v4.0 v4.4 --machine abacus", "i7-3770");
  ExpectRefused("compare v4.0 v4.4,machine=tracing", "valid: one machine for all");
  ExpectRefused("compare v4.0 v4.4 --threads 2", "valid: 1 there");
  ExpectRefused("run --timer-charge", "valid: --machine with a name of `memsim list`");
  ExpectRefused("run --strict --kernel v4.0", "valid: --machine with a name of `memsim list`");
  ExpectRefused("run --layout packed", "valid: kernel");
  ExpectRefused("fly", "memsim --help");
  ExpectRefused("", "memsim --help");
}

// Numbers out of range, or no numbers. Expect the range.
TEST(WrongInputTest, NumbersOutOfRangeAreAnsweredWithTheRange) {
  ExpectRefused("run --memcg depth:-1", "depth:N with N from 1 to 64");
  ExpectRefused("run --memcg depth:1000000000", "depth:N with N from 1 to 64");
  ExpectRefused("run --memcg depth:x", "depth:N with N from 1 to 64");
  ExpectRefused("run --batch 0", "valid: 1 to 65536");
  ExpectRefused("run --faults 1000000000000000000", "valid: 1 to 4294967296");
  ExpectRefused("run --faults 0", "valid: 1 to 4294967296");
  ExpectRefused("run --faults 99999999999999999999999", "--faults");
  ExpectRefused("run --faults many", "--faults");
  ExpectRefused("run --threads 0", "valid: 1 to 64");
  ExpectRefused("run --threads 65", "valid: 1 to 64");
  ExpectRefused("run --region -5", "valid: 1 to 16777216");
  ExpectRefused("run --threads 64 --region 16777216 --faults 4294967296", "33554432");
  ExpectRefused("run --seed -1", "valid: 0 to");
  ExpectRefused("run --repetitions 0", "valid: 1 to 10000");
  ExpectRefused("run --samples 0", "valid: 1 to 10000000");
  ExpectRefused("pft --clients 0", "valid: numbers from 1 to 8");
  ExpectRefused("pft --clients a", "valid: numbers from 1 to 8");
  ExpectRefused("pft --clients 1,9", "valid: numbers from 1 to 8");
  ExpectRefused("pft --clients 3,3", "each once");
  ExpectRefused("pft --pages 0", "valid: 1 to 16777216");
  ExpectRefused("pft --seeds 0", "valid: 1 to 1000");
  ExpectRefused("pft --seed -1", "valid: 0 to");
}

// Ways to say "off" that contradict each other. Expect a line that says which.
TEST(WrongInputTest, ContradictionsAreNamed) {
  ExpectRefused("run --memcg root --cmdline cgroup_disable=memory", "--cmdline cgroup_disable=memory");
  ExpectRefused("run --memcg depth:2 --config MEMCG=n", "--config MEMCG=n");
  ExpectRefused("run --memcg root --config MEMCG_DEFAULT_ENABLED=n", "MEMCG_DEFAULT_ENABLED=n");
  ExpectRefused("run --memcg disabled --cmdline cgroup_enable=memory", "contradicts");
  ExpectRefused("run --cmdline quiet", "valid: cgroup_disable=memory");
  ExpectRefused("run --config SMP=n", "valid: MEMCG");
  ExpectRefused("run --config MEMCG=maybe", "=y or =n");
  ExpectRefused("run --config PREEMPT_COUNT=y", "compiled in");
  ExpectRefused("explain --event limit --memcg root", "valid: --memcg depth:1");
  ExpectRefused("explain --event miss --batch 7", "valid: no --batch");
}

// A models directory that is missing, empty, or holds broken files. Expect file and field named.
TEST(WrongInputTest, BrokenModelFilesAreNamed) {
  const std::string dir = absl::StrCat(testing::TempDir(), "memsim_models_", getpid());
  std::filesystem::create_directories(dir + "/workloads");
  const std::string file = dir + "/workloads/pft.json";
  const auto with = [&](const std::string& text) { std::ofstream(file) << text; };
  setenv("MEMSIM_MODELS", "/nowhere", 1);
  ExpectRefused("run --workload pft", "/nowhere/workloads");
  ExpectRefused("run", "/nowhere/published");
  ExpectRefused("list", "MEMSIM_MODELS");
  setenv("MEMSIM_MODELS", dir.c_str(), 1);
  ExpectRefused("list", "no model files");
  with("{ \"name\": ");
  ExpectRefused("run --workload pft", file + ": is not a JSON object");
  with("[]");
  ExpectRefused("run --workload pft", file + ": is not a JSON object");
  with("{}");
  ExpectRefused("run --workload pft", file + ": /name: is missing");
  with(R"({"name": "pft", "summary": "", "source": "", "generator": "walk"})");
  ExpectRefused("run --workload pft", "/generator: 'walk'; valid: sweep, churn");
  with(R"({"name": "pft", "summary": "", "source": "", "generator": "sweep",
           "parameters": {"faults": {"value": -3}}})");
  ExpectRefused("run --workload pft", "/parameters/faults/value: -3; valid: a whole number from 1");
  std::filesystem::create_directories(dir + "/machines");
  std::ofstream(dir + "/machines/mine.json") << R"({"name": "mine", "clock": 3})";
  ExpectRefused("list", dir + "/machines/mine.json: /summary: is missing");
  unsetenv("MEMSIM_MODELS");
  ExpectRefused("run --workload /nowhere/w.json", "/nowhere/w.json: cannot be read");
  ExpectRefused(absl::StrCat("run --workload ", dir, "/workloads/"), "cannot be read");
  std::filesystem::remove_all(dir);
}

// Standard output is closed, full, or a pipe whose reader is gone. Expect one line and status 2, no hang.
TEST(OutputTest, OutputThatCannotBeWrittenIsSaid) {
  const Outcome closed = Memsim("list >&-");
  EXPECT_EQ(closed.status, 2);
  EXPECT_TRUE(absl::StrContains(closed.err, "standard output cannot be written")) << closed.err;
  const Outcome full = Memsim("list >/dev/full");
  EXPECT_EQ(full.status, 2);
  EXPECT_TRUE(absl::StrContains(full.err, "No space left")) << full.err;
  const Outcome gone = Memsim("layout | true");
  EXPECT_EQ(gone.status, 0);  // of `true`; the program has not blocked
}

// --help on the program and each command. Expect status 0 and text on standard output.
TEST(HelpTest, EveryCommandExplainsItself) {
  for (const char* command :
       {"", "run ", "lines ", "compare ", "count ", "pft ", "explain ", "layout ", "list ", "calibrate ",
        "rerun ", "log "}) {
    const Outcome outcome = Memsim(absl::StrCat(command, "--help"));
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(absl::StrContains(outcome.out, "--help")) << outcome.out;
  }
}

// The list. Expect the machines that can be simulated by name, not the library's word for all of them.
TEST(ListTest, NamesTheMachines) {
  const auto machines = nlohmann::json::parse(Memsim("list --format json").out)["machines"];
  std::vector<std::string> names;
  for (const auto& machine : machines) names.push_back(machine["name"]);
  ASSERT_GT(names.size(), 8u);
  EXPECT_EQ(names[0], "native");
  EXPECT_EQ(names[1], "tracing");
  EXPECT_EQ(names[2], "i7-3770");
  EXPECT_EQ(std::count(names.begin(), names.end(), "simulated"), 0);
}

// The short commands in every format. Expect status 0, tables of at most 100 columns, JSON that parses.
TEST(FormatTest, EveryFormatIsWhatItSays) {
  const std::string run = "run --faults 2000 --repetitions 3 --samples 50";
  for (const std::string& command :
       {std::string("list"), std::string("layout"), std::string("layout --kernel v4.4"),
        std::string("explain"), std::string("explain --event uncharge"),
        std::string("explain --event miss --memcg depth:3"), std::string("explain --event limit"),
        std::string("explain --event limit --brief"), std::string("explain --memcg disabled"),
        std::string("explain --kernel v4.4 --config MEMCG=n"), run, run + " --memcg disabled",
        run + " --memcg depth:8 --threads 2", run + " --workload churn --memcg depth:2",
        run + " --workload page_fault1 --rest clear", run + " --config MEMCG=n",
        run + " --gate constant --memcg disabled", run + " --batch 7 --memcg depth:1",
        run + " --cmdline cgroup_disable=memory", run + " --rest fault --irq popf",
        std::string("compare v4.0 v4.4,memcg=depth:2 v4.2,memcg=disabled --machine tracing"),
        std::string("compare v4.0 v4.0,memcg=disabled --machine i7-3770 --faults 256 --threads 2"),
        std::string("pft --clients 1,2 --pages 256 --seeds 2"),
        std::string("pft --clients 1 --pages 64 --seeds 1 --column v4.0 --column v4.2 --column v4.4 "
                    "--column v4.4:disabled --column v4.4:depth:2:flag"),
        std::string("calibrate --rounds 1")}) {
    const Outcome text = Memsim(command);
    EXPECT_EQ(text.status, 0) << command << "\n" << text.err;
    EXPECT_EQ(text.err, "") << command;
    ExpectFits(text.out);
    const Outcome json = Memsim(command + " --format json");
    EXPECT_FALSE(nlohmann::json::parse(json.out, nullptr, false).is_discarded()) << json.out;
    const Outcome csv = Memsim(command + " --format csv");
    const std::vector<std::string> lines = absl::StrSplit(csv.out, '\n');
    EXPECT_GT(lines.size(), 2u) << csv.out;
  }
}

// Two configurations of which one uses static keys. Expect the line that gives the comparison again, the way
// static keys work here, a row for the control, and one sentence with a verdict.
TEST(CompareTest, HasControlAndVerdict) {
  const Outcome outcome = Memsim("compare v4.0 v4.4,gate=static_key,memcg=disabled --rest clear --seconds 1");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part : {"--rest clear --seconds 1 --seed 1", "static keys: ", "A again"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, part)) << part << "\n" << outcome.out;
  }
  EXPECT_TRUE(absl::StrContains(outcome.out, "resolved") || absl::StrContains(outcome.out, "no verdict"))
      << outcome.out;
}

// Instructions under valgrind. Expect the line that gives the count again, how static keys worked in there,
// every function beside the model's count, and of each hardware counter a number or why there is none.
TEST(CountTest, HasTheModelBesideIt) {
  const Outcome outcome = Memsim("count --kernel v4.4 --gate static_key --faults 2000 --repetitions 2");
  if (absl::StrContains(outcome.err, "sanitizer build") || absl::StrContains(outcome.err, "needs valgrind")) {
    EXPECT_EQ(outcome.status, 2);
    GTEST_SKIP() << outcome.err;
  }
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  ExpectFits(outcome.out);
  for (const char* part : {"memsim count ", "--faults 2000", "static keys under valgrind: ", "valgrind-",
                           "--smc-check=all", "mem_cgroup_try_charge", "branch-misses"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, part)) << part << "\n" << outcome.out;
  }
}

// No valgrind in $PATH. Expect one line that says where it comes from.
TEST(CountTest, SaysThatValgrindIsMissing) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const Outcome outcome = Memsim("count --faults 2000");
  setenv("PATH", path.c_str(), 1);
  if (absl::StrContains(outcome.err, "sanitizer build")) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(absl::StrContains(outcome.err, "apt-get install valgrind")) << outcome.err;
}

// The formats of others, on every kind of machine. Expect tables that fit (lkp's own may be wider), the
// heading each has, and the sentence of the verdict below.
TEST(CompareTest, PrintsAsOthersDo) {
  for (const char* machine : {"native --seconds 0.5", "tracing", "i7-3770 --faults 256"}) {
    const std::string compare = absl::StrCat("compare v4.0 v4.0,memcg=disabled --machine ", machine);
    const Outcome mmtests = Memsim(absl::StrCat(compare, " --format mmtests"));
    EXPECT_EQ(mmtests.status, 0) << mmtests.err;
    ExpectFits(mmtests.out);
    EXPECT_TRUE(absl::StrContains(mmtests.out, "(  0.00%)")) << mmtests.out;
    const Outcome lkp = Memsim(absl::StrCat(compare, " --format lkp"));
    EXPECT_EQ(lkp.status, 0) << lkp.err;
    EXPECT_TRUE(absl::StrContains(lkp.out, "%stddev     %change         %stddev")) << lkp.out;
    for (const std::string& text : {mmtests.out, lkp.out}) {
      EXPECT_TRUE(absl::StrContains(text, "resolved") || absl::StrContains(text, "no verdict") ||
                  absl::StrContains(text, ": exact"))
          << text;
    }
  }
}

// Enabled against disabled on this CPU. Expect what was published beside what is measured.
TEST(CompareTest, NamesWhatWasPublished) {
  const Outcome outcome = Memsim("compare v4.0,memcg=root v4.0,memcg=disabled --seconds 1");
  EXPECT_TRUE(absl::StrContains(outcome.out, "v4.0 -39.5 by throughput")) << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.out, "-21.7 by the controller's samples")) << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.out, "i7-3770 (Ivy")) << outcome.out;
}

// A simulated comparison, twice. Expect the same result object, and the line in it to give it again.
TEST(EchoTest, CompareIsTheSameAgain) {
  const std::string compare =
      "compare v4.0 gate=atomic,memcg=depth:2 --machine i7-3770 --faults 256 --seeds 2 --seed 7 "
      "--format json";
  const auto one = nlohmann::json::parse(Memsim(compare).out)["result"];
  const std::string command = one["command"];
  ASSERT_EQ(command.rfind("memsim ", 0), 0u);
  EXPECT_EQ(one, nlohmann::json::parse(Memsim(command.substr(7) + " --format json").out)["result"]);
}

// A brief explanation. Expect it to fit one screen of 40 lines.
TEST(FormatTest, BriefFitsOneScreen) {
  for (const char* event : {"fault", "uncharge", "miss", "limit"}) {
    const Outcome outcome = Memsim(absl::StrCat("explain --brief --event ", event));
    EXPECT_LE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 40) << outcome.out;
  }
}

// The four kinds of "off", spelled as a kernel developer spells them. Expect each named, with its exact
// instruction count inside the controller falling from one to the next.
TEST(OffTest, TheFourKindsAreToldApart) {
  const std::string run = "run --faults 2000 --repetitions 2 --samples 1 --format json ";
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"--memcg root", "enabled, unused"},
      {"--cmdline cgroup_disable=memory", "disabled at boot"},
      {"--config MEMCG_DEFAULT_ENABLED=n", "disabled at boot"},
      {"--gate constant --memcg disabled", "constant gate off"},
      {"--config MEMCG=n", "compiled out"},
  };
  double before = 1e9;
  for (const auto& [flags, name] : kinds) {
    const auto json = nlohmann::json::parse(Memsim(run + flags).out);
    EXPECT_EQ(json["result"]["configuration"]["off"], name);
    const double instructions = json["result"]["counts"]["memcg"]["instructions"];
    EXPECT_LE(instructions, before) << name;
    before = instructions;
  }
  EXPECT_EQ(before, 0);
}

// Default-off build, switched on at boot. Expect it enabled.
TEST(OffTest, DefaultOffCanBeEnabledAtBoot) {
  const Outcome outcome = Memsim(
      "run --faults 2000 --repetitions 2 --samples 1 --format json --config MEMCG_DEFAULT_ENABLED=n "
      "--cmdline cgroup_enable=memory");
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["result"]["configuration"]["off"], "enabled, unused");
}

// The echoed command line. Expect it to give the same configuration again.
TEST(EchoTest, TheCommandGivesTheSameConfiguration) {
  const std::string run =
      "run --kernel v4.4 --gate atomic --memcg depth:2 --workload churn --faults 3000 --seed 7 "
      "--batch 16 --order uptodate-first --memsw off --repetitions 2 --samples 1 --format json";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizer builds have no atomic gate on native";
#endif
  const Outcome first = Memsim(run);
  if (absl::StrContains(first.err, "sanitizer build")) GTEST_SKIP() << first.err;
  const auto one = nlohmann::json::parse(first.out)["result"]["configuration"];
  const std::string command = one["command"];
  ASSERT_EQ(command.rfind("memsim ", 0), 0u);
  const auto two = nlohmann::json::parse(
      Memsim(command.substr(7) + " --repetitions 2 --samples 1 --format json").out);
  EXPECT_EQ(one, two["result"]["configuration"]);
}

// A workload given as a file. Expect the echo to name the file, so that the line can be run again.
TEST(EchoTest, NamesAWorkloadsFile) {
  const std::string file = MEMSIM_SOURCE_DIR "/models/workloads/churn.json";
  const Outcome outcome = Memsim(absl::StrCat("run --workload ", file,
                                              " --faults 3000 --repetitions 2 --samples 1 --format json"));
  const std::string command =
      nlohmann::json::parse(outcome.out)["result"]["configuration"]["command"];
  EXPECT_TRUE(absl::StrContains(command, absl::StrCat("--workload ", file, " "))) << command;
}

constexpr std::chrono::milliseconds kBeforeCtrlC(1500);

// The program with Ctrl-C in the middle.
Outcome Interrupted(const std::string& arguments) {
  Child child(arguments);
  std::this_thread::sleep_for(kBeforeCtrlC);
  child.Signal(SIGINT);
  return child.Wait();
}

void ExpectPartial(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, "PARTIAL")) << outcome.out;
  ExpectFits(outcome.out);
}

// Ctrl-C in the middle of a long run. Expect it to end at once, print what it has, and say PARTIAL.
TEST(InterruptTest, CtrlCPrintsWhatThereIs) {
  const auto begin = std::chrono::steady_clock::now();
  ExpectPartial(Interrupted("run --faults 40000000 --repetitions 10000 --rest clear"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20) + kBeforeCtrlC);
}

// Ctrl-C in the middle of the pft table. Expect what is finished, marked PARTIAL.
TEST(InterruptTest, CtrlCEndsThePftTable) { ExpectPartial(Interrupted("pft --pages 1000000 --seeds 100")); }

// Ctrl-C in the middle of a comparison. Expect what there is, marked PARTIAL.
TEST(InterruptTest, CtrlCEndsAComparison) {
  for (const char* machine : {"native --seconds 600", "i7-3770 --seeds 1000"}) {
    ExpectPartial(Interrupted(absl::StrCat("compare v4.0 v4.4 --machine ", machine)));
  }
}

// The pft table, twice. Expect the same result object, and the line in it to give it again.
TEST(EchoTest, PftIsTheSameAgain) {
  const std::string pft = "pft --clients 1,2 --pages 256 --seeds 2 --seed 7 --format json";
  const auto one = nlohmann::json::parse(Memsim(pft).out)["result"];
  const std::string command = one["command"];
  ASSERT_EQ(command.rfind("memsim ", 0), 0u);
  EXPECT_EQ(one, nlohmann::json::parse(Memsim(command.substr(7) + " --format json").out)["result"]);
}

// A machine file that cannot be written. Expect that said at once, and nothing measured.
TEST(CalibrateTest, RefusesWhatItCouldNotWrite) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string dir = testing::TempDir();
  ExpectRefused("calibrate --output /nowhere/host.json", "valid: a file in a directory");
  ExpectRefused("calibrate --output /dev/null", "is not a regular file");
  ExpectRefused(absl::StrCat("calibrate --output ", dir), "is a directory");
  ExpectRefused("calibrate --output ''", "is empty");
  ExpectRefused("calibrate --output /proc/host.json", "valid: a file in a directory");
  ExpectRefused("calibrate --rounds 0", "valid: 1 to 1000");
  ExpectRefused("calibrate --seed -1", "valid: 0 to");
  ExpectRefused("calibrate --format xml", "valid: text, json, csv");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

// A machine file beside others, written twice. Expect it whole, named in the text, and nothing left
// beside it; after Ctrl-C the one from before.
TEST(CalibrateTest, WritesAWholeFileOrNone) {
  const std::string dir = absl::StrCat(testing::TempDir(), "memsim_calibrate_", getpid());
  std::filesystem::create_directories(dir);
  const std::string file = dir + "/host.json";
  const auto files = [&] {
    const auto entries = std::filesystem::directory_iterator(dir);
    return std::distance(begin(entries), end(entries));
  };
  const Outcome outcome = Memsim(absl::StrCat("calibrate --rounds 1 --output ", file));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, absl::StrCat("memsim run --machine ", file))) << outcome.out;
  const std::string text = ReadAll(file);
  EXPECT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded()) << text;
  EXPECT_EQ(files(), 1);

  const Outcome interrupted = Interrupted(absl::StrCat("calibrate --rounds 1000 --output ", file));
  ExpectPartial(interrupted);
  EXPECT_TRUE(absl::StrContains(interrupted.out, "not written")) << interrupted.out;
  EXPECT_EQ(ReadAll(file), text);
  EXPECT_EQ(files(), 1);
  std::filesystem::remove_all(dir);
}

// Every `$ memsim …` line of the README and of docs/, in a directory of its own. Expect status 0; the demo
// has a test of its own.
TEST(ReadmeTest, EveryCommandWorks) {
  const auto before = std::filesystem::current_path();
  const std::string dir = absl::StrCat(testing::TempDir(), "memsim_docs_", getpid());
  std::filesystem::create_directories(dir);
  std::filesystem::current_path(dir);
  int commands = 0;
  std::vector<std::string> files = {absl::StrCat(MEMSIM_SOURCE_DIR, "/README.md")};
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat(MEMSIM_SOURCE_DIR, "/docs"))) {
    if (entry.path().extension() == ".md") files.push_back(entry.path().string());
  }
  for (const std::string& file : files) {
    const std::string text = ReadAll(file);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      absl::string_view command = line;
      while (absl::StartsWith(command, " ")) command.remove_prefix(1);
      if (!absl::StartsWith(command, "$ memsim ")) continue;
      command.remove_prefix(9);
      if (command == "run") continue;
      const Outcome outcome = Memsim(std::string(command));
      if (absl::StrContains(outcome.err, "sanitizer build")) continue;
      if (absl::StrContains(outcome.err, "needs valgrind")) continue;
      EXPECT_EQ(outcome.status, 0) << file << ": " << line << "\n" << outcome.err;
      ++commands;
    }
  }
  EXPECT_GT(commands, 5);
  std::filesystem::current_path(before);
  std::filesystem::remove_all(dir);
}

// The demo: `memsim run` without arguments. Expect both tables with the published columns beside ours, and
// the verdict.
TEST(DemoTest, PrintsTheComparison) {
  const Outcome outcome = Memsim("run");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  ExpectFits(outcome.out);
  for (const char* expected :
       {"__mem_cgroup_count_vm_event", "1.143", "3.791", "0.510", "6.644", "i7-3770", "compiled out",
        "constant gate off", "disabled at boot", "enabled, unused", "Disabled costs", "95 % interval"}) {
    EXPECT_TRUE(absl::StrContains(outcome.out, expected)) << expected << "\n" << outcome.out;
  }
}

}  // namespace
}  // namespace memsim
