// Rate-limited checks behind the per-CPU statistics: when they run, and what they find.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/session.h"

namespace memsim {
namespace {

using support::CountsOf;
using support::Execute;
using support::Fault;
using support::Unmap;

class EventPathTest : public ::testing::TestWithParam<const Kernel*> {
 protected:
  static std::unique_ptr<Session> Open(const WorldPlan& plan) {
    return support::Open(*GetParam(), MachineKind::kTracing, support::ConfigOf(*GetParam(), plan));
  }
  // The numbers of the faults, from 1, in which `fn` ran.
  static std::vector<int64_t> FaultsWith(Fn fn, int64_t faults) {
    auto session = Open(support::ChainPlan(1, Pages(faults)));
    std::vector<int64_t> found;
    for (int64_t i = 1; i <= faults; ++i) {
      const TraceCounts counts = CountsOf(*session, {Fault(static_cast<uint64_t>(i - 1), 1)});
      if (counts.of(Part::kCharge, fn).calls > 0) found.push_back(i);
    }
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, EventPathTest,
                         ::testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                         [](const auto& param) { return support::TestName(param.param->name); });

// One event per fault. The check is due when the count is above the target, not when it reaches it,
// and the next target is the count plus 128. Expect it with the very first event, because targets
// start at 0, and then with every 129th.
TEST_P(EventPathTest, ThresholdCheckRunsAtOnceAndThenEvery129thEvent) {
  EXPECT_EQ(FaultsWith(Fn::kThreshold, 400), (std::vector<int64_t>{1, 130, 259, 388}));
}

// The soft-limit target is 1024 events ahead, but it is looked at only when the threshold check is
// due. Expect the first event again, and then the first threshold check with more than 1024 events:
// 1 + 8 x 129.
TEST_P(EventPathTest, SoftLimitCheckRunsWithTheThresholdCheckAfter1024Events) {
  EXPECT_EQ(FaultsWith(Fn::kUpdateTree, 1100), (std::vector<int64_t>{1, 1033}));
}

// A page in and out is two events.
// Expect a batch of 510 uncharged pages to bring one check, not four: the events come at once.
TEST_P(EventPathTest, UnchargeBatchIsOneCheck) {
  auto session = Open(support::ChainPlan(1));
  Execute(*session, {Fault(0, 510)});
  const TraceCounts counts = CountsOf(*session, {Unmap(0, 510)});
  EXPECT_EQ(counts.of(Part::kFree, Fn::kCheckEvents).calls, 1u);
  EXPECT_EQ(counts.of(Part::kFree, Fn::kThreshold).calls, 1u);
}

// Thresholds at 100 and 200 pages, and one that is never reached. Usage is charged in batches of
// 32, and looked at after 1, 130 and 259 faults.
//
//   faults   usage   above
//      129     160   -          the check is not due yet
//      130     160   100
//      258     288   100
//      259     288   100, 200
//
// Expect one signal per threshold on the way up, none again while usage stays above, and one more
// each when everything is unmapped.
TEST_P(EventPathTest, ThresholdsSignalWhenCrossedUpAndDown) {
  WorldPlan plan = support::ChainPlan(1);
  plan.memcgs[1].thresholds = {100, 200, 5000};
  auto session = Open(plan);
  const auto signals = [&] { return session->ReadLedger().memcgs[1].threshold_signals; };
  using Signals = std::vector<int64_t>;
  Execute(*session, {Fault(0, 129)});
  EXPECT_EQ(signals(), (Signals{0, 0, 0}));
  Execute(*session, {Fault(129, 1)});
  EXPECT_EQ(signals(), (Signals{1, 0, 0}));
  Execute(*session, {Fault(130, 128)});
  EXPECT_EQ(signals(), (Signals{1, 0, 0}));
  Execute(*session, {Fault(258, 1)});
  EXPECT_EQ(signals(), (Signals{1, 1, 0}));
  Execute(*session, {Fault(259, 241)});
  EXPECT_EQ(signals(), (Signals{1, 1, 0}));
  Execute(*session, {Unmap(0, 500)});
  EXPECT_EQ(signals(), (Signals{2, 2, 0}));
}

// A parent has a threshold, and its child faults.
// Expect the parent's to be signalled: the walk goes up to root.
TEST_P(EventPathTest, ThresholdsOfTheParentSeeTheChild) {
  WorldPlan plan = support::ChainPlan(2);
  plan.memcgs[1].thresholds = {100};
  auto session = Open(plan);
  Execute(*session, {Fault(0, 130)});
  EXPECT_EQ(session->ReadLedger().memcgs[1].threshold_signals, (std::vector<int64_t>{1}));
}

// The soft limit is 100 pages. The tree is looked at with event 1, with event 1033, and then with
// the first threshold check after event 1033 + 1024. Unmapping brings threshold checks with events
// 1543 and 2053, so the next one is due above 2053 + 128. Expect the memcg to be in the tree from
// the 1033rd fault on, although it has been over since the 97th, and to leave it with event 2182,
// although it has been under since the unmap.
TEST_P(EventPathTest, SoftLimitTreeHoldsMemcgsOverTheirLimit) {
  WorldPlan plan = support::ChainPlan(1, Pages(2048));
  plan.memcgs[1].soft = 100;
  auto session = Open(plan);
  const auto on_tree = [&] { return session->ReadLedger().memcgs[1].on_soft_tree; };
  Execute(*session, {Fault(0, 1032)});
  EXPECT_FALSE(on_tree());
  Execute(*session, {Fault(1032, 1)});
  EXPECT_TRUE(on_tree());
  Execute(*session, {Unmap(0, 1033), Fault(0, 58)});  // 2124 events
  EXPECT_TRUE(on_tree());
  Execute(*session, {Unmap(0, 58)});  // 2182 events
  EXPECT_FALSE(on_tree());
}

// A child is over the soft limit of its parent only.
// Expect the parent in the tree, and neither child nor root.
TEST_P(EventPathTest, SoftLimitTreeTakesEveryLevelByItsOwnLimit) {
  WorldPlan plan = support::ChainPlan(2);
  plan.memcgs[1].soft = 10;
  auto session = Open(plan);
  Execute(*session, {Fault(0, 1)});  // the first check; a batch of 32 pages is charged
  const Ledger ledger = session->ReadLedger();
  EXPECT_FALSE(ledger.memcgs[0].on_soft_tree);
  EXPECT_TRUE(ledger.memcgs[1].on_soft_tree);
  EXPECT_FALSE(ledger.memcgs[2].on_soft_tree);
}

// Some faults and unmaps.
// Expect the statistics to say so: RSS is what is mapped, PGPGIN and PGPGOUT what came and went,
// PGFAULT every fault.
TEST_P(EventPathTest, StatisticsCountPagesAndFaults) {
  auto session = Open(support::ChainPlan(1));
  Execute(*session, {Fault(0, 50), Unmap(10, 20), Fault(15, 5)});
  const LedgerRow row = session->ReadLedger().memcgs[1];
  EXPECT_EQ(row.rss, 35);
  EXPECT_EQ(row.events[kPgpgin], 55);
  EXPECT_EQ(row.events[kPgpgout], 20);
  EXPECT_EQ(row.events[kPgfault], 55);
}

}  // namespace
}  // namespace memsim
