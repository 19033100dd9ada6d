// Deferred work: M::RunOn runs on its CPU between operations, M::After not before its delay.
#include "memsim/machine/deferred.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "memsim/machine/native.h"
#include "memsim/machine/tracing.h"
#include "tests/support/session.h"
#include "tests/support/traced.h"

namespace memsim {
namespace {

using support::Fault;
using support::Operations;

void Increment(void* counter) { ++*static_cast<int*>(counter); }

// Work without a delay and work that is due at 100 is posted to CPU 1.
// Expect each to run once, when its time has come, and HasWork() until both are done.
TEST(MailboxesTest, WorkRunsOnceAndNotBeforeItIsDue) {
  Mailboxes boxes(2);
  int now = 0;
  int later = 0;
  boxes.Post(1, {&Increment, &later}, 100);
  boxes.Post(1, {&Increment, &now});
  EXPECT_FALSE(boxes.HasWork(0));
  EXPECT_TRUE(boxes.HasWork(1));
  boxes.RunDue(1, 99);
  EXPECT_EQ(now, 1);
  EXPECT_EQ(later, 0);
  EXPECT_TRUE(boxes.HasWork(1));
  boxes.RunDue(1, 100);
  EXPECT_EQ(now, 1);
  EXPECT_EQ(later, 1);
  EXPECT_FALSE(boxes.HasWork(1));
}

// Work that posts more work for its own CPU, as a drain that meets another drain does.
// Expect RunDue() to run that too.
TEST(MailboxesTest, WorkMayPostWork) {
  struct Chain {
    Mailboxes boxes{1};
    int runs = 0;
    static void Run(void* self) {
      auto* chain = static_cast<Chain*>(self);
      if (++chain->runs < 3) chain->boxes.Post(0, {&Chain::Run, self});
    }
  } chain;
  chain.boxes.Post(0, {&Chain::Run, &chain});
  chain.boxes.RunDue(0, 0);
  EXPECT_EQ(chain.runs, 3);
}

// A CPU is idle before its first and after its last operation.
// Expect whoever asks an idle CPU to act for it, and nobody to act for a busy one.
TEST(MailboxesTest, OnlyAnIdleCpuIsTakenOver) {
  Mailboxes boxes(2);
  bool acted = false;
  EXPECT_TRUE(boxes.TakeOver(1, [&] { acted = true; }));
  EXPECT_TRUE(acted);
  boxes.SetIdle(1, false);
  EXPECT_FALSE(boxes.TakeOver(1, [] { ADD_FAILURE() << "the CPU is busy"; }));
  boxes.SetIdle(1, true);
  EXPECT_TRUE(boxes.TakeOver(1, [] {}));
}

// Two native per-CPU areas; the test's thread is CPU 0.
class NativeDeferredTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kStride = 4096;
  using M = Native<BuildConfig{}>;

  NativeDeferredTest() {
    for (CpuId cpu = 0; cpu < 2; ++cpu) {
      auto& head =
          *reinterpret_cast<native::CpuHead*>(areas_ + static_cast<uint64_t>(cpu) * kStride);
      head.cpu = cpu;
      head.mailboxes = &boxes_;
      head.area_of_cpu0 = areas_;
      head.area_stride = kStride;
    }
    boxes_.SetIdle(0, false);
  }
  static void NoteCpu(void* where) { *static_cast<CpuId*>(where) = M::cpu(); }

