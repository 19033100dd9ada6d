// What the benchmark programs share: a configuration timed as a whole, checked first, and the context.
#ifndef MEMSIM_BENCH_SUPPORT_H_
#define MEMSIM_BENCH_SUPPORT_H_

#include <benchmark/benchmark.h>

#include "memsim/measure/configuration.h"

namespace memsim {

// Times charge and uncharge of the configuration's pages (CPU time per repetition, as manual time).
// Skips with an error when the books do not balance after a first run. Counters: ns_per_page, LOCK and
// instructions of the controller per page (exact, from tracing).
void TimeConfiguration(benchmark::State& state, const ConfigurationText& text);

// main() of every program: adds kernel, irq stand-in, compiler and host to the context.
int BenchMain(int argc, char** argv, const ConfigurationText& text);

}  // namespace memsim

#endif  // MEMSIM_BENCH_SUPPORT_H_
