// The thin simulated machine runs ahead where nobody can notice. These tests hold it to that: a
// finished run equals the strict order, in which every access waits for its turn, bit for bit; it
// is the same in every build; and it depends on nothing but configuration and seed.
//
// hashes.txt holds one line per kernel, workload and seed. Every build compares with it, so
// compilers, optimisation levels and sanitizers agree through it. MEMSIM_UPDATE_GOLDEN=1 rewrites
// it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "memsim/internal/compiler.h"
#include "tests/oracle/oracle.h"

namespace memsim::oracle {
namespace {

constexpr uint64_t kSeeds[] = {1, 2, 3};

struct Workload {
  std::string name;
  WorldPlan plan;
  std::vector<Operations> per_cpu;
};

WorldPlan Plan(std::vector<MemcgSpec> memcgs, std::vector<int> homes) {
  WorldPlan plan;
  plan.cpus = 2;
  plan.memory = Pages(1600);
  plan.memcgs = std::move(memcgs);
  for (const int memcg : homes) plan.mms.push_back({.memcg = memcg, .size = Pages(530)});
  return plan;
}

// Both CPUs charge the same memcg from address spaces of their own.
Workload SharedMemcg() {
  Workload w = {"shared-memcg", Plan({Memcg("root"), Memcg("a"), Memcg("a/b", 1)}, {2, 2}), {}};
  for (int cpu = 0; cpu < 2; ++cpu) {
    w.per_cpu.push_back({Fault(cpu, 0, 70), Unmap(cpu, 10, 40), Fault(cpu, 0, 60), Exit(cpu)});
  }
  return w;
}

// Both CPUs fault in and unmap the same addresses; some faults come second.
Workload SharedMm() {
  Workload w = {"shared-mm", Plan({Memcg("root"), Memcg("a"), Memcg("b")}, {1}), {}};
  w.per_cpu.push_back({Fault(0, 0, 60), Move(0, 2), Unmap(0, 5, 30), Fault(0, 0, 60), Exit(0)});
  w.per_cpu.push_back(
      {Fault(0, 20, 60), Unmap(0, 0, 50), Fault(0, 10, 40), Move(0, 1), Fault(0, 0, 20)});
  return w;
}

// Both CPUs run into a common limit, so each drains the other's stock through RunOn and reclaims
// the other's pages.
Workload CommonLimit() {
  Workload w = {"common-limit",
                Plan({Memcg("root"), Memcg("a", 0, {.max = 100, .thresholds = {40, 90}}),
                      Memcg("a/b", 1, {.high = 50}), Memcg("a/c", 1)},
                     {2, 3}),
                {}};
  for (int cpu = 0; cpu < 2; ++cpu) {
    w.per_cpu.push_back({Fault(cpu, 0, 150), Unmap(cpu, 100, 50), Fault(cpu, 0, 60)});
  }
  return w;
}

// A limit that two stocks alone nearly fill, and never enough pages for the LRU lists: reclaim
// finds nothing, so whoever needs room asks the other CPU for its stock, again and again, while
// that CPU uses it.
Workload DrainedStocks() {
  Workload w = {"drained-stocks",
                Plan({Memcg("root"), Memcg("a", 0, {.max = 50}), Memcg("a/b", 1), Memcg("a/c", 1)},
                     {2, 3, 3, 2}),
                {}};
  for (int cpu = 0; cpu < 2; ++cpu) {
    w.per_cpu.emplace_back();
    for (int i = 0; i < 40; ++i) {
      const int mm = 2 * cpu + i % 2;
      w.per_cpu.back().push_back(Fault(mm, 0, 4 + (i * 5 + cpu) % 9));
      w.per_cpu.back().push_back(Unmap(mm, 0, 14));
    }
  }
  return w;
}

// Each CPU runs into a limit of its own, far from the other: they meet only in reclaim.
Workload OwnLimits() {
  Workload w = {
      "own-limits",
      Plan({Memcg("root"), Memcg("a"), Memcg("a/b", 1, {.max = 60}), Memcg("a/b/c", 2),
            Memcg("a/b/d", 2), Memcg("e", 0, {.max = 45}), Memcg("e/f", 5), Memcg("e/g", 5)},
           {3, 4, 6, 7}),
      {}};
  for (int cpu = 0; cpu < 2; ++cpu) {
    const int mm = 2 * cpu;
    w.per_cpu.push_back({Fault(mm, 0, 50), Fault(mm + 1, 0, 80), Fault(mm, 50, 80),
                         Fault(mm + 1, 0, 80), Exit(mm)});
  }
  return w;
}

// Everything at random, limits and soft limits included.
Workload Churn() {
  Workload w = {
      "churn",
      Plan({Memcg("root"), Memcg("a", 0, {.max = 300, .soft = 20, .thresholds = {10, 100}}),
            Memcg("a/b", 1, {.max = 80}), Memcg("a/c", 1, {.high = 90}), Memcg("d", 0, {.max = 0})},
           {1, 2, 3, 4}),
      {}};
  Random random(99);
  for (int cpu = 0; cpu < 2; ++cpu) {
    w.per_cpu.push_back(RandomOperations(random, w.plan, {0, 1, 2, 3}, 30));
  }
  return w;
}

const std::vector<Workload>& Workloads() {
  static const auto* const kAll = new std::vector<Workload>{
      SharedMemcg(), SharedMm(), CommonLimit(), DrainedStocks(), OwnLimits(), Churn()};
  return *kAll;
}

struct Outcome {
  ExecResult exec;
  Ledger ledger;
};

Outcome Simulate(const Kernel& kernel, const Workload& workload, uint64_t seed, bool strict) {
  SessionConfig config = DefaultConfig(kernel, workload.plan);
  config.seed = seed;
  config.strict = strict;
  const auto session = Open(kernel, MachineKind::kSimulated, config);
  if (session == nullptr) return {};
  Outcome run = {.exec = Execute(*session, workload.per_cpu), .ledger = {}};
  EXPECT_NE(run.exec.sim, nullptr);
  session->Drain();
  run.ledger = session->ReadLedger();
  ExpectConsistent(workload.plan, run.ledger, {});
  ExpectFaultsCounted(run.ledger, run.exec.Total());
  return run;
}

std::string Describe(const SimResult& sim) {
  std::vector<uint64_t> clocks, accesses;
  for (const SimCpuTimes& cpu : sim.cpus) {
    clocks.push_back(cpu.clock);
    accesses.push_back(cpu.accesses);
  }
  return absl::StrCat(absl::Hex(sim.hash, absl::kZeroPad16), " ", absl::StrJoin(clocks, ","), " ",
                      absl::StrJoin(accesses, ","));
}

class OrderTest : public testing::TestWithParam<const Kernel*> {};

// Two CPUs contend for a memcg, an address space, a limit, stocks and LRU locks. Expect the run
// that only waits where it must to equal the strict order in the hash of all accesses, clocks and
// values, in each CPU's clock and number of accesses, and in what the CPUs report; without falling
// back to it.
TEST_P(OrderTest, EqualsTheStrictOrder) {
  for (const Workload& workload : Workloads()) {
    for (const uint64_t seed : kSeeds) {
      if (MEMSIM_SANITIZED && seed > kSeeds[0]) break;  // fibers are slow there
      SCOPED_TRACE(absl::StrCat(workload.name, ", seed ", seed));
      const Outcome ahead = Simulate(*GetParam(), workload, seed, false);
      const Outcome strict = Simulate(*GetParam(), workload, seed, true);
      EXPECT_FALSE(ahead.exec.sim->strict);
      EXPECT_TRUE(strict.exec.sim->strict);
      EXPECT_EQ(1, strict.exec.sim->runs);
      EXPECT_EQ(Describe(*strict.exec.sim), Describe(*ahead.exec.sim));
      for (size_t cpu = 0; cpu < 2; ++cpu) {
        ExpectResult(strict.exec.cpus[cpu], ahead.exec.cpus[cpu]);
      }
      ExpectLedger(strict.ledger, ahead.ledger);
      EXPECT_EQ("", ahead.exec.sim->deadlock);
    }
  }
}

// The same run again, in another session, and twice in one. Expect the same hash: neither the
// host's addresses nor what ran before leaves a trace. Another seed: another hash.
TEST_P(OrderTest, DependsOnTheSeedAlone) {
  for (const Workload& workload : Workloads()) {
    SCOPED_TRACE(workload.name);
    const Outcome first = Simulate(*GetParam(), workload, kSeeds[0], false);
    const Outcome second = Simulate(*GetParam(), workload, kSeeds[0], false);
    const Outcome other = Simulate(*GetParam(), workload, kSeeds[1], false);
    EXPECT_EQ(Describe(*first.exec.sim), Describe(*second.exec.sim));
    EXPECT_NE(first.exec.sim->hash, other.exec.sim->hash);

    SessionConfig config = DefaultConfig(*GetParam(), workload.plan);
    config.seed = kSeeds[0];
    const auto session = Open(*GetParam(), MachineKind::kSimulated, config);
    ASSERT_NE(session, nullptr);
    const ExecResult once = Execute(*session, workload.per_cpu);
    const ExecResult again = Execute(*session, workload.per_cpu);
    EXPECT_EQ(Describe(*once.sim), Describe(*again.sim));
  }
}

// Expect the workloads to contain what their names promise; otherwise the tests above prove little.
TEST_P(OrderTest, WorkloadsContend) {
  const auto ledger_of = [&](const Workload& workload) {
    return Simulate(*GetParam(), workload, 1, false);
  };
  EXPECT_GT(ledger_of(SharedMemcg()).exec.sim->ordered_lines, 0u);
  EXPECT_GT(ledger_of(SharedMm()).exec.Total().already_mapped, 0);
  EXPECT_GT(ledger_of(CommonLimit()).ledger.memcgs[1].failcnt, 0);
  EXPECT_GT(ledger_of(DrainedStocks()).ledger.memcgs[1].failcnt, 0);
  const Ledger own = ledger_of(OwnLimits()).ledger;
  EXPECT_GT(own.memcgs[2].events[kMemcgMax], 0);
  EXPECT_GT(own.memcgs[5].events[kMemcgMax], 0);
  EXPECT_GT(ledger_of(Churn()).exec.Total().oom, 0);
}

std::string TestName(const testing::TestParamInfo<const Kernel*>& info) {
  std::string name(info.param->name);
  for (char& c : name) {
    if (c == '.' || c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(AllKernels, OrderTest,
                         testing::ValuesIn(AllKernels().begin(), AllKernels().end()), TestName);

// Every kernel, workload and seed. Expect the hash, clocks and accesses of the file, whatever
// compiled this build. A difference between two builds is unspecified evaluation order,
// uninitialised data or a host address in a modelled value; a difference in all builds is a change
// of the model, to be accepted with MEMSIM_UPDATE_GOLDEN=1.
TEST(GoldenHashTest, SameInEveryBuild) {
  std::vector<std::string> lines = {
      "# kernel workload seed hash clocks accesses; see order_test.cc"};
  for (const Kernel* kernel : AllKernels()) {
    for (const Workload& workload : Workloads()) {
      for (const uint64_t seed : kSeeds) {
        const Outcome run = Simulate(*kernel, workload, seed, false);
        lines.push_back(absl::StrCat(kernel->name, " ", workload.name, " ", seed, " ",
                                     Describe(*run.exec.sim)));
      }
    }
  }
  if (std::getenv("MEMSIM_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(MEMSIM_SIMULATED_HASHES);
    for (const std::string& line : lines) file << line << "\n";
    ASSERT_TRUE(file.good());
  }
  std::ifstream file(MEMSIM_SIMULATED_HASHES);
  ASSERT_TRUE(file.is_open()) << MEMSIM_SIMULATED_HASHES;
  std::vector<std::string> golden;
  for (std::string line; std::getline(file, line);) golden.push_back(line);
  ASSERT_EQ(golden.size(), lines.size()) << "MEMSIM_UPDATE_GOLDEN=1 rewrites the file";
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(golden[i], lines[i]);
}

}  // namespace
}  // namespace memsim::oracle
