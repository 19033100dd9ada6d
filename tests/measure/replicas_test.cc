#include "memsim/session/replicas.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "memsim/internal/compiler.h"
#include "memsim/measure/configuration.h"
#include "memsim/measure/places.h"

namespace memsim {
namespace {

// Runs the configuration once, with the controller turned off half way if asked, and gives what is left.
Ledger Execute(const Configuration& configuration, bool flip) {
  auto runner = Runner::Open(configuration, MachineKind::kNative, {});
  EXPECT_TRUE(runner.ok()) << runner.status();
  EXPECT_TRUE((*runner)->Execute().status.ok());
  if (flip) {
    EXPECT_TRUE((*runner)->session().SetEnabled(false).ok());
    EXPECT_TRUE((*runner)->Execute().status.ok());
  }
  return (*runner)->session().ReadLedger();
}

Configuration Small(const std::string& kernel, const std::string& gate) {
  ConfigurationText text;
  text.kernel = kernel;
  text.gate = gate;
  text.memcg = "depth:2";
  text.faults = 300;
  const auto configuration = Resolve(text);
  EXPECT_TRUE(configuration.ok()) << configuration.status();
  return *configuration;
}

class ReplicasTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ReplicasOf(*AllKernels()[0]).empty()) GTEST_SKIP() << "this build has no replicas";
  }
};

// Sanitizer builds. Expect none, so that a comparison says so; all other builds at least 32 of each kernel.
TEST(ReplicasOfTest, AreThereOrNot) {
  for (const Kernel* kernel : AllKernels()) {
    if (MEMSIM_SANITIZED) {
      EXPECT_TRUE(ReplicasOf(*kernel).empty());
    }
    for (const Kernel* replica : ReplicasOf(*kernel)) EXPECT_EQ(replica->name, kernel->name);
  }
  const Kernel copy = *AllKernels()[0];
  EXPECT_TRUE(ReplicasOf(copy).empty());
}

// The openers of all replicas. Expect no two at one address, and most at offsets of their own in a page.
TEST_F(ReplicasTest, LieApart) {
  for (const Kernel* kernel : AllKernels()) {
    std::set<uintptr_t> addresses, offsets;
    for (const Kernel* replica : ReplicasOf(*kernel)) {
      const auto at = reinterpret_cast<uintptr_t>(replica->native);
      EXPECT_EQ(at % 16, 0u);
      addresses.insert(at);
      offsets.insert(at % 4096);
    }
    EXPECT_GE(addresses.size(), 32u) << kernel->name;
    EXPECT_GT(offsets.size(), addresses.size() / 2) << kernel->name;
    EXPECT_EQ(addresses.count(reinterpret_cast<uintptr_t>(kernel->native)), 0u);
  }
}

// Every replica with every gate, charged two levels deep. Expect the books of the kernel's own code.
TEST_F(ReplicasTest, DoTheSame) {
  for (const Kernel* kernel : AllKernels()) {
    for (const GateInfo& gate : kGates) {
      Configuration configuration = Small(std::string(kernel->name), std::string(gate.name));
      const Ledger own = Execute(configuration, false);
      for (const Kernel* replica : ReplicasOf(*kernel)) {
        configuration.kernel = replica;
        const Ledger ledger = Execute(configuration, false);
        ASSERT_EQ(ledger.memcgs.size(), own.memcgs.size());
        for (size_t i = 0; i < own.memcgs.size(); ++i) {
          EXPECT_EQ(ledger.memcgs[i].memory, own.memcgs[i].memory);
          EXPECT_EQ(ledger.memcgs[i].watermark, own.memcgs[i].watermark);
          EXPECT_EQ(ledger.memcgs[i].stock, own.memcgs[i].stock);
        }
        EXPECT_EQ(ledger.free_pages, own.free_pages);
      }
    }
  }
}

// A replica whose static keys are flipped. Expect every site of the process to be what its record says, and
// the keys of the kernel's own code and of the other replicas as they were.
TEST_F(ReplicasTest, HaveKeysOfTheirOwn) {
  Configuration configuration = Small("v4.4", "static_key");
  const Kernel& kernel = *configuration.kernel;
  Execute(configuration, false);
  ASSERT_TRUE(static_key_enabled(&internal::memory_cgrp_subsys_enabled_key));
  configuration.kernel = ReplicasOf(kernel)[7];
  const long flips = static_key::counters().flips;
  Execute(configuration, true);
  EXPECT_EQ(static_key::counters().flips - flips, static_key::mechanism().patched ? 1 : 0);
  EXPECT_TRUE(static_key_enabled(&internal::memory_cgrp_subsys_enabled_key));
  EXPECT_EQ(static_key::counters().rejected, 0);
  EXPECT_EQ(static_key::counters().stuck, 0);
}

// Three arms over two sweeps. Expect every replica once in each, the same number for all arms of a placement.
TEST_F(ReplicasTest, PlacementsTakeTurns) {
  const Configuration a = Small("v4.0", "flag"), b = Small("v4.4", "static_key");
  Places places({&a, &b, &a}, &ReplicasOf);
  ASSERT_EQ(static_cast<size_t>(places.replicas()), ReplicasOf(*a.kernel).size());
  EXPECT_EQ(places.one_place(), "");
  Random random(1);
  for (int sweep = 0; sweep < 2; ++sweep) {
    std::set<int> seen;
    for (int i = 0; i < places.replicas(); ++i) {
      int replica = -1;
      const auto arms = places.Next(random, &replica);
      seen.insert(replica);
      EXPECT_EQ(arms[0]->kernel, ReplicasOf(*a.kernel)[static_cast<size_t>(replica)]);
      EXPECT_EQ(arms[1]->kernel, ReplicasOf(*b.kernel)[static_cast<size_t>(replica)]);
      EXPECT_EQ(arms[2]->kernel, arms[0]->kernel);
    }
    EXPECT_EQ(seen.size(), static_cast<size_t>(places.replicas()));
  }
}

// A turned knob, a chosen replica, one that does not exist, a program without replicas. Expect one place
// and the reason, or the refusal.
TEST_F(ReplicasTest, OnePlaceSaysWhy) {
  Configuration a = Small("v4.0", "flag");
  EXPECT_EQ(Places({&a}, nullptr).one_place(), "this build has no replicas");
  Configuration turned = a;
  turned.batch = Pages(8);
  EXPECT_EQ(Places({&a, &turned}, &ReplicasOf).replicas(), 1);
  EXPECT_EQ(Places({&a, &turned}, &ReplicasOf).one_place(), "batch and order have no replicas");
  a.replica = 3;
  Places chosen({&a}, &ReplicasOf);
  EXPECT_EQ(chosen.one_place(), "replica= chose a place");
  Random random(1);
  int replica = 0;
  EXPECT_EQ(chosen.Next(random, &replica)[0]->kernel, ReplicasOf(*a.kernel)[2]);
  a.replica = static_cast<int>(ReplicasOf(*a.kernel).size()) + 1;
  EXPECT_FALSE(Places::Check(a, &ReplicasOf).ok());
  turned.replica = 1;
  EXPECT_FALSE(Places::Check(turned, &ReplicasOf).ok());
}

}  // namespace
}  // namespace memsim
