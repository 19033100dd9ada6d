// The switch is turned while pages are charged, between operations and under running threads: a page
// charged while it was on is uncharged exactly once, a page faulted in while it was off never is, and
// every page leaves the list that it was put on.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/native.h"
#include "tests/oracle/oracle.h"
#include "tests/support/session.h"
#include "tests/support/sim_result.h"

namespace memsim::oracle {
namespace {

// What the switch is set to before each operation, if anything.
using Flips = std::vector<std::optional<bool>>;

Flips RandomFlips(Random& random, size_t operations) {
  Flips flips(operations);
  for (auto& flip : flips) {
    if (random.Below(3) == 0) flip = random.Below(2) == 0;
  }
  return flips;
}

// The operations of one CPU, which turns the switch in between.
class FlippingStream final : public OperationStream {
 public:
  FlippingStream(Session& session, Operations operations, Flips flips)
      : session_(session), operations_(std::move(operations)), flips_(std::move(flips)) {}
  bool Next(Operation* op) override {
    if (next_ == operations_.size()) return false;
    if (flips_[next_].has_value()) {
      EXPECT_TRUE(session_.SetEnabled(*flips_[next_]).ok());
    }
    *op = operations_[next_++];
    return true;
  }
  void Reset() override { next_ = 0; }

 private:
  Session& session_;
  Operations operations_;
  Flips flips_;
  size_t next_ = 0;
};

ExecResult ExecuteWith(Session& session, const std::vector<Operations>& per_cpu,
                       const std::vector<Flips>& flips) {
  std::vector<std::unique_ptr<FlippingStream>> streams;
  std::vector<OperationStream*> pointers;
  for (size_t cpu = 0; cpu < per_cpu.size(); ++cpu) {
    streams.push_back(std::make_unique<FlippingStream>(session, per_cpu[cpu], flips[cpu]));
    pointers.push_back(streams.back().get());
  }
  return session.Execute(pointers);
}

// Six memcgs, three of them limited if so wanted, and five address spaces for everybody.
WorldPlan Plan(int cpus, bool limited) {
  WorldPlan plan;
  plan.cpus = cpus;
  plan.zones = 2;
  plan.memory = Pages(5000);
  plan.memcgs = {Memcg("root"),     Memcg("a"), Memcg("a/b", 1),
                 Memcg("a/b/c", 2), Memcg("d"), Memcg("e")};
  if (limited) {
    plan.memcgs[1] = Memcg("a", 0, {.max = 600, .soft = 100, .thresholds = {50, 200, 500}});
    plan.memcgs[2] = Memcg("a/b", 1, {.max = 300, .high = 200});
    plan.memcgs[3] = Memcg("a/b/c", 2, {.memsw_max = 100});
  }
  for (int i = 0; i < 5; ++i) plan.mms.push_back({.memcg = (i + 1) % 6, .size = Pages(700)});
  return plan;
}
const Operations kExits = {Exit(0), Exit(1), Exit(2), Exit(3), Exit(4)};

int64_t Events(const Ledger& ledger, MemcgEvent event) {
  int64_t sum = 0;
  for (const LedgerRow& row : ledger.memcgs) sum += row.events[event];
  return sum;
}

// What `total` says of faults bounds what the memcgs counted: the rest came while the switch was off.
void ExpectSomeFaultsCounted(const Ledger& ledger, const CpuResult& total) {
  const int64_t mapped = total.phase[static_cast<size_t>(Phase::kCharge)].pages;
  EXPECT_LE(Events(ledger, kPgfault), mapped + total.oom + total.no_memory + total.already_mapped);
  EXPECT_LE(Events(ledger, kPgpgin), mapped);
  EXPECT_LE(Events(ledger, kPgpgout), Events(ledger, kPgpgin));
  EXPECT_EQ(Events(ledger, kMemcgOom), total.oom);
}

// Gates that can be turned, on this machine.
std::vector<GateKind> Gates(const Kernel& kernel, MachineKind machine) {
  std::vector<GateKind> gates;
  for (const GateInfo& gate : kGates) {
    if (gate.kind == GateKind::kConstant) continue;
    if (machine == MachineKind::kNative && !NativeHasGate(kernel, gate.kind)) continue;
    gates.push_back(gate.kind);
  }
  return gates;
}

class LiveFlipTest : public testing::TestWithParam<std::tuple<const Kernel*, MachineKind>> {
 protected:
  const Kernel& kernel() const { return *std::get<0>(GetParam()); }
  MachineKind machine() const { return std::get<1>(GetParam()); }
  bool simulated() const { return machine() == MachineKind::kSimulated; }
  int rounds() const { return simulated() ? 1 : 3; }  // simulated: each in a fresh world

