// The simulated machine runs ahead where nobody can notice. These tests hold it to that: a finished run
// equals the strict order, in which every access waits for its turn, in every number that it reports; it is
// the same in every build; and it depends on nothing but configuration and seed.
//
// hashes.txt holds one line per kernel, workload and seed. Every build compares with it, so compilers,
// optimisation levels and sanitizers agree through it. MEMSIM_UPDATE_GOLDEN=1 rewrites it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/machine_model.h"
#include "tests/oracle/oracle.h"
#include "tests/support/session.h"
#include "tests/support/sim_result.h"

namespace memsim::oracle {
namespace {

constexpr uint64_t kSeeds[] = {1, 2, 3};

struct Workload {
  std::string name;
  WorldPlan plan;
  std::vector<Operations> per_cpu;
};

// How many CPUs run, and how much of a workload's length each of them does.
struct Scale {
  int cpus = 2;
  int64_t percent = 100;

  int64_t Of(int64_t n) const { return std::max<int64_t>(n * percent / 100, 1); }
};

WorldPlan Plan(const Scale& scale, std::vector<MemcgSpec> memcgs, const std::vector<int>& homes) {
  WorldPlan plan;
  plan.cpus = scale.cpus;
  plan.memory = Pages(800 * scale.cpus);
  plan.memcgs = std::move(memcgs);
  for (const int memcg : homes) plan.mms.push_back({.memcg = memcg, .size = Pages(530)});
  return plan;
}

// One address space for each CPU, in turn owned by a task of each of `memcgs`.
std::vector<int> OneEach(const Scale& scale, const std::vector<int>& memcgs) {
  std::vector<int> homes;
  for (size_t cpu = 0; cpu < static_cast<size_t>(scale.cpus); ++cpu) {
    homes.push_back(memcgs[cpu % memcgs.size()]);
  }
  return homes;
}

// All CPUs charge the same memcg from address spaces of their own.
Workload SharedMemcg(const Scale& scale) {
  Workload w = {"shared-memcg",
                Plan(scale, {Memcg("root"), Memcg("a"), Memcg("a/b", 1)}, OneEach(scale, {2})), {}};
  for (int cpu = 0; cpu < scale.cpus; ++cpu) {
    w.per_cpu.push_back({Fault(cpu, 0, scale.Of(70)), Unmap(cpu, 10, scale.Of(40)),
                         Fault(cpu, 0, scale.Of(60)), Exit(cpu)});
  }
  return w;
}

// All CPUs fault in and unmap the same addresses; some faults come second.
Workload SharedMm(const Scale& scale) {
  Workload w = {"shared-mm", Plan(scale, {Memcg("root"), Memcg("a"), Memcg("b")}, {1}), {}};
  for (int cpu = 0; cpu < scale.cpus; ++cpu) {
    const uint64_t at = static_cast<uint64_t>(cpu / 2) * 3;
    if (cpu % 2 == 0) {
      w.per_cpu.push_back({Fault(0, at, scale.Of(60)), Move(0, 2), Unmap(0, at + 5, scale.Of(30)),
                           Fault(0, at, scale.Of(60)), Exit(0)});
    } else {
      w.per_cpu.push_back({Fault(0, at + 20, scale.Of(60)), Unmap(0, at, scale.Of(50)),
                           Fault(0, at + 10, scale.Of(40)), Move(0, 1), Fault(0, at, scale.Of(20))});
    }
  }
  return w;
}

// All CPUs run into a common limit, so each drains the others' stocks through RunOn and reclaims the others'
// pages.
Workload CommonLimit(const Scale& scale) {
  const int64_t each = scale.Of(50);
  const int64_t max = each * scale.cpus;
  Workload w = {"common-limit",
                Plan(scale,
                     {Memcg("root"), Memcg("a", 0, {.max = max, .thresholds = {max * 4 / 10, max * 9 / 10}}),
                      Memcg("a/b", 1, {.high = max / 2}), Memcg("a/c", 1)},
                     OneEach(scale, {2, 3})),
                {}};
  for (int cpu = 0; cpu < scale.cpus; ++cpu) {
    w.per_cpu.push_back({Fault(cpu, 0, 3 * each), Unmap(cpu, 2 * static_cast<uint64_t>(each), each),
                         Fault(cpu, 0, each)});
  }
  return w;
}

// A limit that the stocks alone nearly fill, and never enough pages for the LRU lists: reclaim finds nothing,
// so whoever needs room asks the other CPUs for their stocks, again and again, while they use them.
Workload DrainedStocks(const Scale& scale) {
  std::vector<int> homes;
  for (int cpu = 0; cpu < scale.cpus; ++cpu) {
    homes.push_back(2 + cpu % 2);
    homes.push_back(3 - cpu % 2);
  }
  Workload w = {"drained-stocks",
                Plan(scale,
                     {Memcg("root"), Memcg("a", 0, {.max = 25 * scale.cpus}), Memcg("a/b", 1),
                      Memcg("a/c", 1)},
                     homes),
                {}};
  for (int cpu = 0; cpu < scale.cpus; ++cpu) {
    w.per_cpu.emplace_back();
    for (int i = 0; i < scale.Of(40); ++i) {
      const int mm = 2 * cpu + i % 2;
      w.per_cpu.back().push_back(Fault(mm, 0, 4 + (i * 5 + cpu) % 9));
      w.per_cpu.back().push_back(Unmap(mm, 0, 14));
    }
  }
  return w;
}

// Each CPU runs into a limit of its own, far from the others: they meet only in reclaim.
Workload OwnLimits(const Scale& scale) {
  std::vector<MemcgSpec> memcgs = {Memcg("root"), Memcg("a")};
  std::vector<int> homes;
  for (int cpu = 0; cpu < scale.cpus; ++cpu) {
    const int own = static_cast<int>(memcgs.size());
    const std::string name = absl::StrCat("a/", cpu);
    memcgs.push_back(Memcg(name, 1, {.max = scale.Of(60 - 15 * (cpu % 2))}));
    memcgs.push_back(Memcg(name + "/c", own));
    memcgs.push_back(Memcg(name + "/d", own));
    homes.push_back(own + 1);
    homes.push_back(own + 2);
  }
  Workload w = {"own-limits", Plan(scale, std::move(memcgs), homes), {}};
  for (int cpu = 0; cpu < scale.cpus; ++cpu) {
    const int mm = 2 * cpu;
    w.per_cpu.push_back({Fault(mm, 0, scale.Of(50)), Fault(mm + 1, 0, scale.Of(80)),
                         Fault(mm, 50, scale.Of(80)), Fault(mm + 1, 0, scale.Of(80)), Exit(mm)});
  }
  return w;
}

// Everything at random, limits and soft limits included.
Workload Churn(const Scale& scale) {
  Workload w = {
      "churn",
      Plan(scale,
           {Memcg("root"), Memcg("a", 0, {.max = 300, .soft = 20, .thresholds = {10, 100}}),
            Memcg("a/b", 1, {.max = 80}), Memcg("a/c", 1, {.high = 90}), Memcg("d", 0, {.max = 0})},
           {1, 2, 3, 4}),
      {}};
  Random random(99);
  for (int cpu = 0; cpu < scale.cpus; ++cpu) {
    w.per_cpu.push_back(
        RandomOperations(random, w.plan, {0, 1, 2, 3}, static_cast<int>(scale.Of(30))));
  }
  return w;
}

std::vector<Workload> Workloads(const Scale& scale) {
  return {SharedMemcg(scale), SharedMm(scale),  CommonLimit(scale),
          DrainedStocks(scale), OwnLimits(scale), Churn(scale)};
}
const std::vector<Workload>& Workloads() {
  static const auto* const kAll = new std::vector<Workload>(Workloads(Scale()));
  return *kAll;
}

// A machine, how many of its CPUs run, and what is observed.
struct MachineCase {
  std::string name;
  std::string file;
  Scale scale;
  RestKind rest = RestKind::kNone;
  SimOptions options = {};
  // Timer interrupts every 20 us, the pair of a line fetched as well, stores that are not forwarded.
  bool everything_on = false;
};

// All threads of a small machine with one memory that eight page clears fill; 64 CPUs of one socket, of two
// with some siblings, and of four.
std::vector<MachineCase> MachineCases() {
  SimOptions detail;
  detail.line_detail = true;
  detail.sample_period = 3'000'000;
  SimOptions nmi = detail;
  nmi.sampler = SamplerKind::kNmi;
  SimOptions muted;
  muted.muted = FnSet{}.With(Fn::kTryCharge).With(Fn::kPageCounterTryCharge).With(Fn::kZapPteRange);
  return {{"i7x8", "i7-3770", {8, 30}, RestKind::kFault, detail},
          {"wide64", "wide-1024", {64, 6}, RestKind::kFault, nmi},
          {"wide64clear", "wide-1024", {64, 6}, RestKind::kClear},
          {"twosockets64", "xeon-8176-2s", {64, 6}, RestKind::kFault, detail, true},
          {"foursockets64", "xeon-4s-144", {64, 6}, RestKind::kNone, muted}};
}

std::shared_ptr<const MachineModel> ModelOf(const MachineCase& machine) {
  absl::StatusOr<MachineModel> model = LoadMachineModel(machine.file);
  MEMSIM_CHECK(model.ok(), "a test names a machine file of the tree");
  if (machine.everything_on) {
    model->timer_period = 20'000'000;
    model->adjacent_line = true;
    model->store_forward = 4000;
  }
  return std::make_shared<const MachineModel>(*std::move(model));
}

struct Outcome {
  ExecResult exec;
  Ledger ledger;
};

// `config` has the machine, and what is observed on it.
Outcome Simulate(const Kernel& kernel, const Workload& workload, uint64_t seed, bool strict,
                 SessionConfig config = {}) {
  const SessionConfig of_kernel = DefaultConfig(kernel, workload.plan);
  config.plan = of_kernel.plan;
  config.gate = of_kernel.gate;
  config.config = of_kernel.config;
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

SessionConfig ConfigOf(const MachineCase& machine) {
  SessionConfig config;
  config.machine = ModelOf(machine);
  config.rest = machine.rest;
  config.sim = machine.options;
  return config;
}

// Expect both runs to be the same in all they report, and `ahead` to be no fallback.
void ExpectSameRun(const Outcome& strict, const Outcome& ahead) {
  EXPECT_FALSE(ahead.exec.sim->strict);
  EXPECT_TRUE(strict.exec.sim->strict);
  EXPECT_EQ(1, strict.exec.sim->runs);
  EXPECT_EQ("", ahead.exec.sim->deadlock);
  support::ExpectSame(*strict.exec.sim, *ahead.exec.sim);
  for (size_t cpu = 0; cpu < strict.exec.cpus.size(); ++cpu) {
    ExpectResult(strict.exec.cpus[cpu], ahead.exec.cpus[cpu]);
  }
  ExpectLedger(strict.ledger, ahead.ledger);
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

// Every number of the run goes into the second hash.
std::string DescribeAll(const SimResult& sim) {
  uint64_t latest = 0;
  for (const SimCpuTimes& cpu : sim.cpus) latest = std::max(latest, cpu.clock);
  return absl::StrCat(absl::Hex(sim.hash, absl::kZeroPad16), " ",
                      absl::Hex(support::HashOf(sim), absl::kZeroPad16), " ", latest, " ",
                      sim.accesses());
}

class OrderTest : public testing::TestWithParam<const Kernel*> {
 protected:
  static size_t kernel_number() {
    const auto all = AllKernels();
    return static_cast<size_t>(std::find(all.begin(), all.end(), GetParam()) - all.begin());
  }
};

// Two CPUs contend for a memcg, an address space, a limit, stocks and LRU locks. Expect the run that only
// waits where it must to equal the strict order in the hash of all accesses, clocks and values, in all
// attributed times, counts and lines, and in what the CPUs report; without falling back to it.
TEST_P(OrderTest, EqualsTheStrictOrder) {
  for (const Workload& workload : Workloads()) {
    for (const uint64_t seed : kSeeds) {
      if (MEMSIM_SANITIZED && seed > kSeeds[0]) break;  // fibers are slow there
      SCOPED_TRACE(absl::StrCat(workload.name, ", seed ", seed));
      ExpectSameRun(Simulate(*GetParam(), workload, seed, true),
                    Simulate(*GetParam(), workload, seed, false));
    }
  }
}

// The same with 8 and 64 CPUs: siblings, sockets, page clears that wait for memory, the stages of a fault,
// timer interrupts, samples, muted functions, lines in detail. Expect the strict order.
TEST_P(OrderTest, ManyCpusEqualTheStrictOrder) {
  int repeated = 0;
  size_t at = kernel_number();
  for (const MachineCase& machine : MachineCases()) {
    const SessionConfig config = ConfigOf(machine);
    for (const Workload& workload : Workloads(machine.scale)) {
      // Some of them, with each kernel others; sanitizers have time for less.
      if (MEMSIM_SANITIZED && (workload.name == "churn" || workload.name == "own-limits")) continue;
      if (++at % (MEMSIM_SANITIZED ? 7 : 4) != 0) continue;
      SCOPED_TRACE(absl::StrCat(machine.name, ", ", workload.name));
      const Outcome strict = Simulate(*GetParam(), workload, 5, true, config);
      const Outcome ahead = Simulate(*GetParam(), workload, 5, false, config);
      ExpectSameRun(strict, ahead);
      EXPECT_LT(ahead.exec.sim->turns, strict.exec.sim->turns);
      repeated += ahead.exec.sim->runs - 1;
    }
    ++at;
  }
  if (!MEMSIM_SANITIZED) {
    EXPECT_GT(repeated, 0) << "nothing was ever out of order";
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

// The same with 64 CPUs and everything observed. Expect two runs to agree in every number.
TEST_P(OrderTest, ManyCpusDependOnTheSeedAlone) {
  const MachineCase machine = MachineCases()[kernel_number() % 2 == 0 ? 3 : 1];
  const SessionConfig config = ConfigOf(machine);
  const Workload workload = CommonLimit(machine.scale);
  const Outcome first = Simulate(*GetParam(), workload, 1, false, config);
  const Outcome second = Simulate(*GetParam(), workload, 1, false, config);
  support::ExpectSame(*first.exec.sim, *second.exec.sim);
  EXPECT_EQ(first.exec.sim->runs, second.exec.sim->runs);
  EXPECT_EQ(first.exec.sim->turns, second.exec.sim->turns);
  ExpectLedger(first.ledger, second.ledger);
  EXPECT_NE(first.exec.sim->hash, Simulate(*GetParam(), workload, 2, false, config).exec.sim->hash);
}

// Expect the workloads to contain what their names promise; otherwise the tests above prove little.
TEST_P(OrderTest, WorkloadsContend) {
  const auto ledger_of = [&](const Workload& workload) {
    return Simulate(*GetParam(), workload, 1, false);
  };
  uint64_t transfers = 0;
  const Outcome shared = ledger_of(SharedMemcg({}));
  for (const LineReport& line : shared.exec.sim->lines) transfers += line.transfers;
  EXPECT_GT(transfers, 100u);
  EXPECT_GT(ledger_of(SharedMm({})).exec.Total().already_mapped, 0);
  EXPECT_GT(ledger_of(CommonLimit({})).ledger.memcgs[1].failcnt, 0);
  EXPECT_GT(ledger_of(DrainedStocks({})).ledger.memcgs[1].failcnt, 0);
  const Ledger own = ledger_of(OwnLimits({})).ledger;
  EXPECT_GT(own.memcgs[2].events[kMemcgMax], 0);
  EXPECT_GT(own.memcgs[5].events[kMemcgMax], 0);
  EXPECT_GT(ledger_of(Churn({})).exec.Total().oom, 0);
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

// Every kernel, workload and seed, and some with 8 and 64 CPUs. Expect the hashes, clocks and accesses of the
// file, whatever compiled this build. A difference between two builds is unspecified evaluation order,
// uninitialised data or a host address in a modelled value; a difference in all builds is a change of the
// model, to be accepted with MEMSIM_UPDATE_GOLDEN=1.
TEST(GoldenHashTest, SameInEveryBuild) {
  std::vector<std::string> lines = {
      "# kernel workload seed hash clocks accesses; of many CPUs: kernel workload machine hash, hash of all "
      "times, counts, samples and lines, latest clock, accesses; see order_test.cc"};
  for (const Kernel* kernel : AllKernels()) {
    for (const Workload& workload : Workloads()) {
      for (const uint64_t seed : kSeeds) {
        const Outcome run = Simulate(*kernel, workload, seed, false);
        lines.push_back(absl::StrCat(kernel->name, " ", workload.name, " ", seed, " ",
                                     Describe(*run.exec.sim)));
      }
    }
  }
  for (const char* name : {"v4.0", "v4.4"}) {
    for (const MachineCase& machine : MachineCases()) {
      if (machine.rest != RestKind::kFault) continue;
      for (const Workload& workload :
           {SharedMemcg(machine.scale), SharedMm(machine.scale), CommonLimit(machine.scale)}) {
        const Outcome run =
            Simulate(support::KernelNamed(name), workload, 1, false, ConfigOf(machine));
        lines.push_back(
            absl::StrCat(name, " ", workload.name, " ", machine.name, " ", DescribeAll(*run.exec.sim)));
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
