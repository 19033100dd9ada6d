// The models against the oracle: the same seeded random operations, and every number must agree.
#include "tests/oracle/oracle.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/internal/compiler.h"
#include "tests/support/session.h"

namespace memsim::oracle {
namespace {

struct MachineCase {
  absl::string_view name;
  MachineKind machine;
  int cpus;
  int operations;  // per CPU and round
  int rounds;      // Execute() and Drain(); simulated starts from a fresh world each time
};

constexpr MachineCase kMachines[] = {
    {"native1", MachineKind::kNative, 1, 60, 3},
    {"tracing2", MachineKind::kTracing, 2, 30, 2},
    {"tracing3", MachineKind::kTracing, 3, 30, 2},
    {"simulated2", MachineKind::kSimulated, 2, 24, 1},
    {"simulated64", MachineKind::kSimulated, 64, 4, 1},
};

// Four levels below root on one side, two on the other; every memcg but one has a task to begin
// with.
WorldPlan Plan(int cpus) {
  WorldPlan plan;
  plan.cpus = cpus;
  plan.memcgs = {Memcg("root"),       Memcg("a"), Memcg("a/b", 1), Memcg("a/b/c", 2),
                 Memcg("a/b/c/d", 3), Memcg("e"), Memcg("e/f", 5)};
  for (int cpu = 0; cpu < cpus; ++cpu) {
    for (int i = 0; i < 3; ++i) {
      plan.mms.push_back({.memcg = (2 * cpu + i) % 6, .size = Pages(560 + 10 * i)});
      plan.memory = plan.memory + plan.mms.back().size;
    }
  }
  // Free pages on another CPU's lists cannot be used: with a CPU's lists' worth to spare, no fault
  // finds the machine full.
  plan.memory = plan.memory + Pages(300 * cpus);
  return plan;
}

// What varies besides kernel and machine.
struct Variant {
  GateKind gate = GateKind::kFlag;
  bool on = true;
  bool memcg = true;  // CONFIG_MEMCG
  bool memsw = true;
  std::optional<Pages> batch = std::nullopt;

  std::string Name() const {
    return absl::StrCat("gate ", GateName(gate), on ? " on" : " off", memcg ? "" : ", MEMCG=n",
                        memsw ? "" : ", no memsw",
                        batch.has_value() ? absl::StrCat(", batch ", batch->n) : "");
  }
};

std::vector<Variant> Variants() {
  const std::optional<Pages> batches[] = {std::nullopt, Pages(1), Pages(32), Pages(64)};
  std::vector<Variant> variants;
  for (const GateInfo& gate : kGates) {
    for (const bool on : {true, false}) {
      for (const bool memsw : {true, false}) {
        for (const auto& batch : batches) {
          variants.push_back({.gate = gate.kind, .on = on, .memsw = memsw, .batch = batch});
        }
      }
    }
  }
  for (const bool memsw : {true, false}) variants.push_back({.memcg = false, .memsw = memsw});
  return variants;
}

class OracleTest : public testing::TestWithParam<std::tuple<const Kernel*, MachineCase>> {
 protected:
  const Kernel& kernel() const { return *std::get<0>(GetParam()); }
  const MachineCase& machine() const { return std::get<1>(GetParam()); }

  // CPU i works on mms 3i, 3i + 1 and 3i + 2 alone.
  std::vector<Operations> Round(Random& random, const WorldPlan& plan) const {
    std::vector<Operations> per_cpu;
    for (int cpu = 0; cpu < plan.cpus; ++cpu) {
      per_cpu.push_back(RandomOperations(random, plan, {3 * cpu, 3 * cpu + 1, 3 * cpu + 2},
                                         machine().operations));
    }
    return per_cpu;
  }

