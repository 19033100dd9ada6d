// The fault around the charge, seen through a session: what is left when a fault does not map a
// page.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/support/session.h"

namespace memsim {
namespace {

using support::Execute;
using support::Fault;
using support::Unmap;

class FaultPathTest : public ::testing::TestWithParam<std::tuple<const Kernel*, MachineKind>> {
 protected:
  std::unique_ptr<Session> Open(const WorldPlan& plan) {
    const Kernel& kernel = *std::get<0>(GetParam());
    return support::Open(kernel, std::get<1>(GetParam()), support::ConfigOf(kernel, plan));
  }
};
INSTANTIATE_TEST_SUITE_P(
    Kernels, FaultPathTest,
    ::testing::Combine(::testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                       ::testing::Values(MachineKind::kNative, MachineKind::kTracing)),
    [](const auto& param) {
      return absl::StrCat(
          support::TestName(std::get<0>(param.param)->name),
          std::get<1>(param.param) == MachineKind::kNative ? "_native" : "_tracing");
    });

// Ten pages are mapped when the same addresses fault again.
// Expect no page to be mapped twice, and the charges taken meanwhile to be given back: none stays.
TEST_P(FaultPathTest, SecondFaultOnAnAddressLeavesNothingCharged) {
  auto session = Open(support::ChainPlan(1));
  Execute(*session, {Fault(0, 10)});
  const ExecResult again = Execute(*session, {Fault(0, 10)});
  EXPECT_EQ(again.Total().already_mapped, 10);
  session->Drain();
  const Ledger ledger = session->ReadLedger();
  EXPECT_EQ(ledger.memcgs[1].memory, 10);
  EXPECT_EQ(ledger.memcgs[1].memsw, 10);
  EXPECT_EQ(ledger.memcgs[1].references, 10);
  EXPECT_EQ(ledger.mapped[0], 10);
}

// The machine has 40 pages and 50 are wanted.
// Expect ten faults to find no page; they are not charged, and the world is whole after the unmap.
TEST_P(FaultPathTest, FullMachineChargesNothing) {
  WorldPlan plan = support::ChainPlan(1);
  plan.memory = Pages(40);
  auto session = Open(plan);
  const ExecResult result = Execute(*session, {Fault(0, 50)});
  EXPECT_EQ(result.Total().no_memory, 10);
  session->Drain();
  EXPECT_EQ(session->ReadLedger().memcgs[1].memory, 40);
  EXPECT_EQ(session->ReadLedger().free_pages, 0);
  Execute(*session, {Unmap(0, 50)});
  session->Drain();
  EXPECT_EQ(session->ReadLedger().memcgs[1].memory, 0);
  EXPECT_EQ(session->ReadLedger().free_pages, 40);
}

// A memcg may have no page at all.
// Expect every fault to end in OOM, counted at the counter and in the events, with nothing mapped,
// charged or lost.
TEST_P(FaultPathTest, RefusedChargeLeavesNothingBehind) {
  WorldPlan plan = support::ChainPlan(1);
  plan.memcgs[1].max = 0;
  auto session = Open(plan);
  const ExecResult result = Execute(*session, {Fault(0, 3)});
  EXPECT_EQ(result.Total().oom, 3);
  session->Drain();
  const Ledger ledger = session->ReadLedger();
  EXPECT_EQ(ledger.memcgs[1].memory, 0);
  EXPECT_EQ(ledger.memcgs[1].memsw, 0);
  EXPECT_EQ(ledger.memcgs[1].references, 0);
  EXPECT_EQ(ledger.mapped[0], 0);
  EXPECT_EQ(ledger.free_pages, plan.memory.n);
  EXPECT_EQ(ledger.memcgs[1].events[kMemcgOom], 3);
  EXPECT_EQ(ledger.memcgs[1].events[kPgfault], 3);
  EXPECT_GT(ledger.memcgs[1].failcnt, 0);
}

// More than one gather batch of pages, over two page tables, with unmapped addresses among them.
// Expect exactly the mapped ones to be unmapped, and a page to be used again afterwards.
TEST_P(FaultPathTest, UnmapSkipsWhatIsNotMapped) {
  auto session = Open(support::ChainPlan(1));
  Execute(*session, {Fault(0, 300), Fault(400, 300)});
  const ExecResult result = Execute(*session, {Unmap(0, 1000)});
  EXPECT_EQ(result.Total().phase[static_cast<size_t>(Phase::kUncharge)].pages, 600);
  EXPECT_EQ(session->ReadLedger().mapped[0], 0);
  Execute(*session, {Fault(7, 1)});
  EXPECT_EQ(session->ReadLedger().mapped[0], 1);
}

}  // namespace
}  // namespace memsim
