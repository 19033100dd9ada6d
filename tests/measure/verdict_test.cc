#include "memsim/measure/verdict.h"

#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "memsim/workload/random.h"

namespace memsim {
namespace {

Interval Of(double low, double centre, double high, double confidence = 0.99) {
  return {.centre = centre, .low = low, .high = high, .confidence = confidence, .n = 40};
}
const Interval kQuiet = Of(-0.1, 0, 0.1);

// A difference whose 99 % interval is above zero. Expect the sentence that the docs show.
TEST(VerdictTest, Slower) {
  const Verdict verdict = Judge(Of(1.24, 1.31, 1.38), Of(1.2, 1.31, 1.42), kQuiet, 26.73);
  EXPECT_EQ(verdict.kind, VerdictKind::kResolved);
  EXPECT_EQ(VerdictText(verdict, "A", "B"),
            "B is 1.31 ns (4.9 %) slower than A, 95 % interval 1.24…1.38: resolved");
}

// The same below zero. Expect the size of the difference with the smaller end first.
TEST(VerdictTest, Faster) {
  const Verdict verdict = Judge(Of(-1.38, -1.31, -1.24), Of(-1.42, -1.31, -1.2), kQuiet, 26.73);
  EXPECT_EQ(VerdictText(verdict, "A", "B"),
            "B is 1.31 ns (4.9 %) faster than A, 95 % interval 1.24…1.38: resolved");
}

// The 95 % interval is above zero, the 99 % interval is not. Expect no word of slower or faster, but how
// large a difference would have been missed.
TEST(VerdictTest, NotResolved) {
  const Verdict verdict = Judge(Of(0.05, 0.3, 0.55), Of(-0.1, 0.3, 0.7), kQuiet, 20);
  EXPECT_EQ(verdict.kind, VerdictKind::kNotResolved);
  EXPECT_EQ(VerdictText(verdict, "A", "B"), "not resolved: anything under 0.40 ns would have been missed");
}

// The same without layout: resolved, not resolved, too few sweeps, no verdict at all. Expect the sentences,
// and nothing in the last case.
TEST(VerdictTest, InPlace) {
  const Verdict open = Judge(Of(-0.2, 0.3, 0.8), Of(-0.4, 0.3, 1.0), kQuiet, 20);
  EXPECT_EQ(InPlaceText(open, Of(0.28, 0.3, 0.32), Of(0.27, 0.3, 0.33), "A", "B"),
            "layout excluded: B is 0.30 ns (1.5 %) slower than A, 95 % interval 0.28…0.32; anything under "
            "0.030 ns would have been missed");
  EXPECT_EQ(InPlaceText(open, Of(0.1, 0.3, 0.5), Of(-0.1, 0.3, 0.6), "A", "B"),
            "layout excluded: not resolved, anything under 0.40 ns would have been missed");
  EXPECT_EQ(InPlaceText(open, Of(0.1, 0.3, 0.5, 0.9), Of(0.1, 0.3, 0.5, 0.9), "A", "B"),
            "layout excluded: no verdict, 40 sweeps over the replicas are too few");
  const Verdict none = Judge(Of(4, 5, 6), Of(3, 5, 7), Of(0.1, 0.5, 0.9), 20);
  EXPECT_EQ(InPlaceText(none, Of(4, 5, 6), Of(3, 5, 7), "A", "B"), "");
}

// A control that differs from itself, and too few values. Expect no verdict, whatever the difference is.
TEST(VerdictTest, NoVerdict) {
  const Verdict control = Judge(Of(4, 5, 6), Of(3, 5, 7), Of(0.1, 0.5, 0.9), 20);
  EXPECT_EQ(control.kind, VerdictKind::kControlFails);
  EXPECT_EQ(VerdictText(control, "A", "B"),
            "no verdict: the control fails, A differs from itself by 0.50 ns");
  const Verdict few = Judge(Of(4, 5, 6, 0.9), Of(4, 5, 6, 0.9), kQuiet, 20);
  EXPECT_EQ(few.kind, VerdictKind::kTooFew);
}

// Any interval that straddles or touches zero. Expect the sentence never to say faster or slower.
TEST(VerdictTest, ZeroIsNeverFasterOrSlower) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const double low = -static_cast<double>(random.Below(1000)) / 100;
    const double high = static_cast<double>(random.Below(1000)) / 100;
    const Interval interval = Of(low, (low + high) / 2, high);
    const Verdict verdict = Judge(interval, interval, kQuiet, 20);
    const std::string text =
        VerdictText(verdict, "A", "B") + InPlaceText(verdict, interval, interval, "A", "B");
    ASSERT_FALSE(absl::StrContains(text, "slower") || absl::StrContains(text, "faster")) << text;
  }
}