  SessionConfig ConfigWith(GateKind gate, bool enabled, WorldPlan plan) const {
    SessionConfig config = DefaultConfig(kernel(), std::move(plan));
    config.gate = gate;
    config.enabled = enabled;
    return config;
  }
};

// One CPU, and the switch turned between its operations at random, from a world that starts on and from
// one that starts off. Expect the oracle's numbers, in which who pays for a page is decided when it is
// faulted in and never again, and an empty world after everybody left.
TEST_P(LiveFlipTest, WhoPaysIsDecidedAtTheFault) {
  uint64_t seed = 100;
  for (const GateKind gate : Gates(kernel(), machine())) {
    for (const bool start : {true, false}) {
      SCOPED_TRACE(absl::StrCat("gate ", GateName(gate), ", starts ", start ? "on" : "off"));
      const SessionConfig config = ConfigWith(gate, start, Plan(1, false));
      const auto session = Open(kernel(), machine(), config);
      ASSERT_NE(session, nullptr);
      Oracle oracle(config.plan, start);
      Random random(++seed);
      const auto run = [&](const Operations& operations, const Flips& flips) {
        CpuResult expected;
        for (size_t i = 0; i < operations.size(); ++i) {
          if (flips[i].has_value()) oracle.set_charging(*flips[i]);
          Add(expected, oracle.Run({operations[i]}));
        }
        ExpectResult(expected, ExecuteWith(*session, {operations}, {flips}).cpus[0]);
        session->Drain();
        ExpectLedger(oracle.ledger(), session->ReadLedger());
      };
      for (int round = 0; round < rounds(); ++round) {
        SCOPED_TRACE(absl::StrCat("round ", round));
        const Operations operations = RandomOperations(random, config.plan, {0, 1, 2, 3, 4}, 80);
        run(operations, RandomFlips(random, operations.size()));
        if (HasFailure()) return;
      }
      const Ledger ledger = session->ReadLedger();
      EXPECT_GT(Events(ledger, kPgpgin), 0);
      int64_t mapped = 0;
      for (const int64_t pages : ledger.mapped) mapped += pages;
      int64_t held = 0;
      for (const LedgerRow& row : ledger.memcgs) held += row.held;
      EXPECT_GT(held, 0) << "no charged page is left to be unmapped";
      EXPECT_LT(held, mapped) << "no uncharged page is left to be unmapped";
      if (simulated()) continue;
      run(kExits, {std::nullopt, !start, std::nullopt, start, std::nullopt});
      ExpectEmpty(config.plan, session->ReadLedger());
    }
  }
}

// Several CPUs in the same address spaces, with and without limits, and each turns the switch between two
// of its operations: on simulated, the other is then anywhere in a fault, a reclaim or an unmap. Expect
// the laws of ExpectConsistent(), and an empty world after everybody left.
TEST_P(LiveFlipTest, UnderOtherCpus) {
  const int cpus = machine() == MachineKind::kTracing ? 3 : 2;
  uint64_t seed = 200;
  for (const GateKind gate : Gates(kernel(), machine())) {
    for (const bool limited : {false, true}) {
      SCOPED_TRACE(absl::StrCat("gate ", GateName(gate), limited ? ", limited" : ""));
      SessionConfig config = ConfigWith(gate, limited, Plan(cpus, limited));
      config.seed = ++seed;
      const auto session = Open(kernel(), machine(), config);
      ASSERT_NE(session, nullptr);
      Random random(seed);
      CpuResult total;
      for (int round = 0; round < rounds(); ++round) {
        SCOPED_TRACE(absl::StrCat("round ", round));
        std::vector<Operations> per_cpu;
        std::vector<Flips> flips;
        for (int cpu = 0; cpu < cpus; ++cpu) {
          per_cpu.push_back(RandomOperations(random, config.plan, {0, 1, 2, 3, 4}, 40));
          if (round + 1 == rounds()) {
            per_cpu.back().insert(per_cpu.back().end(), kExits.begin(), kExits.end());
          }
          flips.push_back(RandomFlips(random, per_cpu.back().size()));
        }
        Add(total, ExecuteWith(*session, per_cpu, flips).Total());
        session->Drain();
        const Ledger ledger = session->ReadLedger();
        ExpectConsistent(config.plan, ledger, {.batch = kernel().batch, .charging = false});
        ExpectSomeFaultsCounted(ledger, total);
        if (HasFailure()) return;
      }
      const Ledger ledger = session->ReadLedger();
      EXPECT_GT(Events(ledger, kPgpgin), 0);
      EXPECT_LT(Events(ledger, kPgpgin), total.phase[static_cast<size_t>(Phase::kCharge)].pages);
      // The last to leave may have faulted something in behind the other's exit.
      if (simulated()) continue;
      Add(total, Execute(*session, std::vector<Operations>(static_cast<size_t>(cpus), kExits)).Total());
      session->Drain();
      ExpectEmpty(config.plan, session->ReadLedger());
    }
  }
}

std::string NameOf(const testing::TestParamInfo<LiveFlipTest::ParamType>& info) {
  constexpr const char* kNames[] = {"native", "tracing", "simulated"};
  return support::TestName(absl::StrCat(std::get<0>(info.param)->name, "_",
                                        kNames[static_cast<size_t>(std::get<1>(info.param))]));
}

INSTANTIATE_TEST_SUITE_P(AllKernels, LiveFlipTest,
                         testing::Combine(testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                                          testing::Values(MachineKind::kNative, MachineKind::kTracing,
                                                          MachineKind::kSimulated)),
                         NameOf);

class KernelFlipTest : public testing::TestWithParam<const Kernel*> {
 protected:
  const Kernel& kernel() const { return *GetParam(); }
};

// The first time that the switch goes on, in simulated time, while the other CPU faults: with each
// seed at another point of a fault or of an LRU batch: up to 80 pages later, because who comes second waits
// for a batch of fresh pages first. Expect the pages that came before to belong to
// nobody, those that came after to be charged, and both to leave the list that they were put on: the world
// is empty after everybody left.
TEST_P(KernelFlipTest, FirstTimeOnInTheMiddle) {
  for (const GateKind gate : Gates(kernel(), MachineKind::kSimulated)) {
    int64_t charged = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(absl::StrCat("gate ", GateName(gate), ", seed ", seed));
      SessionConfig config = DefaultConfig(kernel(), Plan(2, false));
      config.gate = gate;
      config.enabled = false;
      config.seed = seed;
      config.plan.memory = Pages(400);
      config.plan.mms.resize(2);
      for (MmSpec& mm : config.plan.mms) mm.size = Pages(200);
      const auto session = Open(kernel(), MachineKind::kSimulated, config);
      ASSERT_NE(session, nullptr);
      const Operations faults = {Fault(0, 0, 40), Exit(0)};
      const Operations turns = {Fault(1, 0, static_cast<int64_t>(2 * seed)), Fault(1, 100, 40), Exit(1)};
      ExecuteWith(*session, {faults, turns},
                  {{std::nullopt, std::nullopt}, {std::nullopt, true, std::nullopt}});
      session->Drain();
      const Ledger ledger = session->ReadLedger();
      ExpectEmpty(config.plan, ledger);
      charged += ledger.memcgs[1].events[kPgpgin];  // of mm 0
      if (HasFailure()) return;
    }
    EXPECT_GT(charged, 0) << "the switch never came on under the other CPU";
    EXPECT_LT(charged, 40 * 40) << "the switch was always on";
  }
}

// A run in which the switch moves may have to be rehearsed on simulated, too. Expect every repetition to
// start from where the first one did: the strict order, which never repeats, gives the same hash, and the
// next call goes on with the setting that the last one left.
TEST_P(KernelFlipTest, RehearsalsStartFromTheSameSetting) {
  int repeated = 0;
  for (const bool start : {true, false}) {
    SCOPED_TRACE(start ? "starts on" : "starts off");
    const auto run = [&](bool strict) {
      SessionConfig config = DefaultConfig(kernel(), Plan(2, true));
      config.enabled = start;
      config.strict = strict;
      const auto session = Open(kernel(), MachineKind::kSimulated, config);
      Random random(31);
      std::vector<Operations> per_cpu;
      std::vector<Flips> flips;
      for (int cpu = 0; cpu < 2; ++cpu) {
        per_cpu.push_back(RandomOperations(random, config.plan, {0, 1}, 12));
        flips.emplace_back(12);
        flips.back()[6] = !start;
      }
      const SimResult first = *ExecuteWith(*session, per_cpu, flips).sim;
      if (!strict) repeated += first.runs - 1;
      const Operations fault = {Fault(0, 0, 5)};
      Execute(*session, {fault, {}});
      session->Drain();
      EXPECT_EQ(session->ReadLedger().memcgs[1].held, start ? 0 : 5);
      return first.hash;
    };
    const uint64_t loose = run(false);
    EXPECT_EQ(loose, run(true));
  }
  EXPECT_GT(repeated, 0);
}

// Six CPUs in the same address spaces, each of which turns the switch now and then, with every gate. Expect
// the run to equal the strict order: a CPU that ran ahead must not have asked a switch that moved before.
TEST_P(KernelFlipTest, FlipsEqualTheStrictOrder) {
  for (const GateKind gate : Gates(kernel(), MachineKind::kSimulated)) {
    for (uint64_t seed = 1; seed <= (MEMSIM_SANITIZED ? 1 : 5); ++seed) {
      SCOPED_TRACE(absl::StrCat("gate ", GateName(gate), ", seed ", seed));
      const auto run = [&](bool strict) {
        SessionConfig config = DefaultConfig(kernel(), Plan(6, seed % 2 == 0));
        config.gate = gate;
        config.strict = strict;
        config.seed = seed;
        const auto session = Open(kernel(), MachineKind::kSimulated, config);
        Random random(seed + 50);
        std::vector<Operations> per_cpu;
        std::vector<Flips> flips;
        for (int cpu = 0; cpu < 6; ++cpu) {
          per_cpu.push_back(RandomOperations(random, config.plan, {0, 1, 2, 3, 4}, 12));
          flips.push_back(RandomFlips(random, 12));
        }
        const ExecResult result = ExecuteWith(*session, per_cpu, flips);
        session->Drain();
        return std::make_pair(result.sim, session->ReadLedger());
      };
      const auto strict = run(true);
      const auto ahead = run(false);
      EXPECT_FALSE(ahead.first->strict);
      support::ExpectSame(*strict.first, *ahead.first);
      ExpectLedger(strict.second, ahead.second);
      if (HasFailure()) return;
    }
  }
}

// Four threads of churn on shared address spaces, more than the host may have CPUs, and a fifth that turns
// the switch ten thousand times. Expect the laws after every round, no page uncharged that was not
// charged, and an empty world at the end: no usage at any level, no reference, nothing on a list. (That no
// counter ever is negative on the way is checked by page_counter_uncharge() itself.)
TEST_P(KernelFlipTest, TenThousandTimesUnderRunningThreads) {
  constexpr int kCpus = 4;
  constexpr int kFlips = 10000;
  constexpr int kOperations = MEMSIM_SANITIZED ? 100 : 300;
  for (const GateKind gate : Gates(kernel(), MachineKind::kNative)) {
    for (const bool limited : {false, true}) {
      SCOPED_TRACE(absl::StrCat("gate ", GateName(gate), limited ? ", limited" : ""));
      SessionConfig config = DefaultConfig(kernel(), Plan(kCpus, limited));
      config.gate = gate;
      config.enabled = false;
      const auto session = Open(kernel(), MachineKind::kNative, config);
      ASSERT_NE(session, nullptr);
      std::atomic<bool> saw_both{false};  // pages that were charged, and pages that were not
      std::atomic<bool> done{false};
      std::thread flipper([&] {
        Random random(41);
        for (int i = 0; i < kFlips || (i < 10 * kFlips && !saw_both.load()); ++i) {
          const absl::Status turned = session->SetEnabled(i % 2 == 0);
          EXPECT_TRUE(turned.ok()) << turned;
          // From back to back up to some dozens of faults.
          const uint64_t until = native::NowNs() + random.Below(30'000);
          while (native::NowNs() < until) MEMSIM_BARRIER();
        }
        done.store(true);
      });
      Random random(42);
      CpuResult total;
      do {
        std::vector<Operations> per_cpu;
        for (int cpu = 0; cpu < kCpus; ++cpu) {
          per_cpu.push_back(RandomOperations(random, config.plan, {0, 1, 2, 3, 4}, kOperations));
        }
        Add(total, Execute(*session, per_cpu).Total());
        session->Drain();
        const Ledger ledger = session->ReadLedger();
        ExpectConsistent(config.plan, ledger, {.batch = kernel().batch, .charging = false});
        ExpectSomeFaultsCounted(ledger, total);
        const int64_t charged = Events(ledger, kPgpgin);
        const int64_t mapped = total.phase[static_cast<size_t>(Phase::kCharge)].pages;
        if ((charged > 0 && charged < mapped) || HasFailure()) saw_both.store(true);
      } while (!done.load() && !HasFailure());
      flipper.join();
      EXPECT_TRUE(saw_both.load());
      if (HasFailure()) return;
      Add(total, Execute(*session, std::vector<Operations>(kCpus, kExits)).Total());
      session->Drain();
      ExpectEmpty(config.plan, session->ReadLedger());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllKernels, KernelFlipTest,
                         testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                         [](const auto& param) { return support::TestName(param.param->name); });

}  // namespace
}  // namespace memsim::oracle
