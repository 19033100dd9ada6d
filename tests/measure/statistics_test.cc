#include "memsim/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace memsim {
namespace {

// Work done at 1, 2 and 4 per second, a third of it each. Expect the rate of the whole: 12/7.
TEST(HarmonicMeanTest, IsTheRateOfTheSameWork) {
  EXPECT_DOUBLE_EQ(HarmonicMean({1, 2, 4}), 12.0 / 7);
  EXPECT_DOUBLE_EQ(HarmonicMean({5}), 5);
  EXPECT_EQ(HarmonicMean({}), 0);
}

// Odd and even counts. Expect the middle, or the mean of the two in the middle.
TEST(MedianTest, IsTheMiddle) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Median({}), 0);
}

// Few values cannot give 95 %. Expect their range and the confidence it really has.
TEST(MedianIntervalTest, FewValuesSayWhatTheyCover) {
  const Interval three = MedianInterval({1, 2, 3});
  EXPECT_EQ(three.low, 1);
  EXPECT_EQ(three.high, 3);
  EXPECT_DOUBLE_EQ(three.confidence, 0.75);
  EXPECT_EQ(MedianInterval({5}).confidence, 0);
}

// 21 values: the interval from the 6th to the 16th covers 97.3 % (binomial table). Expect those.
TEST(MedianIntervalTest, UsesTheBinomialRanks) {
  std::vector<double> values;
  for (int i = 1; i <= 21; ++i) values.push_back(i);
  const Interval interval = MedianInterval(values);
  EXPECT_EQ(interval.centre, 11);
  EXPECT_EQ(interval.low, 6);
  EXPECT_EQ(interval.high, 16);
  EXPECT_NEAR(interval.confidence, 0.9734, 0.0005);
}

// Eight values: 99 % is their range, 95 % leaves out the three least and most means of two (table of the
// signed ranks: 3 is the critical sum). Five values: their range covers 93.75 %. Expect those.
TEST(RankIntervalTest, UsesTheSignedRanks) {
  const std::vector<double> values = {1, 2, 4, 8, 16, 32, 64, 128};
  const Interval strict = RankInterval(values, 0.99);
  EXPECT_EQ(strict.low, 1);
  EXPECT_EQ(strict.high, 128);
  EXPECT_DOUBLE_EQ(strict.confidence, 1 - 2.0 / 256);
  const Interval interval = RankInterval(values);
  EXPECT_EQ(interval.low, 2.5);  // 1, 1.5, 2, 2.5
  EXPECT_EQ(interval.high, 72);  // 128, 96, 80, 72
  EXPECT_DOUBLE_EQ(interval.confidence, 1 - 2 * 5.0 / 256);
  EXPECT_EQ(interval.centre, 19);  // of 18 and 20
  EXPECT_DOUBLE_EQ(RankInterval({1, 2, 3, 4, 5}).confidence, 0.9375);
  EXPECT_EQ(RankInterval({}).n, 0);
}

// Skewed data with spikes, many times over. Expect the true median inside about as often as promised.
TEST(MedianIntervalTest, CoversSkewedData) {
  std::mt19937_64 engine(7);
  std::exponential_distribution<double> skewed(1.0);
  std::uniform_real_distribution<double> uniform;
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 41; ++i) {
      values.push_back(skewed(engine) + (uniform(engine) < 0.02 ? 100 : 0));
    }
    const Interval interval = MedianInterval(values);
    // The median of the mixture: P(exp <= m) * 0.98 = 0.5.
    const double median = -std::log(1 - 0.5 / 0.98);
    covered += interval.low <= median && median <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, kTrials * 93 / 100);
  EXPECT_LE(covered, kTrials * 99 / 100);
}

// Points on a line, and the same with one point far off. Expect the line's slope.
TEST(SlopeTest, IsTheLines) {
  EXPECT_DOUBLE_EQ(Slope({1, 4, 16, 64}, {5.5, 7, 13, 37}), 0.5);
  EXPECT_DOUBLE_EQ(Slope({0, 1, 2, 4, 8, 16, 32, 64}, {0, 1, 2, 4, 8, 916, 32, 64}), 1);
  EXPECT_DOUBLE_EQ(Slope({0, 1, 2}, {0, 3, 0}), 0);
}

