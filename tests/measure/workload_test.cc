#include "memsim/workload/workload.h"

#include <vector>

#include "gtest/gtest.h"
#include "memsim/measure/configuration.h"

namespace memsim {
namespace {

std::vector<Operation> All(OperationStream& stream) {
  std::vector<Operation> all;
  for (Operation op; stream.Next(&op);) all.push_back(op);
  return all;
}

int64_t Asked(const std::vector<Operation>& ops) {
  int64_t pages = 0;
  for (const Operation& op : ops) pages += op.kind == OpKind::kFault ? op.pages.n : 0;
  return pages;
}

// pft with 1000 faults over a region of 400. Expect three passes, charge and uncharge under clocks of
// their own, and never more mapped than the region.
TEST(SweepTest, PftTimesChargeAndUnchargeApart) {
  Workload pft = *LoadWorkload("pft");
  pft.faults = Pages(1000);
  pft.region = Pages(400);
  auto prepared = *Prepare(pft, {}, 1, 1);
  const std::vector<Operation> ops = All(*prepared.streams[0]);
  ASSERT_EQ(ops.size(), 6u);
  EXPECT_EQ(Asked(ops), 1000);
  for (const Operation& op : ops) {
    EXPECT_EQ(op.phase, op.kind == OpKind::kFault ? Phase::kCharge : Phase::kUncharge);
    EXPECT_LE(op.pages.n, 400);
  }
}

// page_fault1: the unmap is part of the rate. Expect one clock for both.
TEST(SweepTest, PageFault1UnmapsInsideTheRate) {
  const Workload workload = *LoadWorkload("page_fault1");
  EXPECT_EQ(workload.region, Pages(32768));  // 128 MiB per task
  auto prepared = *Prepare(workload, {}, 1, 1);
  for (const Operation& op : All(*prepared.streams[0])) EXPECT_EQ(op.phase, Phase::kCharge);
}

// Three workers. Expect a slice each and all faults shared out.
TEST(SweepTest, WorkersShareTheFaults) {
  Workload pft = *LoadWorkload("pft");
  pft.faults = Pages(3000);
  auto prepared = *Prepare(pft, {.enabled = true, .depth = 2}, 3, 1);
  ASSERT_EQ(prepared.streams.size(), 3u);
  EXPECT_EQ(prepared.plan.memcgs.size(), 3u);  // root and a chain of two
  EXPECT_EQ(prepared.plan.memcgs[2].parent, 1);
  int64_t asked = 0;
  for (auto& stream : prepared.streams) asked += Asked(All(*stream));
  EXPECT_EQ(asked, 3000);
}

// churn twice from one seed, once from another, and after Reset(). Expect the same, another, the same.
TEST(ChurnTest, IsTheSameForTheSameSeed) {
  Workload churn = *LoadWorkload("churn");
  churn.faults = Pages(2000);
  const auto ops = [&](uint64_t seed) {
    auto prepared = *Prepare(churn, {.enabled = true, .depth = 1}, 1, seed);
    std::vector<uint64_t> flat;
    for (const Operation& op : All(*prepared.streams[0])) {
      flat.insert(flat.end(), {static_cast<uint64_t>(op.kind), op.vpn, static_cast<uint64_t>(op.mm),
                               static_cast<uint64_t>(op.pages.n), static_cast<uint64_t>(op.memcg)});
    }
    return flat;
  };
  EXPECT_EQ(ops(5), ops(5));
  EXPECT_NE(ops(5), ops(6));
  auto prepared = *Prepare(churn, {.enabled = true, .depth = 1}, 1, 5);
  const size_t first = All(*prepared.streams[0]).size();
  prepared.Reset();
  EXPECT_EQ(All(*prepared.streams[0]).size(), first);
}

// Every workload on every machine. Expect all pages given back at the end.
TEST(WorkloadTest, LeavesNothingBehindOnAnyMachine) {
  const auto workloads = AllWorkloads();
  ASSERT_TRUE(workloads.ok()) << workloads.status();
  for (const Workload& workload : *workloads) {
    for (const MachineInfo& machine : kMachines) {
      ConfigurationText text;
      text.workload = workload.name;
      text.faults = 3000;
      text.region = 500;
      text.threads = 2;
      text.memcg = "depth:2";
      auto runner = Runner::Open(*Resolve(text), machine.kind, {});
      ASSERT_TRUE(runner.ok()) << runner.status();
      (*runner)->Execute();
      (*runner)->session().Drain();
      const Ledger ledger = (*runner)->session().ReadLedger();
      for (const LedgerRow& row : ledger.memcgs) {
        EXPECT_EQ(row.memory, 0) << workload.name << " " << machine.name << " " << row.name;
        EXPECT_EQ(row.references, 0) << workload.name << " " << machine.name << " " << row.name;
      }
      EXPECT_EQ(ledger.free_pages, (*runner)->plan().memory.n);
    }
  }
}

}  // namespace
}  // namespace memsim