// Simulated differences of eight seeds, all below zero. Expect the least and the most of them, and
// no interval.
TEST(SeedVerdictTest, EightSeedsThatAgreeAreResolved) {
  const Verdict verdict = JudgeSeeds({-21, -22, -20, -21, -21, -22, -20, -21}, 700);
  EXPECT_EQ(VerdictText(verdict, "A", "B"),
            "B is 21.0 ns (3.0 %) faster than A, 20.0…22.0 over 8 seeds, exact for each: resolved");
  EXPECT_EQ(VerdictCell(verdict), "resolved");
}

// Seven that agree, one that does not, one alone, and none that differs.
TEST(SeedVerdictTest, OtherwiseNot) {
  EXPECT_EQ(VerdictText(JudgeSeeds({2, 2, 2, 2, 2, 2, 3}, 700), "A", "B"),
            "B is 2.00 ns (0.3 %) slower than A, 2.00…3.00 over 7 seeds: exact for them; a verdict "
            "takes eight");
  EXPECT_EQ(VerdictText(JudgeSeeds({2, 2, 2, 2, 2, 2, 3, -1}, 700), "A", "B"),
            "not resolved: B minus A differs by seed, -1.00…+3.00 ns over 8 seeds");
  EXPECT_EQ(VerdictText(JudgeSeeds({2}, 700), "A", "B"),
            "B is 2.00 ns (0.3 %) slower than A: exact for its one seed, which shows no spread");
  EXPECT_EQ(VerdictText(JudgeSeeds({0, 0}, 700), "A", "B"),
            "B takes the same time as A with 2 seeds: exact for them");
}

// Any seeds of both signs, few or many. Expect the sentence never to say faster or slower.
TEST(SeedVerdictTest, ZeroIsNeverFasterOrSlower) {
  Random random(8);
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> seeds(2 + random.Below(7));
    for (double& seed : seeds) seed = static_cast<double>(random.Below(2000)) / 100 - 10;
    seeds[0] = -1;
    seeds[1] = 1;
    const std::string text = VerdictText(JudgeSeeds(seeds, 700), "A", "B");
    ASSERT_FALSE(absl::StrContains(text, "slower") || absl::StrContains(text, "faster")) << text;
  }
}

// Counts, more, fewer and as many, and of nothing.
TEST(CountVerdictTest, IsExact) {
  EXPECT_EQ(VerdictText(JudgeCounts(67, 277.5), "A", "B"),
            "B makes 210.5 fewer instructions a page than A (-75.9 %): exact");
  EXPECT_EQ(VerdictText(JudgeCounts(12, 10), "A", "B", "calls"),
            "B makes 2.00 more calls a page than A (+20.0 %): exact");
  EXPECT_EQ(VerdictText(JudgeCounts(10, 10), "A", "B"), "B makes as many instructions a page as A: exact");
  EXPECT_EQ(VerdictText(JudgeCounts(5, 0), "A", "B"), "B makes 5.00 more instructions a page than A: exact");
}

// What stands in a cell of a table.
TEST(VerdictCellTest, IsShort) {
  EXPECT_EQ(VerdictCell(Judge(Of(0.05, 0.3, 0.55), Of(-0.1, 0.3, 0.7), kQuiet, 20)), "not: <0.40");
  EXPECT_EQ(VerdictCell(JudgeSeeds({2, 2}, 700)), "2 seeds");
  EXPECT_EQ(VerdictCell(JudgeSeeds({2, -2}, 700)), "by seed");
  EXPECT_EQ(VerdictCell(JudgeCounts(1, 2)), "exact");
}

}  // namespace
}  // namespace memsim