// The ratio of two medians over paired rounds with a known truth of 0.2. Expect it inside the interval.
TEST(BootstrapTest, CoversARatioOfMedians) {
  std::mt19937_64 engine(3);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> part, whole;
  for (int i = 0; i < 400; ++i) {
    part.push_back(2 + noise(engine));
    whole.push_back(10 + noise(engine));
  }
  const Interval interval =
      BootstrapInterval(400, 1, [&](const std::vector<int>& picked) {
        std::vector<double> a, b;
        for (const int i : picked) {
          a.push_back(part[static_cast<size_t>(i)]);
          b.push_back(whole[static_cast<size_t>(i)]);
        }
        return Median(a) / Median(b);
      });
  EXPECT_LE(interval.low, 0.2);
  EXPECT_GE(interval.high, 0.2);
  EXPECT_LT(interval.high - interval.low, 0.06);
}

// Five values in order, in the opposite order, with two changed places (1 - 6 * 2 / 120), and with a tie by
// hand; two values; equal values.
TEST(RankCorrelationTest, IsSpearmans) {
  const std::vector<double> rising = {1, 2, 3, 4, 5};
  EXPECT_NEAR(RankCorrelation(rising, {10, 20, 30, 40, 50}), 1, 1e-12);
  EXPECT_NEAR(RankCorrelation(rising, {5, 4, 3, 2, 1}), -1, 1e-12);
  EXPECT_NEAR(RankCorrelation(rising, {2, 1, 3, 4, 5}), 0.9, 1e-12);
  EXPECT_NEAR(RankCorrelation({1, 2, 3}, {1, 1, 2}), 1.5 / std::sqrt(2 * 1.5), 1e-12);
  EXPECT_TRUE(std::isnan(RankCorrelation({1, 2}, {1, 2})));
  EXPECT_TRUE(std::isnan(RankCorrelation({1, 2, 3}, {1, 1, 1})));
}

// Wilson's interval for 10 of 100 (0.0552 to 0.1744) and for 0 of 100 (0 to 0.0370).
TEST(ShareIntervalTest, IsWilsons) {
  const Interval ten = ShareInterval(10, 100);
  EXPECT_NEAR(ten.low, 0.0552, 0.0001);
  EXPECT_NEAR(ten.high, 0.1744, 0.0001);
  const Interval none = ShareInterval(0, 100);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.0370, 0.0001);
}

// Newcombe's example, 56 of 70 less 48 of 80 (0.0524 to 0.3339).
TEST(DifferenceIntervalTest, OfTwoSharesIsNewcombes) {
  const Interval difference = DifferenceInterval(ShareInterval(56, 70), ShareInterval(48, 80));
  EXPECT_NEAR(difference.centre, 0.2, 1e-12);
  EXPECT_NEAR(difference.low, 0.0524, 0.0001);
  EXPECT_NEAR(difference.high, 0.3339, 0.0001);
}

// Samples in 24 groups whose own shares differ: 10 % on the whole, 5 % to 15 % in a group. Expect
// the interval to hold the whole's share as often as it says, which the plain one does not; and no
// confidence in few groups.
TEST(GroupedShareIntervalTest, HoldsTheShareOfGroupsThatDiffer) {
  std::mt19937_64 engine(9);
  std::uniform_real_distribution<double> share(0.05, 0.15);
  constexpr int kTrials = 1000;
  int grouped = 0, plain = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<int64_t> hits, totals(24, 400);
    int64_t sum = 0;
    for (size_t g = 0; g < totals.size(); ++g) {
      hits.push_back(std::binomial_distribution<int64_t>(totals[g], share(engine))(engine));
      sum += hits.back();
    }
    const auto holds = [](const Interval& interval) { return interval.low <= 0.1 && 0.1 <= interval.high; };
    grouped += holds(GroupedShareInterval(hits, totals)) ? 1 : 0;
    plain += holds(ShareInterval(sum, 24 * 400)) ? 1 : 0;
  }
  EXPECT_GE(grouped, kTrials * 93 / 100);
  EXPECT_LE(grouped, kTrials * 99 / 100);
  EXPECT_LT(plain, kTrials * 85 / 100);
  EXPECT_EQ(GroupedShareInterval({1, 2}, {10, 10}).confidence, 0);
}

// Of 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32.
TEST(StandardDeviationTest, IsThatOfASample) {
  EXPECT_DOUBLE_EQ(Mean({2, 4, 4, 4, 5, 5, 7, 9}), 5);
  EXPECT_DOUBLE_EQ(StandardDeviation({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
  EXPECT_EQ(StandardDeviation({3}), 0);
}

}  // namespace
}  // namespace memsim
