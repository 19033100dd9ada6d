// Tracing and simulated execute the same steps: what one counts, the other counts, for every part and
// function. The machines differ in time alone, so time must not reach the path.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/machine_model.h"
#include "tests/oracle/oracle.h"
#include "tests/support/session.h"
#include "tests/support/sim_result.h"

namespace memsim::oracle {
namespace {

TraceCounts CountsOnTracing(const Kernel& kernel, const SessionConfig& config,
                            const std::vector<Operations>& per_cpu) {
  const auto session = Open(kernel, MachineKind::kTracing, config);
  session->trace()->ResetCounts();
  Execute(*session, per_cpu);
  return session->trace()->counts();
}

TraceCounts CountsOnSimulated(const Kernel& kernel, const SessionConfig& config,
                              const std::vector<Operations>& per_cpu) {
  const auto session = Open(kernel, MachineKind::kSimulated, config);
  const ExecResult result = Execute(*session, per_cpu);
  EXPECT_EQ("", result.sim->deadlock);
  return result.sim->counts;
}

uint64_t Instructions(const TraceCounts& counts) {
  uint64_t sum = 0;
  for (const auto& part : counts.by_function) {
    for (const Counts& function : part) sum += function.instructions;
  }
  return sum;
}

// Where the tasks live, and whether the controller is on.
struct Home {
  absl::string_view name;
  bool in_root;
  bool enabled;
};
constexpr Home kHomes[] = {{"root", true, true}, {"child", false, true}, {"disabled", false, false}};

// A memcg of its own and two levels deep for every CPU, and two address spaces in it.
WorldPlan Plan(int cpus, bool in_root) {
  WorldPlan plan;
  plan.cpus = cpus;
  plan.memory = Pages(1500 * cpus);
  plan.memcgs = {Memcg("root")};
  for (int cpu = 0; cpu < cpus; ++cpu) {
    const std::string name = absl::StrCat("cpu", cpu);
    plan.memcgs.push_back(Memcg(name, 0, {.soft = 100, .thresholds = {20, 200}}));
    plan.memcgs.push_back(Memcg(name + "/b", 1 + 2 * cpu));
    for (int i = 0; i < 2; ++i) {
      plan.mms.push_back({.memcg = in_root ? 0 : 2 + 2 * cpu, .size = Pages(600), .home = cpu});
    }
  }
  return plan;
}

// More than a gather batch, a page table, an LRU batch and a stock; some faults find the page mapped.
Operations Work(int cpu, bool in_root) {
  const int mm = 2 * cpu;
  const int parent = in_root ? 0 : 1 + 2 * cpu;
  return {Fault(mm, 0, 90),       Fault(mm + 1, 0, 40), Unmap(mm, 10, 50), Move(mm, parent),
          Fault(mm, 0, 300),      Unmap(mm, 0, 33),     Fault(mm + 1, 500, 100), Exit(mm),
          Fault(mm, 505, 20),     Exit(mm + 1)};
}

class CountsTest : public testing::TestWithParam<const Kernel*> {
 protected:
  const Kernel& kernel() const { return *GetParam(); }
};

// One CPU charges, uncharges, moves and exits, in root, in a child and with the controller off, with every
// gate. Expect tracing and simulated to agree in every count of every function and part.
TEST_P(CountsTest, OneCpuCountsTheSameOnTracingAndSimulated) {
  for (const GateInfo& gate : kGates) {
    for (const Home& home : kHomes) {
      SCOPED_TRACE(absl::StrCat("gate ", gate.name, ", ", home.name));
      SessionConfig config = DefaultConfig(kernel(), Plan(1, home.in_root));
      config.gate = gate.kind;
      config.enabled = home.enabled;
      const std::vector<Operations> work = {Work(0, home.in_root)};
      const TraceCounts traced = CountsOnTracing(kernel(), config, work);
      support::ExpectSame(traced, CountsOnSimulated(kernel(), config, work));
      EXPECT_GT(Instructions(traced), 10000u);
    }
  }
}

// The same with random operations and with limits, so that reclaim and drains run.
TEST_P(CountsTest, OneCpuAtItsLimitsCountsTheSame) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    SessionConfig config = DefaultConfig(kernel(), Plan(1, false));
    config.plan.memcgs[1].max = 120;
    config.plan.memcgs[2].high = 60;
    Random random(seed);
    const std::vector<Operations> work = {RandomOperations(random, config.plan, {0, 1}, 60)};
    const TraceCounts traced = CountsOnTracing(kernel(), config, work);
    support::ExpectSame(traced, CountsOnSimulated(kernel(), config, work));
    EXPECT_GT(traced.of(Part::kCharge, Fn::kReclaim).calls, 0u);
  }
}

// Every stage of a fault, page clears, siblings and timer interrupts take time. Expect no effect on what the
// path does.
TEST_P(CountsTest, TheRestOfTheFaultDoesNotCount) {
  SessionConfig config = DefaultConfig(kernel(), Plan(1, false));
  const std::vector<Operations> work = {Work(0, false)};
  const TraceCounts traced = CountsOnTracing(kernel(), config, work);
  config.rest = RestKind::kFault;
  absl::StatusOr<MachineModel> model = LoadMachineModel("i7-3770");
  ASSERT_TRUE(model.ok()) << model.status();
  model->timer_period = 20'000'000;
  config.machine = std::make_shared<const MachineModel>(*std::move(model));
  support::ExpectSame(traced, CountsOnSimulated(kernel(), config, work));
}

// Leaves out the stores of watermarks: who finds root's lower than what he charged depends on who came first.
void ForgetWatermarks(TraceCounts& counts) {
  for (auto& part : counts.by_function) {
    Counts& charge = part[static_cast<size_t>(Fn::kPageCounterTryCharge)];
    charge.instructions -= charge.stores;
    charge.stores = 0;
  }
}

// Several CPUs, each with address spaces and a memcg of its own, so that they meet in root's counters alone:
// no CPU frees so many pages that another could get them from the zone. Expect the same sums.
TEST_P(CountsTest, CpusThatDoNotInteractCountTheSame) {
  for (const int cpus : {2, 8, 64}) {
    for (const Home& home : kHomes) {
      if (cpus > 8 && (MEMSIM_SANITIZED || home.in_root || !home.enabled)) continue;
      SCOPED_TRACE(absl::StrCat(cpus, " CPUs, ", home.name));
      SessionConfig config = DefaultConfig(kernel(), Plan(cpus, home.in_root));
      config.enabled = home.enabled;
      std::vector<Operations> work;
      for (int cpu = 0; cpu < cpus; ++cpu) {
        const int mm = 2 * cpu;
        work.push_back({Fault(mm, 0, 90), Unmap(mm, 10, 50), Fault(mm + 1, 480, 100), Fault(mm, 0, 90),
                        Unmap(mm + 1, 500, 20)});
      }
      TraceCounts traced = CountsOnTracing(kernel(), config, work);
      TraceCounts simulated = CountsOnSimulated(kernel(), config, work);
      if (!home.in_root) {
        ForgetWatermarks(traced);
        ForgetWatermarks(simulated);
      }
      support::ExpectSame(traced, simulated);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllKernels, CountsTest,
                         testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                         [](const auto& param) { return support::TestName(param.param->name); });

}  // namespace
}  // namespace memsim::oracle
