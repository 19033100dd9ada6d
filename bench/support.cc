#include "bench/support.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/measure/environment.h"

namespace memsim {

namespace {

constexpr int kRepetitions = 5;

// After everything is unmapped and drained: nothing charged, nothing referenced, all pages free.
bool Balanced(Runner& runner) {
  runner.session().Drain();
  const Ledger ledger = runner.session().ReadLedger();
  for (const LedgerRow& row : ledger.memcgs) {
    if (row.memory != 0 || row.memsw != 0 || row.references != 0 || row.stock != 0) return false;
  }
  return ledger.free_pages == runner.plan().memory.n;
}

}  // namespace

void TimeConfiguration(benchmark::State& state, const ConfigurationText& text) {
  const auto configuration = Resolve(text);
  if (!configuration.ok()) {
    state.SkipWithError(std::string(configuration.status().message()).c_str());
    return;
  }
  const auto counts = CountExactly(*configuration, nullptr);
  auto runner = Runner::Open(*configuration, MachineKind::kNative, {});
  if (!counts.ok() || !runner.ok()) {
    state.SkipWithError("the configuration cannot be opened");
    return;
  }
  const CpuResult first = (*runner)->Execute().Total();
  if (first.oom + first.no_memory != 0 || !Balanced(**runner)) {
    state.SkipWithError("the books do not balance");
    return;
  }
  double ns = 0, pages = 0;
  for (auto _ : state) {
    const CpuResult total = (*runner)->Execute().Total();
    double iteration = 0;
    for (const auto& phase : total.phase) iteration += static_cast<double>(phase.ns);
    state.SetIterationTime(iteration * 1e-9);
    ns += iteration;
    pages += static_cast<double>(total.phase[static_cast<size_t>(Phase::kCharge)].pages);
  }
  state.counters["ns_per_page"] = pages == 0 ? 0 : ns / pages;
  AddCounts(state, *counts);
}

void AddCounts(benchmark::State& state, const ExactCounts& counts) {
  state.counters["calls_per_page"] = counts.memcg_total.calls;
  state.counters["insns_per_page"] = counts.memcg_total.instructions;
  state.counters["gates_per_page"] = counts.memcg_total.gates;
  state.counters["LOCK_per_page"] = counts.memcg_total.rmw;
}

int BenchMain(int argc, char** argv, const ConfigurationText& text) {
  const auto configuration = Resolve(text);
  if (!configuration.ok()) return 2;
  const Environment environment = ReadEnvironment();
  benchmark::AddCustomContext("kernel", std::string(configuration->kernel->name));
  benchmark::AddCustomContext("gate", std::string(GateName(configuration->gate)));
  benchmark::AddCustomContext("irq", std::string(IrqName(configuration->irq)));
  benchmark::AddCustomContext("compiler", environment.compiler);
  benchmark::AddCustomContext("build", environment.build);
  benchmark::AddCustomContext("host", environment.cpu + ", " + environment.os);
  // In front, so that what the user says comes later and holds.
  std::vector<char*> arguments(argv, argv + argc);
  std::string interleaved = "--benchmark_enable_random_interleaving=true";
  std::string repetitions = absl::StrCat("--benchmark_repetitions=", kRepetitions);
  arguments.insert(arguments.begin() + 1, {interleaved.data(), repetitions.data()});
  argc = static_cast<int>(arguments.size());
  argv = arguments.data();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace memsim
