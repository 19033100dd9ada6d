// Question: what does a flip of a static key cost, by the number of its sites, alone and under load?
//
// One iteration is one flip: obstacles looked for, all sites verified, patched in three phases. Under load
// three threads run through the sites meanwhile; traps is how many breakpoints a flip made them meet.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "bench/support.h"
#include "memsim/static_key/static_key.h"

namespace ten_thousand {
DECLARE_STATIC_KEY_FALSE(key);
int Run();
}  // namespace ten_thousand
namespace ten_thousand_apart {
DECLARE_STATIC_KEY_FALSE(key);
int Run();
}  // namespace ten_thousand_apart

namespace memsim {
namespace {

namespace sk = static_key;

DEFINE_STATIC_KEY_FALSE(one_key);
DEFINE_STATIC_KEY_FALSE(hundred_key);

__attribute__((noinline)) int OneSite() { return static_branch_unlikely(&one_key) ? 1 : 0; }

template <size_t... kIndex>
__attribute__((noinline)) int HundredSites(std::index_sequence<kIndex...>) {
  int taken = 0;
  const auto one = [&](auto) __attribute__((always_inline)) {
    if (static_branch_unlikely(&hundred_key)) ++taken;
    asm volatile("" : "+r"(taken));
  };
  (one(std::integral_constant<size_t, kIndex>()), ...);
  return taken;
}

struct Subject {
  sk::static_key_false* key;
  int (*run)();
  int sites;
  const char* apart;
};
const Subject kSubjects[] = {
    {&one_key, &OneSite, 1, ""},
    {&hundred_key, [] { return HundredSites(std::make_index_sequence<100>()); }, 100, ""},
    {&ten_thousand::key, &ten_thousand::Run, 10000, ""},
    {&ten_thousand_apart::key, &ten_thousand_apart::Run, 10000, "/490_bytes_apart"},
};

void BM_Flip(benchmark::State& state, const Subject& subject, bool loaded) {
  for (const bool on : {true, false}) {
    const sk::Result flipped =
        on ? sk::static_branch_enable(subject.key) : sk::static_branch_disable(subject.key);
    if (!flipped.ok() || subject.run() != (on ? subject.sites : 0)) {
      state.SkipWithError(flipped.ok() ? "a site does not follow its key" : flipped.message().c_str());
      return;
    }
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> load;
  for (int i = 0; loaded && i < 3; ++i) {
    load.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) benchmark::DoNotOptimize(subject.run());
    });
  }
  const long traps = sk::counters().traps;
  bool on = true, failed = false;
  for (auto _ : state) {
    failed |= !(on ? sk::static_branch_enable(subject.key) : sk::static_branch_disable(subject.key)).ok();
    on = !on;
  }
  state.counters["traps"] = benchmark::Counter(static_cast<double>(sk::counters().traps - traps),
                                               benchmark::Counter::kAvgIterations);
  stop = true;
  for (std::thread& thread : load) thread.join();
  failed |= !sk::static_branch_disable(subject.key).ok();
  if (failed) state.SkipWithError("a flip failed");
}

}  // namespace
}  // namespace memsim

int main(int argc, char** argv) {
  for (const auto& subject : memsim::kSubjects) {
    for (const bool loaded : {false, true}) {
      const std::string name =
          "Flip/sites:" + std::to_string(subject.sites) + subject.apart + (loaded ? "/under_load" : "/alone");
      benchmark::RegisterBenchmark(name.c_str(), memsim::BM_Flip, subject, loaded)
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    }
  }
  benchmark::AddCustomContext("static_keys", memsim::static_key::mechanism().text);
  return memsim::BenchMain(argc, argv, {});
}
