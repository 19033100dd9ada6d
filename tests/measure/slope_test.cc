#include "memsim/measure/slope.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace memsim {
namespace {

// Region times that are 30 ns, 2 ns a step and 0.5 ns of what stands between the steps, and the region
// without: both with a disturbance in one of twenty passes. Expect 2 ns, and every region timed once a
// round.
TEST(StepCostTest, IsWhatTheStepAdds) {
  std::mt19937_64 engine(11);
  std::vector<int> timed(kStepCounts.size());
  const auto disturbance = [&] { return engine() % 20 == 0 ? 500.0 : 0.0; };
  const Interval cost = StepCost(
      [&](size_t i) {
        ++timed[i];
        return 30 + 2.5 * kStepCounts[i] + disturbance();
      },
      [&](size_t i) { return 29 + 0.5 * kStepCounts[i] + disturbance(); }, 51, 1);
  EXPECT_DOUBLE_EQ(cost.centre, 2);
  EXPECT_LE(cost.low, 2);
  EXPECT_GE(cost.high, 2);
  EXPECT_EQ(timed, std::vector<int>(kStepCounts.size(), 51));
}

// A step of 0.05 ns under noise that is skewed, has spikes, and drifts over the rounds by more than the step
// costs. Expect the 95 % interval to hold the truth in 93 to 99 of 100.
TEST(SlopeIntervalTest, Covers) {
  constexpr int kTrials = 1000, kRounds = 41;
  constexpr double kStep = 0.05;
  const std::vector<double> x(kStepCounts.begin(), kStepCounts.end());
  std::mt19937_64 engine(12);
  std::exponential_distribution<double> skewed(2.0);
  std::uniform_real_distribution<double> uniform;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<std::vector<double>> rounds;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> times;
      for (const double steps : x) {
        const double spike = uniform(engine) < 0.03 ? 300 : 0;
        times.push_back(20 + 0.1 * round + kStep * steps + skewed(engine) + spike);
      }
      rounds.push_back(times);
    }
    const Interval interval = SlopeInterval(x, rounds);
    covered += interval.low <= kStep && kStep <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, kTrials * 93 / 100);
  EXPECT_LE(covered, kTrials * 99 / 100);
}

}  // namespace
}  // namespace memsim
