// The forms of a comparison, from fixed numbers.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "memsim/report/compare.h"
#include "memsim/report/render.h"

namespace memsim {
namespace {

Interval Of(double low, double centre, double high, double confidence = 0.99) {
  return {.centre = centre, .low = low, .high = high, .confidence = confidence, .n = 40};
}

void Measured(const std::vector<double>& values, const Interval& difference, Compared& to) {
  to.values = values;
  to.value = MedianInterval(values);
  to.difference = difference;
  to.verdict = Judge(difference, difference, Of(-0.1, 0, 0.1), 100);
}

PerPage Instructions(double n) {
  PerPage counts;
  counts.calls = n > 0 ? 1 : 0;
  counts.instructions = n;
  return counts;
}

// Two arms on native: 100 ns a page, and 100, 80 and 60 ns in three placements. One function, which
// the second arm does not call: 10 ns and 25 instructions.
CompareResult Fixed(MachineKind machine = MachineKind::kNative) {
  CompareResult result;
  result.machine = machine;
  result.placements = result.seeds = 3;
  result.rounds = 30;
  for (const char* text : {"v4.0,memcg=root", "v4.0,memcg=disabled"}) {
    result.arms.push_back(*ParseCompareArm(text, {}));
  }
  CompareArm& a = result.arms[0];
  CompareArm& b = result.arms[1];
  Measured({100, 100, 100}, {}, a.total);
  Measured({100, 80, 60}, Of(-22, -20, -18), b.total);
  a.fault = a.total;
  b.fault = b.total;
  a.wall = a.total.values;
  b.wall = b.total.values;
  a.counts.memcg_total = Instructions(100);
  b.counts.memcg_total = Instructions(75);
  b.exact = JudgeCounts(75, 100);
  CompareFunction& function = result.functions.emplace_back();
  function.name = "try_charge";
  function.cells.resize(2);
  function.cells[0].present = true;
  Measured({10, 10, 10}, {}, function.cells[0].ns);
  Measured({0, 0, 0}, Of(-12, -10, -8), function.cells[1].ns);
  function.cells[0].shares = {0.1, 0.1, 0.1};
  function.cells[1].shares = {0, 0, 0};
  function.cells[0].counts = Instructions(25);
  function.cells[1].exact = JudgeCounts(0, 25);
  if (machine == MachineKind::kTracing) return result;
  result.sampling.samples = 1000;
  result.sampling.mechanism = "perf task-clock";
  return result;
}

void ExpectLine(const std::string& text, const std::string& line) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_NE(std::find(lines.begin(), lines.end(), line), lines.end()) << line << "\nis not in\n" << text;
}

constexpr char kSentence[] = "B is 20.0 ns (20.0 %) faster than A, 95 % interval 18.0…22.0: resolved";

// Expect the difference in ns and percent, of all and of the function, each with its verdict.
TEST(CompareTextTest, Native) {
  const std::string text = CompareText(Fixed(), {});
  ExpectLine(text, "B            80.00     60.0…100.0  -20.000  -20.0 %  -22.000…-18.000      1     75   "
                   "   .");
  ExpectLine(text, kSentence);
  ExpectLine(text, "  try_charge                10.00  -   -10.00  -100.0 %   -12.00…-8.00  resolved    -25");
}

// Counts alone. Expect them with their difference, and no time.
TEST(CompareTextTest, Tracing) {
  const std::string text = CompareText(Fixed(MachineKind::kTracing), {});
  ExpectLine(text, "instructions                  100  75      -25  -25.0 %");
  ExpectLine(text, "  try_charge              1  -     25  -      -25  -100.0 %      .       .     .");
  ExpectLine(text, "B makes 25.0 fewer instructions a page than A (-25.0 %): exact");
  EXPECT_FALSE(absl::StrContains(text, "95 %")) << text;
}

// Harmonic means of 10 and 12.5 million pages a second, and what is resolved between asterisks; the spread of
// nothing has no percent.
TEST(CompareMmtestsTest, RatesAsMmtestsHasThem) {
  const std::string text = CompareMmtests(Fixed(), {});
  ExpectLine(text, "Hmean    faults/cpu-1       10000000.0000 (  0.00%)  12500000.0000 * 25.00%*");
  ExpectLine(text, "Min      faults/cpu-1       10000000.0000 (  0.00%)  10000000.0000 (  0.00%)");
  ExpectLine(text, "Max      faults/cpu-1       10000000.0000 (  0.00%)  16666666.6667 ( 66.67%)");
  ExpectLine(text, "CoeffVar faults/cpu-1              0.0000 (  0.00%)        25.7965");
  ExpectLine(text, "Amean    instructions/page       100.0000 (  0.00%)        75.0000 ( 25.00%)");
  ExpectLine(text, kSentence);
}

// Means with their deviation where it is two percent or more, the change between them, and shares in points.
TEST(CompareLkpTest, LinesAsLkpHasThem) {
  const std::string text = CompareLkp(Fixed(), {});
  ExpectLine(text, "---------------- --------------------------- ");
  ExpectLine(text, "         %stddev     %change         %stddev");
  ExpectLine(text, "  10000000           +30.6%   13055556 ± 26%  memsim.faults_per_cpu_second");
  ExpectLine(text, "    100.00           -20.0%      80.00 ± 25%  memsim.ns_per_page");
  ExpectLine(text, "    100.00           -25.0%      75.00        memsim.instructions_per_page");
  ExpectLine(text, "     10.00           -10.0        0.00        perf-profile.self.task-clock.try_charge");
  ExpectLine(text, kSentence);
  ExpectLine(text, "B against A, resolved by function: try_charge");
}

// Expect what a program needs: numbers, verdict and sentence, of all and of each function.
TEST(CompareJsonTest, HoldsDifferencesAndVerdicts) {
  const auto document = nlohmann::json::parse(CompareJson(Fixed(), {}));
  EXPECT_EQ(document["schema"], "memsim.compare/2");
  const auto& arm = document["result"]["arms"][1];
  EXPECT_EQ(arm["difference"]["low"], -22);
  EXPECT_EQ(arm["difference_percent"], -20);
  EXPECT_EQ(arm["would_have_missed_ns"], 2);
  EXPECT_EQ(arm["verdict"], "resolved");
  EXPECT_EQ(arm["sentence"], kSentence);
  EXPECT_EQ(arm["exact_difference"]["instructions"], -25);
  const auto& function = document["result"]["functions"][0];
  EXPECT_EQ(function["name"], "try_charge");
  EXPECT_EQ(function["arms"][1]["present"], false);
  EXPECT_EQ(function["arms"][1]["verdict"], "resolved");
  EXPECT_EQ(function["arms"][1]["exact_difference"]["instructions"], -25);
}

// Without samples the functions have no time. Expect none in any form, and why.
TEST(CompareJsonTest, NoSamplesAreNoTimes) {
  CompareResult result = Fixed();
  result.sampling.samples = 0;
  result.sampling.why = "perf_event_open: Permission denied";
  const auto function = nlohmann::json::parse(CompareJson(result, {}))["result"]["functions"][0];
  EXPECT_FALSE(function["arms"][0].contains("ns_per_page"));
  EXPECT_TRUE(absl::StrContains(CompareText(result, {}), "By function: not available: perf_event_open"));
  EXPECT_FALSE(absl::StrContains(CompareLkp(result, {}), "perf-profile"));
}

// Expect a line for each arm and for each arm of each function, with as many cells as the heading.
TEST(CompareCsvTest, EveryLineHasTheSameCells) {
  const std::string text = CompareCsv(Fixed());
  ExpectLine(
      text,
      "\"v4.0,memcg=disabled\",\"try_charge\",0,0,0,-10,-12,-8,2,resolved,0,0,0,0,0,0,0,0,0,-25");
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 5u);
  const auto commas = std::count(lines[0].begin(), lines[0].end(), ',');
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string quoted =
        lines[i].substr(lines[i].find("\",") + 1);  // the first cell has commas of its own
    EXPECT_EQ(std::count(quoted.begin(), quoted.end(), ','), commas) << lines[i];
  }
}

// Formats by name. Expect an unknown one to be answered with those that exist.
TEST(CompareFormatTest, Names) {
  for (const char* name : {"text", "mmtests", "lkp", "json", "csv"}) {
    EXPECT_TRUE(FindCompareFormat(name).ok()) << name;
  }
  EXPECT_EQ(FindCompareFormat("xml").status().message(),
            "--format 'xml'; valid: text, mmtests, lkp, json, csv");
}

}  // namespace
}  // namespace memsim
