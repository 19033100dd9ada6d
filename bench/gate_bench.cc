// Question: what does one evaluation of mem_cgroup_disabled() cost, by gate?
//
// Each iteration asks the gate 64 times, so that the loop weighs little; per_gate is the quotient. On
// x86 flag and atomic are the same machine code but for the sense of the branch (tests/codegen).
#include <array>

#include "bench/support.h"
#include "memsim/gate/gate.h"
#include "memsim/machine/native.h"

namespace memsim {
namespace {

using M = Native<BuildConfig{}>;
constexpr int kGatesPerIteration = 64;

template <class Gate>
void BM_Gate(benchmark::State& state) {
  static CgroupSubsys<M> subsys;
  const bool on = state.range(0) != 0;
  subsys.SetEnabled(on);
  const Gate gate;
  if (gate.Open(subsys) != on) {
    state.SkipWithError("the gate gives the wrong answer");
    return;
  }
  for (auto _ : state) {
    int open = 0;
    for (int i = 0; i < kGatesPerIteration; ++i) {
      benchmark::ClobberMemory();
      if (gate.Open(subsys)) ++open;
    }
    benchmark::DoNotOptimize(open);
  }
  state.counters["per_gate"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * kGatesPerIteration,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Gate<ConstantGate<true>>)->Name("Gate/constant")->ArgName("on")->Arg(1);
BENCHMARK(BM_Gate<ConstantGate<false>>)->Name("Gate/constant")->ArgName("on")->Arg(0);
BENCHMARK(BM_Gate<FlagGate>)->Name("Gate/flag")->ArgName("on")->Arg(0)->Arg(1);
BENCHMARK(BM_Gate<AtomicGate>)->Name("Gate/atomic")->ArgName("on")->Arg(0)->Arg(1);
BENCHMARK(BM_Gate<IndirectGate>)->Name("Gate/indirect")->ArgName("on")->Arg(0)->Arg(1);

}  // namespace
}  // namespace memsim

int main(int argc, char** argv) { return memsim::BenchMain(argc, argv, {}); }
