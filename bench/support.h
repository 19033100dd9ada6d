// What the benchmark programs share: a configuration timed as a whole, checked first, and the context.
#ifndef MEMSIM_BENCH_SUPPORT_H_
#define MEMSIM_BENCH_SUPPORT_H_

#include <benchmark/benchmark.h>

#include "memsim/measure/configuration.h"
#include "memsim/report/profile.h"

namespace memsim {

// Times charge and uncharge of the configuration's pages (CPU time per repetition, as manual time).
// Skips with an error when the books do not balance after a first run. Counters: ns_per_page and the counts.
void TimeConfiguration(benchmark::State& state, const ConfigurationText& text);

// Counters: what the controller does per page, exact, from tracing.
void AddCounts(benchmark::State& state, const ExactCounts& counts);

// main() of every program: adds kernel, irq stand-in, compiler and host to the context. Repeats every
// benchmark five times and interleaves the repetitions in random order, unless --benchmark_repetitions and
// --benchmark_enable_random_interleaving say otherwise.
int BenchMain(int argc, char** argv, const ConfigurationText& text);

}  // namespace memsim

#endif  // MEMSIM_BENCH_SUPPORT_H_
