// Real threads on shared memcgs and shared address spaces: whatever they do to each other, nothing
// is lost, nothing is negative, and everything is given back in the end. Meant for ThreadSanitizer
// too.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/internal/compiler.h"
#include "tests/oracle/oracle.h"
#include "tests/support/session.h"

namespace memsim::oracle {
namespace {

constexpr int kCpus = 4;  // more than the host may have
constexpr int kOperations = MEMSIM_SANITIZED ? 100 : 500;
constexpr int kRounds = 3;

// Six memcgs, three of them limited, and five address spaces for everybody; two page tables each.
WorldPlan Plan(bool limited, int64_t memory) {
  WorldPlan plan;
  plan.cpus = kCpus;
  plan.zones = 2;
  plan.memory = Pages(memory);
  plan.memcgs = {Memcg("root"),     Memcg("a"), Memcg("a/b", 1),
                 Memcg("a/b/c", 2), Memcg("d"), Memcg("e")};
  if (limited) {
    plan.memcgs = {Memcg("root"),
                   Memcg("a", 0, {.max = 600, .soft = 100, .thresholds = {50, 200, 500}}),
                   Memcg("a/b", 1, {.max = 300, .high = 200}),
                   Memcg("a/b/c", 2, {.memsw_max = 100}),
                   Memcg("d", 0, {.max = 0}),
                   Memcg("e", 0, {.high = 100, .thresholds = {60}})};
  }
  for (int i = 0; i < 5; ++i) plan.mms.push_back({.memcg = (i + 1) % 6, .size = Pages(700)});
  return plan;
}

class ChurnTest : public testing::TestWithParam<const Kernel*> {
 protected:
  const Kernel& kernel() const { return *GetParam(); }

  // All CPUs on all address spaces.
  static std::vector<Operations> Round(Random& random, const WorldPlan& plan) {
    std::vector<Operations> per_cpu;
    for (int cpu = 0; cpu < plan.cpus; ++cpu) {
      per_cpu.push_back(RandomOperations(random, plan, {0, 1, 2, 3, 4}, kOperations));
    }
    return per_cpu;
  }

