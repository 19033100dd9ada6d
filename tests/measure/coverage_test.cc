// Does a 95 % interval hold the truth in 95 of 100 comparisons? Times are made up, so the truth is known;
// they go the way of a real comparison: rounds, medians of placements, replicas.
#include <cmath>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "memsim/measure/layout.h"
#include "memsim/measure/statistics.h"

namespace memsim {
namespace {

constexpr int kReplicas = 32, kSweeps = 8, kRounds = 5;
constexpr double kTruth = 0.3;  // ns that the second arm costs more

// What disturbs one time. `at`: how far the comparison is, 0…1.
struct Noise {
  std::string name;
  std::function<double(std::mt19937_64&, double at)> draw;
};

double Uniform(std::mt19937_64& engine) { return std::uniform_real_distribution<double>()(engine); }
double Normal(std::mt19937_64& engine) { return std::normal_distribution<double>()(engine); }
double Skewed(std::mt19937_64& engine) { return std::exponential_distribution<double>()(engine); }

const std::vector<Noise>& Noises() {
  static const auto& noises = *new std::vector<Noise>{
      {"skewed", [](auto& engine, double) { return 2 * Skewed(engine); }},
      {"bimodal",
       [](auto& engine, double) { return (Uniform(engine) < 0.3 ? 4 : 0) + 0.5 * Normal(engine); }},
      {"drifting", [](auto& engine, double at) { return 10 * at + 3 * std::sin(20 * at) + Normal(engine); }},
      {"steal", [](auto& engine, double) { return Normal(engine) + (Uniform(engine) < 0.04 ? 400 : 0); }},
  };
  return noises;
}

// How much the layout of a replica adds to the difference.
struct Layout {
  std::string name;
  std::function<double(std::mt19937_64&)> draw;
  double centre;  // of the means of two
};

const std::vector<Layout>& Layouts() {
  static const auto& layouts = *new std::vector<Layout>{
      {"none", [](auto&) { return 0; }, 0},
      {"normal", [](auto& engine) { return Normal(engine); }, 0},
      // The median of the mean of two: half of that of a gamma distribution of shape two, 1.67835.
      {"skewed", [](auto& engine) { return Skewed(engine); }, 0.839173},
      {"bimodal", [](auto& engine) { return (Uniform(engine) < 0.5 ? -2 : 2) + 0.3 * Normal(engine); }, 0},
  };
  return layouts;
}

// One comparison: the differences of the placements.
std::vector<Placed> MakeUp(const Noise& noise, const std::vector<double>& layout, std::mt19937_64& engine) {
  std::vector<Placed> placed;
  const int all = kSweeps * static_cast<int>(layout.size());
  for (int p = 0; p < all; ++p) {
    const int replica = p % static_cast<int>(layout.size());
    const double at = static_cast<double>(p) / all;
    const double world = 0.2 * Normal(engine);  // where the worlds lie
    std::vector<double> rounds;
    for (int r = 0; r < kRounds; ++r) {
      const double first = 50 + noise.draw(engine, at), second = 50 + noise.draw(engine, at);
      rounds.push_back(second - first + kTruth + world + layout[static_cast<size_t>(replica)]);
    }
    placed.push_back({Median(std::move(rounds)), replica});
  }
  return placed;
}

std::vector<double> Draw(const Layout& layout, std::mt19937_64& engine) {
  std::vector<double> values;
  for (int r = 0; r < kReplicas; ++r) values.push_back(layout.draw(engine));
  return values;
}

// A share of trials in per cent, by what was asked.
struct Covered {
  int trials = 0, at95 = 0, at99 = 0;
  void Add(const Interval& interval, const Interval& strict, double truth) {
    ++trials;
    at95 += interval.low <= truth && truth <= interval.high ? 1 : 0;
    at99 += strict.low <= truth && truth <= strict.high ? 1 : 0;
  }
  void Expect(const std::string& what) const {
    std::cout << what << ": " << 100.0 * at95 / trials << " % and " << 100.0 * at99 / trials << " %\n";
    EXPECT_GE(at95, trials * 93 / 100) << what;
    EXPECT_LE(at95, trials * 99 / 100) << what;
    EXPECT_GE(at99, trials * 975 / 1000) << what;
  }
};

// Every noise with layout that spreads in each way. Expect the interval with layout to hold the difference
// that code has when it is linked anew.
TEST(CoverageTest, LayoutIncluded) {
  std::mt19937_64 engine(21);
  for (const Noise& noise : Noises()) {
    for (const Layout& layout : Layouts()) {
      Covered covered;
      for (int trial = 0; trial < 600; ++trial) {
        const std::vector<Placed> placed = MakeUp(noise, Draw(layout, engine), engine);
        covered.Add(WithLayout(placed), WithLayout(placed, 0.99), kTruth + layout.centre);
      }
      covered.Expect(noise.name + " times, " + layout.name + " layout");
    }
  }
}

// The same with the layout of one build: as many replicas on one side of its centre as on the other, so
// that the centre is known. Expect the interval without layout to hold the difference, too, and to be the
// narrower one where layout spreads by 1 ns.
TEST(CoverageTest, LayoutExcluded) {
  std::mt19937_64 engine(22);
  for (size_t i = 0; i < Noises().size(); ++i) {
    const Noise& noise = Noises()[i];
    const Layout& layout = Layouts()[i];
    Covered covered;
    double excluded = 0, included = 0;
    for (int trial = 0; trial < 600; ++trial) {
      std::vector<double> drawn = Draw(layout, engine);
      for (size_t r = 0; r < kReplicas / 2; ++r) drawn[kReplicas / 2 + r] = 2 * layout.centre - drawn[r];
      const std::vector<Placed> placed = MakeUp(noise, drawn, engine);
      const Interval here = InPlace(placed), anywhere = WithLayout(placed);
      covered.Add(here, InPlace(placed, 0.99), kTruth + layout.centre);
      excluded += here.high - here.low;
      included += anywhere.high - anywhere.low;
    }
    covered.Expect(noise.name + " times, " + layout.name + " layout excluded");
    if (layout.name == "normal") {
      EXPECT_LT(excluded, 0.8 * included);
    }
  }
}

// Two replicas of which one was visited three times, the other twice. Expect two sweeps, and the centre of
// each: the middle of the means of two.
TEST(PlacedTest, CountsWholeSweeps) {
  const std::vector<Placed> placed = {{1, 0}, {5, 1}, {7, 1}, {3, 0}, {5, 0}};
  EXPECT_EQ(ReplicasIn(placed), 2);
  EXPECT_EQ(ByReplica(placed), (std::vector<double>{3, 6}));
  const Interval in_place = InPlace(placed);
  EXPECT_EQ(in_place.n, 2);
  EXPECT_EQ(in_place.low, 3);
  EXPECT_EQ(in_place.high, 5);
  EXPECT_EQ(InPlace({{1, 0}, {2, 1}}).confidence, 0);
}

// 40 sweeps of two replicas, of which the host was in another mood for the last ten. Expect twelve stretches.
TEST(PlacedTest, SweepsAreTakenTogether) {
  std::vector<Placed> placed;
  for (int sweep = 0; sweep < 40; ++sweep) {
    for (int replica = 0; replica < 2; ++replica) placed.push_back({sweep < 30 ? 1.0 : 2.0, replica});
  }
  const Interval in_place = InPlace(placed, 0.99);
  EXPECT_EQ(in_place.n, 12);
  EXPECT_GE(in_place.confidence, 0.99);
  EXPECT_EQ(in_place.centre, 1);
}

}  // namespace
}  // namespace memsim
