#include "memsim/measure/paired.h"

#include <iostream>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "memsim/internal/compiler.h"
#include "memsim/report/comparison.h"

namespace memsim {
namespace {

std::unique_ptr<Runner> OpenRunner(const ConfigurationText& text, const RestObjects& rest = {}) {
  const auto configuration = Resolve(text);
  EXPECT_TRUE(configuration.ok()) << configuration.status();
  auto runner = Runner::Open(*configuration, MachineKind::kNative, {.rest = rest});
  EXPECT_TRUE(runner.ok()) << runner.status();
  return *std::move(runner);
}

// A controller whose limit lets nothing in faults no page. Expect an error instead of a division by zero.
TEST(TimingTest, NoPagesIsAnError) {
  ExecResult nothing;
  nothing.cpus.resize(1);
  EXPECT_FALSE(TimingOf(nothing).ok());
}

// The same configuration twice in the same rounds. Expect the difference's interval around zero, or next
// to it. One pair of worlds is not enough: where they lie once made them differ by a quarter.
TEST(PairedTest, EqualArmsDifferByLittle) {
  constexpr int kPlacements = 9;
  constexpr int kRounds = 40;
  ConfigurationText text;
  text.faults = 1024;
  Paired paired(std::vector<Runner*>(2), 1);
  for (int placement = 0; placement < kPlacements; ++placement) {
    auto a = OpenRunner(text);
    auto b = OpenRunner(text);
    paired.Replace({a.get(), b.get()});
    // The first one warms the caches.
    for (int r = 0; r < kRounds + 1; ++r) ASSERT_TRUE(paired.Round().ok());
  }
  EXPECT_EQ(paired.rounds(), kPlacements * kRounds);
  const Interval difference = paired.Difference(0, 1);
  const double total = paired.Total(0).centre;
  EXPECT_GT(difference.high, -0.25 * total);
  EXPECT_LT(difference.low, 0.25 * total);
}

// Cleared pages, disabled and enabled. Expect disabled to execute less than 35 % of the controller's
// instructions: 0.51 of 3.79 points in the published profile.
TEST(PairedTest, DisabledExecutesLessThanAThird) {
  ConfigurationText text;
  text.rest = "clear";
  text.faults = 1024;
  const auto instructions = [&](const char* memcg) {
    text.memcg = memcg;
    const auto counts = CountExactly(*Resolve(text), nullptr);
    EXPECT_TRUE(counts.ok()) << counts.status();
    return counts->memcg_total.instructions;
  };
  const double disabled = instructions("disabled");
  EXPECT_GT(disabled, 0);
  EXPECT_LT(disabled, 0.35 * instructions("root"));
}

// Cleared pages, the three arms of the 2015 argument. Expect disabled to cost less time than enabled.
// How much less is the host's affair: it is printed, not judged.
TEST(PairedTest, DisabledCostsLessThanEnabled) {
#if MEMSIM_SANITIZED || !defined(__OPTIMIZE__) || !defined(NDEBUG)
  GTEST_SKIP() << "times of this build mean nothing";
#endif
  Paired paired(std::vector<Runner*>(3), 1);
  // Where a world lies costs more than the gate: 15 placements.
  for (int placement = 0; placement < 15; ++placement) {
    RestObjects rest;
    rest.push_back(*RestOfFault::Create(RestKind::kClear));
    ConfigurationText text;
    text.rest = "clear";
    text.faults = 1024;
    text.config = {"MEMCG=n"};
    auto out = OpenRunner(text, rest);
    text.config.clear();
    text.memcg = "disabled";
    auto disabled = OpenRunner(text, rest);
    text.memcg = "root";
    auto root = OpenRunner(text, rest);
    paired.Replace({out.get(), disabled.get(), root.get()});
    for (int r = 0; r < 201; ++r) ASSERT_TRUE(paired.Round().ok());
  }
  const Interval residue = paired.Residue(0, 1, 2);
  std::cout << "disabled adds " << 100 * residue.low << " to " << 100 * residue.high
            << " % of what enabled adds\n";
  EXPECT_GT(paired.Difference(2, 1).low, 0);
}

}  // namespace
}  // namespace memsim
