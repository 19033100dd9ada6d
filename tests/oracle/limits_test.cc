// Limits and reclaim: nothing is lost, nothing exceeds its limit, a refused charge leaves no trace.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/internal/compiler.h"
#include "tests/oracle/oracle.h"
#include "tests/support/session.h"

namespace memsim::oracle {
namespace {

struct MachineCase {
  absl::string_view name;
  MachineKind machine;
  int cpus;
  int operations;
  int rounds;
};

constexpr MachineCase kMachines[] = {
    {"native1", MachineKind::kNative, 1, 120, 4},
    {"native2", MachineKind::kNative, 2, 120, 4},
    {"tracing3", MachineKind::kTracing, 3, 50, 3},
    {"simulated2", MachineKind::kSimulated, 2, 60, 1},
    {"simulated64", MachineKind::kSimulated, 64, MEMSIM_SANITIZED ? 2 : 6, 1},
};

class LimitsTest : public testing::TestWithParam<std::tuple<const Kernel*, MachineCase>> {
 protected:
  const Kernel& kernel() const { return *std::get<0>(GetParam()); }
  const MachineCase& machine() const { return std::get<1>(GetParam()); }
  // Fibers are slow under sanitizers: a part of the cases is enough there for many CPUs.
  bool thin() const { return MEMSIM_SANITIZED && machine().cpus > 8; }
  bool simulated() const { return machine().machine == MachineKind::kSimulated; }

