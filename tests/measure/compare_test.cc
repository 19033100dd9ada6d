// Comparisons on the machines that do not measure: what they say is exact, so it can be asserted.
#include "memsim/report/compare.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace memsim {
namespace {

CompareResult Compared(const std::vector<std::string>& texts, const ConfigurationText& shared,
                       int seeds = 8) {
  std::vector<CompareArm> arms;
  for (const std::string& text : texts) {
    auto arm = ParseCompareArm(text, shared);
    EXPECT_TRUE(arm.ok()) << arm.status();
    arms.push_back(*std::move(arm));
  }
  CompareOptions options;
  options.seeds = seeds;
  options.shared = shared;
  auto result = Compare(std::move(arms), options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

ConfigurationText On(const std::string& machine) {
  ConfigurationText text;
  text.machine = machine;
  text.kernel = "v4.0";
  text.faults = 512;
  return text;
}

const CompareFunction* Find(const CompareResult& result, const std::string& name) {
  for (const CompareFunction& function : result.functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

// Counted with the controller in use and disabled. Expect an exact difference, the sum of its functions' own;
// a function that only one arm calls absent from the other; no time.
TEST(CompareTracingTest, DifferencesAreExactAndAddUp) {
  const CompareResult result = Compared({"memcg=root", "memcg=disabled"}, On("tracing"));
  EXPECT_EQ(result.machine, MachineKind::kTracing);
  const CompareArm& disabled = result.arms[1];
  EXPECT_EQ(disabled.exact.kind, VerdictKind::kCounted);
  EXPECT_LT(disabled.exact.shown.centre, 0);
  double sum = 0;
  for (const CompareFunction& function : result.functions) {
    if (function.group == CompareGroup::kController && !function.sum) {
      sum += function.cells[1].exact.shown.centre;
    }
  }
  EXPECT_NEAR(sum, disabled.exact.shown.centre, 1e-9);
  EXPECT_NEAR(Find(result, "the controller")->cells[1].exact.shown.centre, sum, 1e-9);
  const CompareFunction* statistics = Find(result, "mem_cgroup_charge_statistics");
  ASSERT_NE(statistics, nullptr);
  EXPECT_TRUE(statistics->cells[0].present);
  EXPECT_FALSE(statistics->cells[1].present);
  EXPECT_TRUE(disabled.total.values.empty());
}

// The same configuration twice. Expect every count the same.
TEST(CompareTracingTest, EqualArmsAreEqual) {
  const CompareResult result = Compared({"memcg=depth:1", "memcg=depth:1"}, On("tracing"));
  for (const CompareFunction& function : result.functions) {
    EXPECT_EQ(function.cells[1].exact.shown.centre, 0) << function.name;
  }
}

// Simulated with eight seeds, enabled and disabled. Expect a verdict over the seeds, times by
// function that add up to the whole, the sum of each group before its functions, and the same again
// for the same seeds.
TEST(CompareSimulatedTest, EnabledAndDisabled) {
  const std::vector<std::string> texts = {"memcg=root", "memcg=disabled"};
  const CompareResult result = Compared(texts, On("i7-3770"));
  EXPECT_EQ(result.seeds, 8);
  const CompareArm& disabled = result.arms[1];
  EXPECT_EQ(disabled.total.verdict.kind, VerdictKind::kResolvedOverSeeds);
  EXPECT_LT(disabled.total.difference.high, 0);
  ASSERT_EQ(disabled.total.values.size(), 8u);
  for (const size_t arm : {0u, 1u}) {
    double sums = 0, functions = 0;
    for (const CompareFunction& function : result.functions) {
      (function.sum ? sums : functions) += function.cells[arm].ns.values[0];
    }
    EXPECT_NEAR(sums, result.arms[arm].total.values[0], 1e-6);
    EXPECT_NEAR(functions, sums, 1e-6);
  }
  EXPECT_TRUE(result.functions.front().sum);
  EXPECT_EQ(result.functions.front().group, CompareGroup::kController);
  EXPECT_EQ(Compared(texts, On("i7-3770")).arms[1].total.values, disabled.total.values);
}

// An arm against itself: the same seeds, so the same times. Expect that said of all and of each function.
TEST(CompareSimulatedTest, EqualArmsTakeTheSameTime) {
  const CompareResult result = Compared({"memcg=root", "memcg=root"}, On("i7-3770"), 2);
  EXPECT_EQ(result.arms[1].total.verdict.kind, VerdictKind::kSameTime);
  for (const CompareFunction& function : result.functions) {
    EXPECT_EQ(function.cells[1].ns.verdict.kind, VerdictKind::kSameTime) << function.name;
  }
}

// Fewer seeds than a verdict takes. Expect none, though the seeds agree.
TEST(CompareSimulatedTest, FewSeedsMakeNoVerdict) {
  const CompareResult result = Compared({"memcg=root", "memcg=disabled"}, On("i7-3770"), 2);
  EXPECT_EQ(result.arms[1].total.verdict.kind, VerdictKind::kTooFewSeeds);
}

// v4.0 enabled against disabled, which was published in 2015. Expect its difference by throughput,
// 1e9/1530574.6 less 1e9/1443258.1, and that of charge-first by the samples: 0.51 % of 662.7 ns
// less 3.7907 %. Expect nothing beside other comparisons, and the sign turned with the arms.
TEST(ComparePublishedTest, StandsBesideWhatWasPublished) {
  const auto published = [](const std::vector<std::string>& texts) {
    return Compared(texts, On("i7-3770"), 1).arms[1].published;
  };
  const ComparePublished one = published({"memcg=root", "memcg=disabled"});
  ASSERT_EQ(one.differences.size(), 2u);
  EXPECT_EQ(one.differences[0].kernel, "v4.0");
  EXPECT_NEAR(*one.differences[0].throughput, -39.53, 0.01);
  EXPECT_FALSE(one.differences[0].samples.has_value());
  EXPECT_NEAR(*one.differences[1].samples, -21.74, 0.01);
  EXPECT_NEAR(one.noise, 0.014 * 692.9, 0.01);
  EXPECT_NEAR(*published({"memcg=disabled", "memcg=root"}).differences[0].throughput, 39.53, 0.01);
  EXPECT_TRUE(published({"v4.0,memcg=root", "v4.2,memcg=root"}).differences.empty());
  EXPECT_TRUE(published({"memcg=root", "memcg=depth:1"}).differences.empty());
  EXPECT_TRUE(published({"memcg=root", "config=MEMCG=n"}).differences.empty());
}

// Arms that cannot be compared. Expect an error that says what can.
TEST(CompareArmsTest, OneMachineAndOneRest) {
  const auto refused = [](const std::vector<std::string>& texts) {
    std::vector<CompareArm> arms;
    for (const std::string& text : texts) arms.push_back(*ParseCompareArm(text, {}));
    return std::string(Compare(std::move(arms), {}).status().message());
  };
  EXPECT_TRUE(absl::StrContains(refused({"machine=tracing", "machine=native"}),
                                "valid: one machine for all"));
  EXPECT_TRUE(absl::StrContains(refused({"rest=none", "rest=clear"}), "valid: the same for all"));
  EXPECT_TRUE(absl::StrContains(refused({"v4.0"}), "valid: 2 to 8"));
}

}  // namespace
}  // namespace memsim
