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
    const std::string text = VerdictText(Judge(interval, interval, kQuiet, 20), "A", "B");
    ASSERT_FALSE(absl::StrContains(text, "slower") || absl::StrContains(text, "faster")) << text;
  }
}

}  // namespace
}  // namespace memsim