  void Compare(const SessionConfig& config, uint64_t seed) const {
    const bool charging = config.config.memcg && config.enabled;
    const auto session = Open(kernel(), machine().machine, config);
    ASSERT_NE(session, nullptr);
    Oracle oracle(config.plan, charging);
    Random random(seed);
    for (int round = 0; round < machine().rounds; ++round) {
      SCOPED_TRACE(absl::StrCat("round ", round));
      const std::vector<Operations> per_cpu = Round(random, config.plan);
      const ExecResult result = Execute(*session, per_cpu);
      for (size_t cpu = 0; cpu < per_cpu.size(); ++cpu) {
        SCOPED_TRACE(absl::StrCat("cpu ", cpu));
        ExpectResult(oracle.Run(per_cpu[cpu]), result.cpus[cpu]);
      }
      ExpectConsistent(
          config.plan, session->ReadLedger(),
          {.batch = config.batch.value_or(kernel().batch), .drained = false, .charging = charging});
      session->Drain();
      ExpectLedger(oracle.ledger(), session->ReadLedger());
      if (HasFailure()) return;
    }
  }
};

// Random map, fault, unmap, move and exit over seven memcgs on four levels, with each gate on and
// off, compiled out, with and without memsw, and with stocks of 1, 32 and 64 pages. Expect, before
// the drain, usage = pages held + pages in stocks at every level and stocks of less than a batch
// per CPU; after it, the oracle's numbers for every memcg, address space and CPU.
TEST_P(OracleTest, AgreesWithTheModel) {
  uint64_t seed = 0;
  for (const Variant& variant : Variants()) {
    // Observed machines are slow under sanitizers, and have nothing to race with. Many CPUs are slow
    // anywhere.
    const bool wide = machine().cpus > 8;
    const bool thin = MEMSIM_SANITIZED && machine().machine != MachineKind::kNative;
    if (seed % ((thin ? 3 : 1) * (wide ? 5 : 1)) != 0 && variant.memcg) {
      ++seed;
      continue;
    }
    if (machine().machine == MachineKind::kNative && !NativeHasGate(kernel(), variant.gate))
      continue;
    SCOPED_TRACE(variant.Name());
    SessionConfig config = DefaultConfig(kernel(), Plan(machine().cpus));
    config.gate = variant.gate;
    config.enabled = variant.on;
    config.config.memcg = variant.memcg;
    config.plan.memsw = variant.memsw;
    config.plan.zones = 1 + static_cast<int>(seed % 2);
    config.batch = variant.batch;
    config.seed = ++seed;
    ASSERT_NO_FATAL_FAILURE(Compare(config, seed));
    if (HasFailure()) return;
  }
}

// The kernel's order and the other one: charge before and after the page is marked up to date.
// Expect no difference to the oracle.
TEST_P(OracleTest, OrderOfTheChargeDoesNotMatter) {
  for (const bool charge_first : {false, true}) {
    SessionConfig config = DefaultConfig(kernel(), Plan(machine().cpus));
    config.charge_first = charge_first;
    Compare(config, 77);
  }
}

// Pages charged in one memcg, the owner moved twice, then everything unmapped. Expect the charge to
// stay where it was taken until the page goes, whoever owns the address space by then.
TEST_P(OracleTest, ChargeStaysAcrossMoves) {
  SessionConfig config = DefaultConfig(kernel(), Plan(machine().cpus));
  const std::vector<Operations> idle(static_cast<size_t>(machine().cpus));
  std::vector<Operations> per_cpu = idle;
  per_cpu[0] = {Move(0, 4),        Fault(0, 0, 100), Move(0, 6),
                Fault(0, 100, 50), Move(0, 0),       Fault(0, 150, 25)};
  {
    const auto session = Open(kernel(), machine().machine, config);
    ASSERT_NE(session, nullptr);
    Execute(*session, per_cpu);
    session->Drain();
    const Ledger ledger = session->ReadLedger();
    const int64_t held[] = {25, 0, 0, 0, 100, 0, 50};
    const int64_t usage[] = {150, 100, 100, 100, 100, 50, 50};  // root's own 25 are not charged
    for (size_t i = 0; i < 7; ++i) {
      EXPECT_EQ(held[i], ledger.memcgs[i].held) << ledger.memcgs[i].name;
      EXPECT_EQ(usage[i], ledger.memcgs[i].memory) << ledger.memcgs[i].name;
      EXPECT_EQ(i == 0 ? 0 : held[i], ledger.memcgs[i].references) << ledger.memcgs[i].name;
    }
  }
  per_cpu[0].push_back(Exit(0));
  const auto session = Open(kernel(), machine().machine, config);
  ASSERT_NE(session, nullptr);
  Execute(*session, per_cpu);
  session->Drain();
  for (const LedgerRow& row : session->ReadLedger().memcgs) {
    EXPECT_EQ(0, row.memory) << row.name;
    EXPECT_EQ(0, row.memsw) << row.name;
    EXPECT_EQ(0, row.held) << row.name;
    EXPECT_EQ(0, row.references) << row.name;
    EXPECT_EQ(0, row.rss) << row.name;
  }
}

// One CPU and fewer pages than the address spaces could map. Expect faults to fail exactly when
// every page is mapped, to be counted as PGFAULT all the same, and to charge nothing.
TEST(FullMachineTest, ChargesNothing) {
  for (const Kernel* kernel : AllKernels()) {
    for (const MachineKind machine :
         {MachineKind::kNative, MachineKind::kTracing, MachineKind::kSimulated}) {
      SCOPED_TRACE(absl::StrCat(kernel->name, " on machine ", static_cast<int>(machine)));
      SessionConfig config = DefaultConfig(*kernel, Plan(1));
      config.plan.memory = Pages(400);
      const auto session = Open(*kernel, machine, config);
      ASSERT_NE(session, nullptr);
      Oracle oracle(config.plan, true);
      Random random(5);
      Operations operations = {Fault(0, 0, 300), Fault(1, 0, 300), Move(1, 4), Fault(1, 0, 300)};
      const Operations more = RandomOperations(random, config.plan, {0, 1, 2}, 80);
      operations.insert(operations.end(), more.begin(), more.end());
      const ExecResult result = Execute(*session, {operations});
      ExpectResult(oracle.Run(operations), result.cpus[0]);
      EXPECT_GT(result.cpus[0].no_memory, 0);
      session->Drain();
      ExpectLedger(oracle.ledger(), session->ReadLedger());
    }
  }
}

// The gate is turned between phases, with every LRU batch drained. Expect a
// page charged while it was open to be uncharged once, however often the gate moved in between, and
// a page faulted in while it was closed never to be charged or uncharged.
void TurnBetweenPhases(const Kernel& kernel, MachineKind machine, GateKind gate) {
  SessionConfig config = DefaultConfig(kernel, Plan(2));
  config.gate = gate;
  const auto session = Open(kernel, machine, config);
  ASSERT_NE(session, nullptr);
  Oracle oracle(config.plan, true);
  const auto phase = [&](bool on, const Operations& operations) {
    EXPECT_TRUE(session->SetEnabled(on).ok());
    oracle.set_charging(on);
    const std::vector<Operations> per_cpu = {operations, {}};
    const ExecResult result = Execute(*session, per_cpu);
    ExpectResult(oracle.Run(operations), result.cpus[0]);
    session->Drain();
    ExpectLedger(oracle.ledger(), session->ReadLedger());
  };
  phase(true, {Move(0, 4), Fault(0, 0, 200), Fault(1, 0, 40)});
  phase(false, {Fault(1, 100, 300), Move(0, 2), Unmap(1, 150, 60)});
  phase(true, {Unmap(0, 0, 90), Fault(0, 300, 77)});
  phase(false, {Unmap(1, 100, 300), Fault(2, 0, 33), Exit(2)});
  phase(true, {Exit(0), Exit(1)});
  EXPECT_EQ(0, session->ReadLedger().memcgs[0].memory);
}

TEST(GateTest, TurnedBetweenPhases) {
  for (const Kernel* kernel : AllKernels()) {
    for (const MachineKind machine : {MachineKind::kNative, MachineKind::kTracing}) {
      for (const GateInfo& gate : kGates) {
        if (gate.kind == GateKind::kConstant) continue;  // cannot be turned
        if (machine == MachineKind::kNative && !NativeHasGate(*kernel, gate.kind)) continue;
        SCOPED_TRACE(absl::StrCat(kernel->name, ", gate ", gate.name));
        ASSERT_NO_FATAL_FAILURE(TurnBetweenPhases(*kernel, machine, gate.kind));
      }
    }
  }
}

std::string NameOf(const testing::TestParamInfo<OracleTest::ParamType>& info) {
  return support::TestName(
      absl::StrCat(std::get<0>(info.param)->name, "_", std::get<1>(info.param).name));
}

INSTANTIATE_TEST_SUITE_P(AllKernels, OracleTest,
                         testing::Combine(testing::ValuesIn(AllKernels().begin(),
                                                            AllKernels().end()),
                                          testing::ValuesIn(kMachines)),
                         NameOf);

}  // namespace
}  // namespace memsim::oracle