  alignas(64) std::byte areas_[2 * kStride] = {};
  Mailboxes boxes_{2};
  CpuId ran_on_ = -1;
};

// CPU 0 asks CPU 1, which is idle; then itself.
// Expect the work to be done at once in CPU 1's name, and CPU 0's own only between its operations.
TEST_F(NativeDeferredTest, RunOnActsForAnIdleCpuAndWaitsOtherwise) {
  const native::Binding as_cpu0(areas_);
  M::RunOn(1, {&NoteCpu, &ran_on_});
  EXPECT_EQ(ran_on_, 1);
  EXPECT_EQ(M::cpu(), 0);

  ran_on_ = -1;
  boxes_.SetIdle(1, false);
  M::RunOn(1, {&NoteCpu, &ran_on_});
  EXPECT_EQ(ran_on_, -1) << "CPU 1 is in the middle of something";
  EXPECT_TRUE(boxes_.HasWork(1));

  M::RunOn(0, {&NoteCpu, &ran_on_});
  EXPECT_EQ(ran_on_, -1) << "CPU 0 is in the middle of something";
  boxes_.RunDue(0, native::NowNs());
  EXPECT_EQ(ran_on_, 0);
}

// Expect After() to run on the CPU that asked, and not before its delay.
TEST_F(NativeDeferredTest, AfterRunsOnItsCpuNotBeforeTheDelay) {
  const native::Binding as_cpu0(areas_);
  const uint64_t before = native::NowNs();
  M::After(1'000'000'000, {&NoteCpu, &ran_on_});
  boxes_.RunDue(0, before + 999'999'999);
  EXPECT_EQ(ran_on_, -1);
  boxes_.RunDue(0, native::NowNs() + 1'000'000'000);
  EXPECT_EQ(ran_on_, 0);
}

class TracingDeferredTest : public support::TracedTest {};

// One operation takes a microsecond of the tracing machine's own clock.
// Expect work after 3 microseconds to wait for three operations.
TEST_F(TracingDeferredTest, AfterCountsOperations) {
  int runs = 0;
  Count([&] { Tracing::After(3000, {&Increment, &runs}); });
  for (int operation = 0; operation < 3; ++operation) {
    mailboxes_.RunDue(0, context_.NowNs());
    EXPECT_EQ(runs, 0);
    context_.BeginOperation(Part::kCharge);
    context_.EndOperation();
  }
  mailboxes_.RunDue(0, context_.NowNs());
  EXPECT_EQ(runs, 1);
}

// Two CPUs, one child each below a parent that may have 32 pages.
//
//   parent   max 32
//    |- a    CPU 0 wants ten pages; it has none, so that reclaim finds nothing of a's
//    '- b    CPU 1 has mapped one page, which is still in its LRU batch, and 31 are in its stock
class DrainTest : public ::testing::Test {
 protected:
  static WorldPlan Plan() {
    WorldPlan plan;
    plan.cpus = 2;
    plan.memory = Pages(1024);
    plan.memcgs.resize(4);
    plan.memcgs[0].name = "root";
    plan.memcgs[1].name = "parent";
    plan.memcgs[1].max = 32;
    plan.memcgs[2].name = "a";
    plan.memcgs[3].name = "b";
    for (const int child : {2, 3}) {
      plan.memcgs[static_cast<size_t>(child)].parent = 1;
      plan.mms.push_back({.memcg = child, .size = Pages(256)});
    }
    return plan;
  }
  static std::unique_ptr<Session> Open(MachineKind machine) {
    const Kernel& kernel = support::KernelNamed("v4.0");
    return support::Open(kernel, machine, support::ConfigOf(kernel, Plan()));
  }
  static std::vector<Operations> FillStockOfB() { return {{}, {Fault(0, 1, 1)}}; }
  // The first fault asks for the drain; where the drain comes later, it fails. The others find the
  // drained pages.
  static std::vector<Operations> RunIntoTheLimit() { return {{Fault(0, 10, 0)}, {}}; }
};

// Expect the drain of CPU 1's stock to run on CPU 1 and outside any operation: no function of a
// fault is on the stack. Expect nobody else to write CPU 1's data, except for the flag that others
// set.
TEST_F(DrainTest, TracingDrainsARemoteStockOnItsCpuBetweenOperations) {
  auto session = Open(MachineKind::kTracing);
  support::Execute(*session, FillStockOfB());
  ASSERT_EQ(session->ReadLedger().memcgs[3].stock, 31);
  const auto events = support::EventsOf(*session, RunIntoTheLimit());
  int drains = 0;
  for (const TraceEvent& e : events) {
    if (e.type == TraceEvent::Type::kEnter && e.function == Fn::kDrainLocalStock && e.cpu == 1) {
      ++drains;
      EXPECT_EQ(e.depth, 1) << "inside another function";
    }
    if (e.type != TraceEvent::Type::kAccess || e.access.kind == AccessKind::kLoad) continue;
    const std::string field = session->arena().Describe(e.offset);
    if (absl::StartsWith(field, "cpu1.") && field != "cpu1.memcg_stock.flags") {
      EXPECT_EQ(e.cpu, 1) << field;
    }
  }
  EXPECT_EQ(drains, 1);
  EXPECT_EQ(session->ReadLedger().memcgs[3].stock, 0);
  EXPECT_EQ(session->ReadLedger().memcgs[2].held, 9);
}

// Expect FLUSHING_CACHED_CHARGE to go 0 -> 1 once, on the CPU that asks (which retries, but asks
// only once), and 1 -> 0 on the CPU that drains.
TEST_F(DrainTest, FlushFlagIsSetByWhoAsksAndClearedByWhoDrains) {
  auto session = Open(MachineKind::kTracing);
  support::Execute(*session, FillStockOfB());
  std::vector<std::vector<uint64_t>> changes;  // CPU, before, after
  for (const TraceEvent& e : support::EventsOf(*session, RunIntoTheLimit())) {
    if (e.type != TraceEvent::Type::kAccess || e.access.kind != AccessKind::kRmw) continue;
    if (session->arena().Describe(e.offset) != "cpu1.memcg_stock.flags") continue;
    changes.push_back({static_cast<uint64_t>(e.cpu), e.before, e.after});
  }
  const std::vector<std::vector<uint64_t>> expected = {{0, 0, 1}, {1, 1, 0}};
  EXPECT_EQ(changes, expected);
}

// The same on native: CPU 1 has no worker any more, so it is idle and CPU 0 acts for it.
// Expect the stock to be gone without a call of Drain(), and ten pages mapped: the first fault is
// not refused, because the drain is done when the charge is tried again.
TEST_F(DrainTest, NativeDrainsTheStockOfAnIdleCpuAtOnce) {
  auto session = Open(MachineKind::kNative);
  support::Execute(*session, FillStockOfB());
  ASSERT_EQ(session->ReadLedger().memcgs[3].stock, 31);
  const ExecResult result = support::Execute(*session, RunIntoTheLimit()[0]);
  EXPECT_EQ(result.Total().oom, 0);
  EXPECT_EQ(session->ReadLedger().memcgs[3].stock, 0);
  EXPECT_EQ(session->ReadLedger().memcgs[2].held, 10);
}

// Both CPUs run at the same time on the simulated machine.
// Expect no page to be lost, whoever drains whom.
TEST_F(DrainTest, SimulatedLosesNoPage) {
  auto session = Open(MachineKind::kSimulated);
  const ExecResult result =
      support::Execute(*session, std::vector<Operations>{{Fault(0, 30, 0)}, {Fault(0, 30, 1)}});
  EXPECT_EQ(result.sim->deadlock, "");
  session->Drain();
  const Ledger ledger = session->ReadLedger();
  EXPECT_LE(ledger.memcgs[1].memory, 32);
  EXPECT_EQ(ledger.memcgs[1].memory, ledger.memcgs[2].held + ledger.memcgs[3].held);
  EXPECT_GT(ledger.memcgs[1].memory, 0);
}

}  // namespace
}  // namespace memsim
