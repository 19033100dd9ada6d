// Question: what does one evaluation of mem_cgroup_disabled() cost, by gate?
//
// The slope of time over 0 to 64 gates in a region, less that of the same region without gates
// (memsim/measure/slope.h): what is done between the gates cancels out. Where that is
//   hot       nothing
//   evicted   the line of the gate's word is flushed from all caches
//   cleared   4 KiB are zeroed, as they are before a charge
// ps_per_gate (picoseconds) is the median over the rounds, ps_low and ps_high are its 95 % interval; a gate
// that is open also counts itself, as `constant` does. Time and CPU columns are those of the whole
// measurement and mean nothing. On x86 flag and atomic are the same machine code but for the sense of the
// branch (tests/codegen).
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/support.h"
#include "memsim/gate/gate.h"
#include "memsim/gate/static_key_switch.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/native.h"
#include "memsim/measure/slope.h"

namespace memsim {
namespace {

using M = Native<BuildConfig{}>;
enum class Between { kNothing, kEvict, kClear };
constexpr int kRounds = 201;

alignas(64) CgroupSubsys<M> subsys;
alignas(4096) char page[4096];

template <Between kBetween>
MEMSIM_INLINED void Separate() {
  if constexpr (kBetween == Between::kEvict) {
#if defined(__x86_64__)
    __builtin_ia32_clflush(&subsys.disabled);
    asm volatile("mfence" ::: "memory");
#elif defined(__aarch64__)
    asm volatile("dc civac, %0\n\tdsb ish" : : "r"(&subsys.disabled) : "memory");
#endif
  } else if constexpr (kBetween == Between::kClear) {
    std::memset(page, 0, sizeof(page));
    asm volatile("" : : "r"(page) : "memory");
  }
  MEMSIM_BARRIER();
}

struct NoGate {};

// kGates gates one after the other, each a site of its own. How many were open.
template <class Gate, Between kBetween, int kGates>
__attribute__((noinline)) int Region() {
  int open = 0;
  const auto one = [](auto, int& counted) __attribute__((always_inline)) {
    Separate<kBetween>();
    if constexpr (!std::is_same_v<Gate, NoGate>) {
      if (Gate().Open(subsys)) ++counted;
    }
    asm volatile("" : "+r"(counted) : : "memory");
  };
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    (one(std::integral_constant<size_t, kIndex>(), open), ...);
  }(std::make_index_sequence<static_cast<size_t>(kGates)>());
  return open;
}

using RegionFunction = int (*)();
template <class Gate, Between kBetween>
constexpr auto kRegions = []<size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array<RegionFunction, sizeof...(kIndex)>{&Region<Gate, kBetween, kStepCounts[kIndex]>...};
}(std::make_index_sequence<kStepCounts.size()>());

// ns of one call, from as many as make the clock's own cost small.
double TimeOf(RegionFunction region, int calls) {
  const uint64_t begin = native::NowNs();
  for (int i = 0; i < calls; ++i) benchmark::DoNotOptimize(region());
  return static_cast<double>(native::NowNs() - begin) / calls;
}

template <class Gate, Between kBetween>
void BM_Gate(benchmark::State& state) {
  const bool on = state.range(0) != 0;
  subsys.SetEnabled(on);
  StaticKeySwitch keys(on);
  const StaticKeySwitch::Turn turn(keys);
  if (!turn.status().ok()) {
    state.SkipWithError(std::string(turn.status().message()).c_str());
    return;
  }
  if (kRegions<Gate, kBetween>.back()() != (on ? kStepCounts.back() : 0)) {
    state.SkipWithError("the gate gives the wrong answer");
    return;
  }
  constexpr int kGates = kBetween == Between::kNothing ? 6400 : 256;
  const auto time_of = [](const std::array<RegionFunction, kStepCounts.size()>& regions) {
    return [&regions](size_t i) { return TimeOf(regions[i], kGates / std::max(1, kStepCounts[i])); };
  };
  Interval cost;
  for (auto _ : state) {
    cost = StepCost(time_of(kRegions<Gate, kBetween>), time_of(kRegions<NoGate, kBetween>), kRounds, 1);
  }
  state.counters["ps_per_gate"] = 1000 * cost.centre;
  state.counters["ps_low"] = 1000 * cost.low;
  state.counters["ps_high"] = 1000 * cost.high;
}

template <class Gate, Between kBetween>
void RegisterOne(const std::string& name, const std::vector<int64_t>& outcomes) {
  auto* one = benchmark::RegisterBenchmark(name.c_str(), &BM_Gate<Gate, kBetween>);
  one->ArgName("on")->Iterations(1)->Unit(benchmark::kMillisecond);
  for (const int64_t on : outcomes) one->Arg(on);
}

template <class Gate>
void RegisterGate(const char* name, const std::vector<int64_t>& outcomes = {0, 1}) {
  RegisterOne<Gate, Between::kNothing>(absl::StrCat("Gate/", name, "/hot"), outcomes);
  RegisterOne<Gate, Between::kEvict>(absl::StrCat("Gate/", name, "/evicted"), outcomes);
  RegisterOne<Gate, Between::kClear>(absl::StrCat("Gate/", name, "/cleared"), outcomes);
}

}  // namespace
}  // namespace memsim

int main(int argc, char** argv) {
  using namespace memsim;
  RegisterGate<ConstantGate<false>>("constant", {0});
  RegisterGate<ConstantGate<true>>("constant", {1});
  RegisterGate<FlagGate>("flag");
  RegisterGate<AtomicGate>("atomic");
  RegisterGate<StaticKeyGate>("static_key");
  RegisterGate<IndirectGate>("indirect");
  benchmark::AddCustomContext("static_keys", static_key::mechanism().text);
  return BenchMain(argc, argv, {});
}
