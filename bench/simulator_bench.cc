// Question: how many modelled accesses a second does the simulated machine execute?
//
// The bare path of v4.4 in a child, every page cleared, all costs attributed. A page clear counts as one
// access. accesses_per_s counts the accesses of the finished run over the time of all runs, so that
// rehearsals are not free; runs says how many there were.
#include "bench/support.h"

namespace memsim {
namespace {

ConfigurationText Text() {
  ConfigurationText text;
  text.kernel = "v4.4";
  text.machine = "wide-1024";
  text.memcg = "depth:1";
  text.rest = "clear";
  return text;
}

void BM_Simulator(benchmark::State& state) {
  ConfigurationText text = Text();
  text.threads = state.range(0);
  text.faults = std::max<int64_t>(100000, 400 * state.range(0));
  const auto configuration = Resolve(text);
  if (!configuration.ok()) {
    state.SkipWithError(std::string(configuration.status().message()).c_str());
    return;
  }
  auto runner = Runner::Open(*configuration, MachineKind::kSimulated, {});
  double accesses = 0;
  for (auto _ : state) {
    const ExecResult result = (*runner)->Execute();
    if (!result.sim->deadlock.empty()) state.SkipWithError(result.sim->deadlock.c_str());
    accesses += static_cast<double>(result.sim->accesses());
    state.counters["runs"] = result.sim->runs;
    state.counters["rehearsed"] =
        static_cast<double>(result.sim->all_accesses) / static_cast<double>(result.sim->accesses());
    state.counters["turns_per_access"] =
        static_cast<double>(result.sim->turns) / static_cast<double>(result.sim->accesses());
    state.counters["ordered_lines"] = static_cast<double>(result.sim->ordered_lines);
    if (result.sim->strict) state.SkipWithError("fell back to the strict order");
  }
  state.counters["accesses_per_s"] = benchmark::Counter(accesses, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Simulator)->Name("Simulator")->ArgName("cpus")->Arg(1)->Arg(8)->Arg(64)->Arg(1024)
    ->Unit(benchmark::kMillisecond)->MinTime(1);

}  // namespace
}  // namespace memsim

int main(int argc, char** argv) { return memsim::BenchMain(argc, argv, memsim::Text()); }
