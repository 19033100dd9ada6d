// Question: what does charge and uncharge of a page cost compiled out, constant off, disabled, in root, and
// in a child 1 to 8 levels deep?
#include <string>

#include "bench/support.h"

namespace memsim {
namespace {

ConfigurationText Text() {
  ConfigurationText text;
  text.kernel = "v4.0";
  text.faults = 8192;
  return text;
}

void BM_CompiledOut(benchmark::State& state) {
  ConfigurationText text = Text();
  text.config = {"MEMCG=n"};
  TimeConfiguration(state, text);
}
void BM_ConstantOff(benchmark::State& state) {
  ConfigurationText text = Text();
  text.gate = "constant";
  text.memcg = "disabled";
  TimeConfiguration(state, text);
}
void BM_Disabled(benchmark::State& state) {
  ConfigurationText text = Text();
  text.memcg = "disabled";
  TimeConfiguration(state, text);
}
void BM_Root(benchmark::State& state) {
  ConfigurationText text = Text();
  text.memcg = "root";
  TimeConfiguration(state, text);
}
void BM_Child(benchmark::State& state) {
  ConfigurationText text = Text();
  text.memcg = "depth:" + std::to_string(state.range(0));
  TimeConfiguration(state, text);
}
BENCHMARK(BM_CompiledOut)->Name("Page/v4.0/compiled_out")->UseManualTime();
BENCHMARK(BM_ConstantOff)->Name("Page/v4.0/constant_off")->UseManualTime();
BENCHMARK(BM_Disabled)->Name("Page/v4.0/disabled")->UseManualTime();
BENCHMARK(BM_Root)->Name("Page/v4.0/root")->UseManualTime();
BENCHMARK(BM_Child)->Name("Page/v4.0/child")->ArgName("depth")->DenseRange(1, 8)->UseManualTime();

}  // namespace
}  // namespace memsim

int main(int argc, char** argv) { return memsim::BenchMain(argc, argv, memsim::Text()); }