  // One sequence on CPU 0; the others do nothing.
  std::vector<Operations> OnCpu0(Operations operations) const {
    std::vector<Operations> per_cpu(static_cast<size_t>(machine().cpus));
    per_cpu[0] = std::move(operations);
    return per_cpu;
  }
};

// Every kind of limit somewhere in the tree, limits below limits included.
WorldPlan LimitedPlan(int cpus, int variant) {
  WorldPlan plan;
  plan.cpus = cpus;
  plan.zones = 1 + variant % 2;
  plan.memsw = variant % 4 != 3;
  plan.memcgs = {
      Memcg("root"),
      Memcg("a", 0, {.max = 500, .memsw_max = 500, .soft = 100, .thresholds = {50, 200, 480}}),
      Memcg("a/b", 1, {.max = 180, .high = 120}),
      Memcg("a/b/c", 2, {.max = 90, .memsw_max = 70, .thresholds = {10, 20}}),
      Memcg("a/d", 1, {.memsw_max = 200, .high = 0, .soft = 10}),
      Memcg("e", 0, {.high = 250, .thresholds = {100}}),
      Memcg("e/f", 5, {.max = 33}),
      Memcg("e/g", 5, {.max = 0})};
  for (int cpu = 0; cpu < cpus; ++cpu) {
    for (int i = 0; i < 3; ++i) {
      plan.mms.push_back({.memcg = (cpu + 3 * i) % 8, .size = Pages(520 + i)});
    }
  }
  plan.memory = Pages(1800 * cpus);
  return plan;
}

// Random operations over a tree with max, high, memsw, soft limits and thresholds, each CPU with
// its own address spaces and all CPUs in the same memcgs. Expect the laws of ExpectConsistent()
// after every round and every drain, faults and failures counted, and limits that were really hit.
TEST_P(LimitsTest, RandomOperationsStayWithinLimits) {
  const std::optional<Pages> batches[] = {std::nullopt, Pages(1), Pages(64)};
  int64_t refused = 0;
  for (int variant = 0; variant < 6; variant += thin() ? 3 : 1) {
    SCOPED_TRACE(absl::StrCat("variant ", variant));
    SessionConfig config = DefaultConfig(kernel(), LimitedPlan(machine().cpus, variant));
    config.batch = batches[variant % 3];
    config.seed = static_cast<uint64_t>(variant + 1);
    const auto session = Open(kernel(), machine().machine, config);
    ASSERT_NE(session, nullptr);
    const Pages batch = config.batch.value_or(kernel().batch);
    Random random(config.seed * 31);
    CpuResult total;
    for (int round = 0; round < machine().rounds; ++round) {
      SCOPED_TRACE(absl::StrCat("round ", round));
      std::vector<Operations> per_cpu;
      for (int cpu = 0; cpu < machine().cpus; ++cpu) {
        per_cpu.push_back(RandomOperations(random, config.plan, {3 * cpu, 3 * cpu + 1, 3 * cpu + 2},
                                           machine().operations));
      }
      Add(total, Execute(*session, per_cpu).Total());
      ExpectConsistent(config.plan, session->ReadLedger(),
                       {.batch = batch, .drained = false});
      session->Drain();
      const Ledger ledger = session->ReadLedger();
      ExpectConsistent(config.plan, ledger, {.batch = batch});
      ExpectFaultsCounted(ledger, total);
      if (HasFailure()) return;
    }
    const Ledger ledger = session->ReadLedger();
    refused += ledger.memcgs[1].failcnt + ledger.memcgs[2].failcnt + ledger.memcgs[3].failcnt;
    EXPECT_GT(ledger.memcgs[7].failcnt + total.oom, 0)
        << "nobody faulted in the memcg without room";
  }
  EXPECT_GT(refused, 0);
}

// Faults in a memcg that may hold nothing, the forbidding level being the memcg itself, its parent
// or its grandparent, by memory or by memory+swap, with neighbours that hold pages. Expect every
// fault to fail with OOM, and a ledger that differs only in counts of what happened: no charge at
// any level, no reference, no page, not even in a stock after the drain. The retries are the
// kernel's: one after the drain of all stocks, five more, one more failure with a whole batch
// before all of them.
TEST_P(LimitsTest, RefusedChargeLeavesNothingBehind) {
  constexpr int64_t kFaults = 20;
  constexpr int64_t kTries = 1 + 1 + 5;
  for (const int level : {1, 2, 3}) {
    if (thin() && level != 2) continue;
    for (const bool memsw : {false, true}) {
      for (const bool swap_account : {true, false}) {
        if (memsw && !swap_account) continue;
        SCOPED_TRACE(absl::StrCat("level ", level, memsw ? " memsw" : " memory"));
        WorldPlan plan;
        plan.cpus = machine().cpus;
        plan.memory = Pages(2000);
        plan.memsw = swap_account;
        plan.memcgs = {Memcg("root"), Memcg("a"), Memcg("a/b", 1), Memcg("a/b/c", 2),
                       Memcg("other")};
        MemcgSpec& limited = plan.memcgs[static_cast<size_t>(level)];
        (memsw ? limited.memsw_max : limited.max) = 0;
        plan.mms = {{.memcg = 3, .size = Pages(600)}, {.memcg = 4, .size = Pages(600)}};
        const SessionConfig config = DefaultConfig(kernel(), plan);

        const Operations before = {Fault(1, 0, 100)};
        Operations all = before;
        all.push_back(Fault(0, 0, kFaults));
        const auto undisturbed = Open(kernel(), machine().machine, config);
        const auto session = Open(kernel(), machine().machine, config);
        ASSERT_NE(undisturbed, nullptr);
        ASSERT_NE(session, nullptr);
        Execute(*undisturbed, OnCpu0(before));
        undisturbed->Drain();
        const ExecResult result = Execute(*session, OnCpu0(all));
        session->Drain();

        EXPECT_EQ(kFaults, result.Total().oom);
        Ledger want = undisturbed->ReadLedger();
        const Ledger have = session->ReadLedger();
        want.memcgs[3].events[kPgfault] += kFaults;
        LedgerRow& row = want.memcgs[static_cast<size_t>(level)];
        row.events[kMemcgOom] += kFaults;
        row.events[kMemcgMax] += kFaults * kTries;
        if (!memsw)
          row.failcnt += kFaults * (kTries + 1);  // failcnt of memory, the batch's included
        ExpectLedger(want, have);
      }
    }
  }
}

// One task faults in far more than its memcg may hold, then another memcg below the same limit
// does. Expect reclaim to make room for every page: no OOM, usage at most the limit at both levels,
// and the limit counted.
TEST_P(LimitsTest, ReclaimMakesRoom) {
  WorldPlan plan;
  plan.cpus = machine().cpus;
  plan.memory = Pages(4000);
  plan.memcgs = {Memcg("root"), Memcg("a", 0, {.max = 300}), Memcg("a/b", 1, {.max = 200}),
                 Memcg("a/c", 1)};
  plan.mms = {{.memcg = 2, .size = Pages(1000)}, {.memcg = 3, .size = Pages(1000)}};
  const SessionConfig config = DefaultConfig(kernel(), plan);
  const auto session = Open(kernel(), machine().machine, config);
  ASSERT_NE(session, nullptr);
  const ExecResult result = Execute(*session, OnCpu0({Fault(0, 0, 1000), Fault(1, 0, 1000)}));
  EXPECT_EQ(0, result.Total().oom);
  EXPECT_EQ(2000, result.Total().phase[static_cast<size_t>(Phase::kCharge)].pages);
  session->Drain();
  const Ledger ledger = session->ReadLedger();
  ExpectConsistent(plan, ledger, {});
  EXPECT_GT(ledger.memcgs[1].events[kMemcgMax], 0);
  EXPECT_GT(ledger.memcgs[2].events[kMemcgMax], 0);
  EXPECT_EQ(0, ledger.memcgs[3].events[kMemcgMax]) << "a/c has no limit of its own";
  EXPECT_GT(ledger.memcgs[1].memory, 200) << "reclaim takes what it needs, not everything";
}

// A memcg above its high limit. Expect no fault to fail, reclaim to be counted as HIGH, and usage
// to stay near the limit: each refill of 32 pages reclaims 32, so at most a batch, a cluster and an
// LRU batch more.
TEST_P(LimitsTest, HighReclaimsAndNeverRefuses) {
  WorldPlan plan;
  plan.cpus = machine().cpus;
  plan.memory = Pages(4000);
  plan.memcgs = {Memcg("root"), Memcg("a", 0, {.high = 150}), Memcg("a/b", 1)};
  plan.mms = {{.memcg = 2, .size = Pages(1500)}};
  const SessionConfig config = DefaultConfig(kernel(), plan);
  const auto session = Open(kernel(), machine().machine, config);
  ASSERT_NE(session, nullptr);
  const ExecResult result = Execute(*session, OnCpu0({Fault(0, 0, 1500)}));
  EXPECT_EQ(1500, result.Total().phase[static_cast<size_t>(Phase::kCharge)].pages);
  session->Drain();
  const Ledger ledger = session->ReadLedger();
  ExpectConsistent(plan, ledger, {});
  EXPECT_GT(ledger.memcgs[1].events[kMemcgHigh], 0);
  EXPECT_EQ(0, ledger.memcgs[2].events[kMemcgHigh]);
  EXPECT_LE(ledger.memcgs[1].memory, 150 + 32 + 32 + 14);
  EXPECT_EQ(0, ledger.memcgs[1].failcnt);
}

// Usage goes up through two thresholds and the soft limit and all the way down again, on one CPU.
// Expect two signals of each threshold (one per crossing; the rate limit only delays them), and the
// memcg in the soft-limit tree while it is above, not after it went below.
TEST_P(LimitsTest, ThresholdsAndSoftLimitFollowUsage) {
  WorldPlan plan;
  plan.cpus = machine().cpus;
  plan.memory = Pages(6000);
  plan.memcgs = {Memcg("root"), Memcg("a", 0, {.soft = 500, .thresholds = {100, 300}}),
                 Memcg("a/b", 1)};
  plan.mms = {{.memcg = 2, .size = Pages(4000)}};
  const SessionConfig config = DefaultConfig(kernel(), plan);
  const Operations up = {Fault(0, 0, 4000)};
  Operations down = {Unmap(0, 0, 4000)};
  // Below the limit, enough events for the next check of the tree.
  for (int i = 0; i < 12; ++i) {
    down.push_back(Fault(0, 0, 60));
    down.push_back(Unmap(0, 0, 60));
  }
  const auto session = Open(kernel(), machine().machine, config);
  ASSERT_NE(session, nullptr);
  Execute(*session, OnCpu0(up));
  EXPECT_TRUE(session->ReadLedger().memcgs[1].on_soft_tree);
  EXPECT_EQ(session->ReadLedger().memcgs[1].threshold_signals, (std::vector<int64_t>{1, 1}));
  Operations rest = down;
  if (simulated()) rest.insert(rest.begin(), up.begin(), up.end());
  Execute(*session, OnCpu0(rest));
  session->Drain();
  const Ledger ledger = session->ReadLedger();
  EXPECT_FALSE(ledger.memcgs[1].on_soft_tree);
  EXPECT_EQ(ledger.memcgs[1].threshold_signals, (std::vector<int64_t>{2, 2}));
  EXPECT_TRUE(ledger.memcgs[2].threshold_signals.empty());
  ExpectConsistent(plan, ledger, {});
}

// A limit smaller than what other CPUs keep in their stocks: CPU 1 leaves a stock behind, CPU 0
// then needs every page up to the limit. Expect the drain of all stocks to bring them back without
// an OOM, in the name of CPU 1, which is idle by then.
TEST(DrainTest, OtherCpusStocksAreGivenBack) {
  for (const Kernel* kernel : AllKernels()) {
    for (const MachineKind machine : {MachineKind::kNative, MachineKind::kTracing}) {
      SCOPED_TRACE(absl::StrCat(kernel->name, " on machine ", static_cast<int>(machine)));
      WorldPlan plan;
      plan.cpus = 2;
      plan.memory = Pages(2000);
      plan.memcgs = {Memcg("root"), Memcg("a", 0, {.max = 64}), Memcg("a/b", 1)};
      plan.mms = {{.memcg = 2, .size = Pages(600)}, {.memcg = 2, .size = Pages(600)}};
      const auto session = Open(*kernel, machine, DefaultConfig(*kernel, plan));
      ASSERT_NE(session, nullptr);
      Execute(*session, {{}, {Fault(1, 0, 1)}});
      EXPECT_EQ(31, session->ReadLedger().memcgs[2].stock);
      const ExecResult result = Execute(*session, {{Fault(0, 0, 600)}, {}});
      EXPECT_EQ(0, result.Total().oom);
      EXPECT_LE(session->ReadLedger().memcgs[2].stock, 31) << "CPU 1 gave its stock back";
      session->Drain();
      const Ledger ledger = session->ReadLedger();
      ExpectConsistent(plan, ledger, {});
      EXPECT_GT(ledger.memcgs[1].failcnt, 0);
    }
  }
}

std::string NameOf(const testing::TestParamInfo<LimitsTest::ParamType>& info) {
  return support::TestName(
      absl::StrCat(std::get<0>(info.param)->name, "_", std::get<1>(info.param).name));
}

INSTANTIATE_TEST_SUITE_P(AllKernels, LimitsTest,
                         testing::Combine(testing::ValuesIn(AllKernels().begin(),
                                                            AllKernels().end()),
                                          testing::ValuesIn(kMachines)),
                         NameOf);

}  // namespace
}  // namespace memsim::oracle
