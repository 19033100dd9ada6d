// The LRU batch, seen through a session: when it moves, what it costs, what remains of it.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "tests/support/session.h"

namespace memsim {
namespace {

using support::CountsOf;
using support::Execute;
using support::Fault;
using support::Unmap;

class LruPathTest : public ::testing::TestWithParam<const Kernel*> {
 protected:
  static std::unique_ptr<Session> Open() {
    return support::Open(*GetParam(), MachineKind::kTracing,
                         support::ConfigOf(*GetParam(), support::ChainPlan(1)));
  }
  static uint64_t Batches(const TraceCounts& counts) {
    return counts.operations[static_cast<size_t>(Part::kLruBatch)];
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, LruPathTest,
                         ::testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                         [](const auto& param) { return support::TestName(param.param->name); });

// Fourteen pages fit into the batch.
// Expect the fifteenth to move them, and then every fourteenth.
TEST_P(LruPathTest, BatchMovesWhenFullBeforeTheAdd) {
  auto session = Open();
  EXPECT_EQ(Batches(CountsOf(*session, {Fault(0, 14)})), 0u);
  EXPECT_EQ(session->ReadLedger().memcgs[1].lru, 0);
  EXPECT_EQ(Batches(CountsOf(*session, {Fault(14, 1)})), 1u);
  EXPECT_EQ(session->ReadLedger().memcgs[1].lru, 14);
  EXPECT_EQ(Batches(CountsOf(*session, {Fault(15, 13)})), 0u);
  EXPECT_EQ(Batches(CountsOf(*session, {Fault(28, 1)})), 1u);
}

// One batch of pages of one zone.
// Expect one section with interrupts off, one acquisition of the LRU lock, and the look-up and the
// size once per page.
TEST_P(LruPathTest, OneBatchTakesTheLockOnce) {
  auto session = Open();
  Execute(*session, {Fault(0, 14)});
  const TraceCounts counts = CountsOf(*session, {Fault(14, 1)});
  EXPECT_EQ(counts.of(Part::kLruBatch, Fn::kPagevecLruMoveFn).irq_off, 1u);
  EXPECT_EQ(counts.of(Part::kLruBatch, Fn::kPagevecLruMoveFn).locks, 1u);
  EXPECT_EQ(counts.of(Part::kLruBatch, Fn::kPageLruvec).calls, 14u);
  EXPECT_EQ(counts.of(Part::kLruBatch, Fn::kUpdateLruSize).calls, 14u);
}

// Pages that were queued but not moved yet are unmapped.
// Expect the batch to be moved first, and every page to leave the lists again.
TEST_P(LruPathTest, UnmapMovesTheBatchFirst) {
  auto session = Open();
  Execute(*session, {Fault(0, 5)});
  const TraceCounts counts = CountsOf(*session, {Unmap(0, 5)});
  EXPECT_EQ(Batches(counts), 1u);
  EXPECT_EQ(counts.of(Part::kFree, Fn::kUpdateLruSize).calls, 5u);
  EXPECT_EQ(session->ReadLedger().memcgs[1].lru, 0);
}

// 510 pages of one zone leave the lists.
// Expect the lock to be dropped every 32 pages: sixteen acquisitions.
TEST_P(LruPathTest, ReleaseDropsTheLockEvery32Pages) {
  auto session = Open();
  Execute(*session, {Fault(0, 510)});
  const TraceCounts counts = CountsOf(*session, {Unmap(0, 510)});
  EXPECT_EQ(counts.of(Part::kFree, Fn::kReleasePages).locks, 16u);
}

// Two zones; the upper one runs out of fresh pages, so pages of both are mapped.
// Expect each page on its own zone's list: nothing is left when all are unmapped, and the lists
// held every page before.
TEST_P(LruPathTest, PagesOfTwoZonesKeepTheirLists) {
  SessionConfig config = support::ConfigOf(*GetParam(), support::ChainPlan(1));
  config.plan.zones = 2;
  config.plan.memory = Pages(1200);
  auto session = support::Open(*GetParam(), MachineKind::kTracing, config);
  Execute(*session, {Fault(0, 1000)});
  session->Drain();
  EXPECT_EQ(session->ReadLedger().memcgs[1].lru, 1000);
  Execute(*session, {Unmap(0, 1000)});
  EXPECT_EQ(session->ReadLedger().memcgs[1].lru, 0);
  EXPECT_EQ(session->ReadLedger().free_pages, 1200);
}

}  // namespace
}  // namespace memsim
