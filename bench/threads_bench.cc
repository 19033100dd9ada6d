// Question: what do threads cost each other that charge one memcg, or stay in root, or are disabled?
//
// CPU time per page, all threads together; one to as many threads as the host has CPUs.
#include "bench/support.h"
#include "memsim/session/threads.h"

namespace memsim {
namespace {

ConfigurationText Text() {
  ConfigurationText text;
  text.kernel = "v4.0";
  return text;
}

void BM_Threads(benchmark::State& state, const char* memcg) {
  ConfigurationText text = Text();
  text.memcg = memcg;
  text.threads = state.range(0);
  text.faults = 8192 * state.range(0);
  TimeConfiguration(state, text);
}

void UpToHostCpus(benchmark::internal::Benchmark* bench) {
  bench->ArgName("threads")->UseManualTime();
  for (int threads = 1; threads <= HostCpus(); threads *= 2) bench->Arg(threads);
}
BENCHMARK_CAPTURE(BM_Threads, disabled, "disabled")->Name("Threads/disabled")->Apply(UpToHostCpus);
BENCHMARK_CAPTURE(BM_Threads, root, "root")->Name("Threads/root")->Apply(UpToHostCpus);
BENCHMARK_CAPTURE(BM_Threads, child, "depth:1")->Name("Threads/child")->Apply(UpToHostCpus);

}  // namespace
}  // namespace memsim

int main(int argc, char** argv) { return memsim::BenchMain(argc, argv, memsim::Text()); }
