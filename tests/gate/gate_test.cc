#include "memsim/gate/gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/native.h"
#include "memsim/machine/simulated.h"
#include "tests/support/session.h"
#include "tests/support/traced.h"

namespace memsim {
namespace {

template <class M>
class GateTest : public ::testing::Test {
 protected:
  CgroupSubsys<M> subsys_{};
};
struct MachineNames {
  template <class M>
  static std::string GetName(int) {
    return std::string(M::kName);
  }
};
using Machines = ::testing::Types<Native<BuildConfig{}>, Tracing, Simulated>;
TYPED_TEST_SUITE(GateTest, Machines, MachineNames);

// The controller goes on and off and on.
// Expect all gates that read memory to follow, as types and chosen at run time.
TYPED_TEST(GateTest, AllGatesAnswerAlike) {
  for (const bool on : {true, false, true}) {
    this->subsys_.SetEnabled(on);
    EXPECT_EQ(FlagGate().Open(this->subsys_), on);
    EXPECT_EQ(AtomicGate().Open(this->subsys_), on);
    EXPECT_EQ(IndirectGate().Open(this->subsys_), on);
    StaticKeySwitch keys(on);
    const StaticKeySwitch::Turn turn(keys);
    EXPECT_EQ(StaticKeyGate().Open(this->subsys_), on);
    for (const GateInfo& info : kGates) {
      RuntimeGate gate;
      gate.kind = info.kind;
      gate.constant_on = on;
      gate.static_key.on = on;
      EXPECT_EQ(gate.Open(this->subsys_), on) << info.name;
      EXPECT_TRUE(gate.compiled_in()) << info.name;
    }
  }
}

// The controller goes on and off and on, in a world that starts with it off.
// Expect the sticky question of every gate that reads memory to be answered "no" until it is first on, and
// "yes" from then on, as types and chosen at run time.
TYPED_TEST(GateTest, OnceOnTheStickyQuestionStaysOpen) {
  const auto expect = [&](bool ever) {
    EXPECT_EQ(FlagGate().OpenEver(this->subsys_), ever);
    EXPECT_EQ(AtomicGate().OpenEver(this->subsys_), ever);
    EXPECT_EQ(IndirectGate().OpenEver(this->subsys_), ever);
    for (const GateInfo& info : kGates) {
      if (info.kind == GateKind::kConstant) continue;
      RuntimeGate gate;
      gate.kind = info.kind;
      gate.static_key.ever = ever;
      EXPECT_EQ(gate.OpenEver(this->subsys_), ever) << info.name;
    }
  };
  expect(false);
  this->subsys_.SetEnabled(false);
  expect(false);
  for (const bool on : {true, false, true, false}) {
    this->subsys_.SetEnabled(on);
    expect(true);
  }
}

// The constant gate, and CONFIG_MEMCG=n.
// Expect both to answer whatever the words in memory say; only the latter says it is not there.
TYPED_TEST(GateTest, ConstantGateDoesNotFollow) {
  for (const bool on : {true, false}) {
    this->subsys_.SetEnabled(on);
    EXPECT_TRUE(ConstantGate<true>().Open(this->subsys_));
    EXPECT_FALSE(ConstantGate<false>().Open(this->subsys_));
    EXPECT_FALSE(CompiledOut().Open(this->subsys_));
    EXPECT_TRUE(ConstantGate<true>().OpenEver(this->subsys_));
    EXPECT_FALSE(ConstantGate<false>().OpenEver(this->subsys_));
    EXPECT_FALSE(CompiledOut().OpenEver(this->subsys_));
  }
  EXPECT_TRUE(ConstantGate<false>::compiled_in());
  EXPECT_FALSE(CompiledOut::compiled_in());
}

// Two worlds' switches take turns, and one is turned in its turn.
// Expect the gate to answer for the world whose turn it is; once on, the sticky question stays open for it.
TEST(StaticKeySwitchTest, AnswersForTheWorldWhoseTurnItIs) {
  CgroupSubsys<Native<BuildConfig{}>> subsys{};
  const StaticKeyGate gate;
  StaticKeySwitch on(true), off(false);
  for (int round = 0; round < 2; ++round) {
    {
      const StaticKeySwitch::Turn turn(on);
      ASSERT_TRUE(turn.status().ok()) << turn.status();
      EXPECT_TRUE(gate.Open(subsys) && gate.OpenEver(subsys));
    }
    const StaticKeySwitch::Turn turn(off);
    EXPECT_FALSE(gate.Open(subsys));
    EXPECT_EQ(gate.OpenEver(subsys), round > 0);
    ASSERT_TRUE(on.Set(true).ok());  // not its turn: nothing is patched
    EXPECT_FALSE(gate.Open(subsys));
    ASSERT_TRUE(off.Set(true).ok());
    EXPECT_TRUE(gate.Open(subsys) && gate.OpenEver(subsys));
    ASSERT_TRUE(off.Set(false).ok());
    EXPECT_FALSE(gate.Open(subsys));
    EXPECT_TRUE(gate.OpenEver(subsys));
  }
}

class GateCostTest : public support::TracedTest {};

// One question of each kind to each gate.
// Expect each to count as one gate, to read at most its one word, and to change nothing; and both questions
// to cost the same.
TEST_F(GateCostTest, AGateReadsAtMostItsOneWord) {
  auto& subsys = *new (arena_.base() + arena_.Reserve(sizeof(CgroupSubsys<Tracing>), 64))
                     CgroupSubsys<Tracing>;
  subsys.SetEnabled(true);
  for (const GateInfo& info : kGates) {
    RuntimeGate gate;
    gate.kind = info.kind;
    const Counts counts = Count([&] { EXPECT_TRUE(gate.Open(subsys)); });
    EXPECT_EQ(counts.gates, 1u) << info.name;
    const bool reads = info.kind != GateKind::kConstant && info.kind != GateKind::kStaticKey;
    EXPECT_EQ(counts.loads, reads ? 1u : 0u) << info.name;
    EXPECT_EQ(counts.stores, 0u) << info.name;
    EXPECT_EQ(counts.rmw, 0u) << info.name;
    const Counts ever = Count([&] { EXPECT_TRUE(gate.OpenEver(subsys)); });
    EXPECT_EQ(ever.gates, counts.gates) << info.name;
    EXPECT_EQ(ever.instructions, counts.instructions) << info.name;
    EXPECT_EQ(ever.loads, counts.loads) << info.name;
    EXPECT_EQ(ever.stores, 0u) << info.name;
    EXPECT_EQ(ever.rmw, 0u) << info.name;
  }
}

// The controller goes on, off and on again.
// Expect the words of the sticky question to be stored before those of the switch, whoever reads them in
// between, and to be left alone when it goes off.
TEST_F(GateCostTest, TheStickyWordIsSetBeforeTheSwitch) {
  auto& subsys = *new (arena_.base() + arena_.Reserve(sizeof(CgroupSubsys<Tracing>), 64))
                     CgroupSubsys<Tracing>;
  const auto stored = [&](bool on) {
    std::string order;
    for (const TraceEvent& event : Record([&] { subsys.SetEnabled(on); })) {
      const void* word = event.access.address;
      const bool sticky =
          word == &subsys.never_enabled || word == &subsys.ever_enabled || word == &subsys.ever_answer;
      order += sticky ? 'e' : 's';
    }
    return order;
  };
  EXPECT_EQ(stored(true), "eeesss");
  EXPECT_EQ(stored(false), "sss");
  EXPECT_EQ(stored(true), "eeesss");
}

// Expect the names to be those that FindGate() understands, and a wrong one to be answered with
// them.
TEST(GateNamesTest, NamesAreFoundAndAWrongOneIsAnsweredWithThem) {
  for (const GateInfo& info : kGates) {
    EXPECT_EQ(*FindGate(info.name), info.kind);
    EXPECT_EQ(GateName(info.kind), info.name);
  }
  const auto wrong = FindGate("flagg");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.status().message(), "no gate 'flagg'; valid: constant, flag, atomic, static_key, indirect");
}

// kernel x machine, all gates
class GateSessionTest : public ::testing::TestWithParam<std::tuple<const Kernel*, MachineKind>> {
 protected:
  const Kernel& kernel() const { return *std::get<0>(GetParam()); }
  MachineKind machine() const { return std::get<1>(GetParam()); }
  bool Has(GateKind gate) const {
    return machine() != MachineKind::kNative || NativeHasGate(kernel(), gate);
  }
  std::unique_ptr<Session> OpenWith(GateKind gate, bool enabled) const {
    SessionConfig config = support::ConfigOf(kernel(), support::ChainPlan(2));
    config.gate = gate;
    config.enabled = enabled;
    return support::Open(kernel(), machine(), config);
  }
  // Everything of a ledger that the controller writes.
  static std::string Text(const Ledger& ledger) {
    std::string text;
    for (const LedgerRow& row : ledger.memcgs) {
      absl::StrAppend(&text, row.name, " memory ", row.memory, " memsw ", row.memsw, " held ",
                      row.held, " lru ", row.lru, " references ", row.references, " rss ", row.rss,
                      " stock ", row.stock, "\n");
    }
    return text;
  }
};
INSTANTIATE_TEST_SUITE_P(
    Kernels, GateSessionTest,
    ::testing::Combine(::testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                       ::testing::Values(MachineKind::kNative, MachineKind::kTracing)),
    [](const auto& param) {
      return absl::StrCat(
          support::TestName(std::get<0>(param.param)->name),
          std::get<1>(param.param) == MachineKind::kNative ? "_native" : "_tracing");
    });

// The same faults and unmaps with every gate, enabled and disabled.
// Expect the same ledger: enabled, the pages are charged; disabled, no counter moves.
TEST_P(GateSessionTest, EveryGateGivesTheSameLedger) {
  for (const bool enabled : {true, false}) {
    std::string first;
    for (const GateInfo& info : kGates) {
      if (!Has(info.kind)) continue;
      auto session = OpenWith(info.kind, enabled);
      support::Execute(*session, {support::Fault(0, 600), support::Unmap(100, 300)});
      session->Drain();
      const Ledger ledger = session->ReadLedger();
      EXPECT_EQ(ledger.memcgs[2].memory, enabled ? 300 : 0) << info.name;
      EXPECT_EQ(ledger.mapped[0], 300) << info.name;
      if (first.empty()) first = Text(ledger);
      EXPECT_EQ(Text(ledger), first) << info.name;
    }
  }
}

// Gates that read memory, turned off and on again between two runs.
// Expect pages faulted in while it is off to belong to nobody and to stay so: their unmap uncharges
// nothing.
TEST_P(GateSessionTest, SetEnabledTurnsEveryReadingGate) {
  for (const GateInfo& info : kGates) {
    if (info.kind == GateKind::kConstant || !Has(info.kind)) continue;
    auto session = OpenWith(info.kind, true);
    support::Execute(*session, {support::Fault(0, 100)});
    EXPECT_TRUE(session->SetEnabled(false).ok());
    support::Execute(*session, {support::Fault(100, 50)});
    EXPECT_TRUE(session->SetEnabled(true).ok());
    session->Drain();
    EXPECT_EQ(session->ReadLedger().memcgs[2].memory, 100) << info.name;
    EXPECT_EQ(session->ReadLedger().mapped[0], 150) << info.name;
    support::Execute(*session, {support::Unmap(0, 150)});
    session->Drain();
    EXPECT_EQ(session->ReadLedger().memcgs[2].memory, 0) << info.name;
  }
}

}  // namespace
}  // namespace memsim
