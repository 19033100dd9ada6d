// Question: what is the stock's batch worth? A batch of 1 is no stock.
#include "bench/support.h"

namespace memsim {
namespace {

ConfigurationText Text() {
  ConfigurationText text;
  text.kernel = "v4.0";
  text.faults = 8192;
  text.memcg = "depth:1";
  return text;
}

void BM_Batch(benchmark::State& state) {
  ConfigurationText text = Text();
  text.batch = state.range(0);
  text.memcg = "depth:" + std::to_string(state.range(1));
  TimeConfiguration(state, text);
}
BENCHMARK(BM_Batch)
    ->Name("Batch/v4.0")
    ->ArgNames({"batch", "depth"})
    ->ArgsProduct({{1, 2, 4, 8, 16, 32, 64, 128, 512}, {1, 4}})
    ->UseManualTime();

}  // namespace
}  // namespace memsim

int main(int argc, char** argv) { return memsim::BenchMain(argc, argv, memsim::Text()); }