  // Rounds of churn, each followed by a drain, and an end in which everybody exits. Between rounds
  // the laws must hold; what the CPUs report is added up in `total`.
  void Churn(Session& session, const SessionConfig& config, CpuResult& total) {
    const bool charging = config.enabled && config.config.memcg;
    const Pages batch = config.batch.value_or(kernel().batch);
    Random random(config.seed);
    for (int round = 0; round < kRounds; ++round) {
      SCOPED_TRACE(absl::StrCat("round ", round));
      Add(total, Execute(session, Round(random, config.plan)).Total());
      ExpectConsistent(
          config.plan, session.ReadLedger(),
          {.batch = batch, .drained = false, .shared_mms = true, .charging = charging});
      session.Drain();
      const Ledger ledger = session.ReadLedger();
      ExpectConsistent(config.plan, ledger, {.batch = batch, .charging = charging});
      if (charging) ExpectFaultsCounted(ledger, total);
      if (HasFailure()) return;
    }
    // All CPUs take everything away at once, each page once.
    const Operations exits = {Exit(0), Exit(1), Exit(2), Exit(3), Exit(4)};
    Add(total, Execute(session, std::vector<Operations>(kCpus, exits)).Total());
    session.Drain();
    ExpectEmpty(config.plan, session.ReadLedger());
  }
};

// Four threads map, fault, unmap, move and exit at random in the same address spaces, without
// limits. Expect collisions (addresses that somebody else mapped first), and balance at the end:
// what was mapped was unmapped.
TEST_P(ChurnTest, NothingIsLost) {
  for (const std::optional<Pages> batch : {std::optional<Pages>(), std::optional<Pages>(1)}) {
    SessionConfig config = DefaultConfig(kernel(), Plan(false, 5000));
    config.batch = batch;
    config.seed = 11;
    const auto session = Open(kernel(), MachineKind::kNative, config);
    ASSERT_NE(session, nullptr);
    CpuResult total;
    Churn(*session, config, total);
    EXPECT_GT(total.already_mapped, 0);
    EXPECT_EQ(0, total.oom);
    EXPECT_EQ(0, total.no_memory);
    EXPECT_EQ(total.phase[static_cast<size_t>(Phase::kCharge)].pages,
              total.phase[static_cast<size_t>(Phase::kUncharge)].pages);
  }
}

// The same with max, high, memsw and soft limits, thresholds, and a memcg without any room, so that
// threads reclaim each other's pages and drain each other's stocks, with and without memsw. Expect
// the laws of ExpectConsistent() after each round, failures counted, and an empty world at the end.
TEST_P(ChurnTest, LimitsAndReclaim) {
  for (const bool memsw : {true, false}) {
    SessionConfig config = DefaultConfig(kernel(), Plan(true, 5000));
    config.plan.memsw = memsw;
    config.seed = 12;
    const auto session = Open(kernel(), MachineKind::kNative, config);
    ASSERT_NE(session, nullptr);
    CpuResult total;
    Churn(*session, config, total);
    EXPECT_GT(total.oom, 0);
    const Ledger ledger = session->ReadLedger();
    EXPECT_GT(ledger.memcgs[1].failcnt + ledger.memcgs[2].failcnt + ledger.memcgs[4].failcnt, 0);
    EXPECT_GT(ledger.memcgs[2].events[kMemcgHigh] + ledger.memcgs[5].events[kMemcgHigh], 0);
  }
}

// Fewer pages than the address spaces could map. Expect faults that find no page, and no page lost.
TEST_P(ChurnTest, FullMachine) {
  SessionConfig config = DefaultConfig(kernel(), Plan(true, 700));
  config.seed = 13;
  const auto session = Open(kernel(), MachineKind::kNative, config);
  ASSERT_NE(session, nullptr);
  CpuResult total;
  Churn(*session, config, total);
  EXPECT_GT(total.no_memory, 0);
}

// The controller off at the gate, and compiled out. Expect no charge, reference or event of any
// kind, and every page free at the end.
TEST_P(ChurnTest, Off) {
  for (const bool memcg : {true, false}) {
    SessionConfig config = DefaultConfig(kernel(), Plan(true, 5000));
    config.enabled = false;
    config.config.memcg = memcg;
    config.seed = 14;
    const auto session = Open(kernel(), MachineKind::kNative, config);
    ASSERT_NE(session, nullptr);
    CpuResult total;
    Churn(*session, config, total);
    EXPECT_EQ(0, total.oom);
    for (const LedgerRow& row : session->ReadLedger().memcgs) {
      EXPECT_EQ(0, row.watermark) << row.name;
      EXPECT_EQ(0, row.failcnt) << row.name;
      for (const int64_t event : row.events) EXPECT_EQ(0, event) << row.name;
    }
  }
}

// Another thread keeps setting the gate to what it already is, while four threads run, for each
// gate that can be turned. Expect no effect: the word is written under the readers' eyes, the
// answer never changes. (For a gate that really turns, see live_flip_test.cc.)
TEST_P(ChurnTest, GateSetUnderTheReaders) {
  for (const GateInfo& gate : kGates) {
    if (gate.kind == GateKind::kConstant || !NativeHasGate(kernel(), gate.kind)) continue;
    for (const bool on : {true, false}) {
      SCOPED_TRACE(absl::StrCat("gate ", gate.name, on ? " on" : " off"));
      SessionConfig config = DefaultConfig(kernel(), Plan(true, 5000));
      config.gate = gate.kind;
      config.enabled = on;
      config.seed = 15;
      const auto session = Open(kernel(), MachineKind::kNative, config);
      ASSERT_NE(session, nullptr);
      std::atomic<bool> done{false};
      std::thread setter([&] {
        while (!done.load()) EXPECT_TRUE(session->SetEnabled(on).ok());
      });
      CpuResult total;
      Churn(*session, config, total);
      done.store(true);
      setter.join();
    }
  }
}

// Somebody stops the run from outside. Expect every CPU to end between two operations: the world is
// consistent, and goes on from where it is.
TEST_P(ChurnTest, StoppedFromOutside) {
  std::atomic<bool> stop{false};
  SessionConfig config = DefaultConfig(kernel(), Plan(true, 5000));
  config.stop = &stop;
  const auto session = Open(kernel(), MachineKind::kNative, config);
  ASSERT_NE(session, nullptr);
  std::vector<Operations> endless;
  Random random(16);
  for (Operations& operations : endless = Round(random, config.plan)) {
    const Operations once = operations;
    for (int i = 0; i < 200; ++i) operations.insert(operations.end(), once.begin(), once.end());
  }
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.store(true);
  });
  CpuResult total;
  const ExecResult result = Execute(*session, endless);
  stopper.join();
  EXPECT_TRUE(result.interrupted);
  Add(total, result.Total());
  session->Drain();
  ExpectConsistent(config.plan, session->ReadLedger(), {});
  ExpectFaultsCounted(session->ReadLedger(), total);
  stop.store(false);
  config.stop = nullptr;
  Churn(*session, config, total);
}

std::string NameOf(const testing::TestParamInfo<const Kernel*>& info) {
  return support::TestName(info.param->name);
}

INSTANTIATE_TEST_SUITE_P(AllKernels, ChurnTest,
                         testing::ValuesIn(AllKernels().begin(), AllKernels().end()), NameOf);

}  // namespace
}  // namespace memsim::oracle
