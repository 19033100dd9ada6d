// Question: what does the controller cost a page when it is disabled and when it is enabled, and what is the
// ratio?
//
// All arms take turns in the rounds of one comparison: compiled out, disabled, enabled. Each iteration is
// one placement of new worlds in the next replica of the code. Counters, ns a page, each with _low and
// _high of its 95 % interval (over the replicas):
//   disabled, enabled   the whole bare path
//   ratio               enabled over disabled
//   disabled_adds, enabled_adds, residue   beyond compiled out, and the first as a share of the second
// from as many `replicas`, and the exact counts of the controller per page, enabled. The Time column is
// that of a placement.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/support.h"
#include "memsim/measure/paired.h"
#include "memsim/measure/places.h"
#include "memsim/session/replicas.h"

namespace memsim {
namespace {

constexpr int kRounds = 20;  // of a placement
enum Arm : size_t { kOut, kDisabled, kEnabled, kArms };

absl::StatusOr<std::vector<Configuration>> Arms(const std::string& kernel, const std::string& gate) {
  std::vector<Configuration> arms;
  for (const size_t arm : {kOut, kDisabled, kEnabled}) {
    ConfigurationText text;
    text.kernel = kernel;
    text.faults = 1024;
    if (arm == kOut) text.config = {"MEMCG=n"};
    else text.gate = gate;
    if (arm != kOut) text.memcg = arm == kDisabled ? "disabled" : "root";
    auto configuration = Resolve(text);
    if (!configuration.ok()) return configuration.status();
    arms.push_back(*std::move(configuration));
  }
  return arms;
}

void AddInterval(benchmark::State& state, const std::string& name, const Interval& interval) {
  state.counters[name] = interval.centre;
  state.counters[name + "_low"] = interval.low;
  state.counters[name + "_high"] = interval.high;
}

void BM_Paired(benchmark::State& state, const std::string& kernel, const std::string& gate) {
  const auto arms = Arms(kernel, gate);
  if (!arms.ok()) return state.SkipWithError(std::string(arms.status().message()).c_str());
  const auto counts = CountExactly((*arms)[kEnabled], nullptr);
  if (!counts.ok()) return state.SkipWithError("the configuration cannot be counted");
  Places places({&(*arms)[kOut], &(*arms)[kDisabled], &(*arms)[kEnabled]}, &ReplicasOf);
  Random random(1);
  Paired paired(std::vector<Runner*>(kArms), 1);
  std::vector<std::unique_ptr<Runner>> runners;
  absl::Status status;
  for (auto _ : state) {
    int replica = 0;
    auto opened = OpenArms(places.Next(random, &replica), nullptr, random);
    if (!opened.ok()) return state.SkipWithError(std::string(opened.status().message()).c_str());
    paired.Replace(Pointers(*opened), replica);
    runners = *std::move(opened);
    for (int round = 0; status.ok() && round <= kRounds; ++round) status = paired.Round();
    if (!status.ok()) return state.SkipWithError(std::string(status.message()).c_str());
  }
  AddInterval(state, "disabled", paired.Total(kDisabled));
  AddInterval(state, "enabled", paired.Total(kEnabled));
  AddInterval(state, "ratio", paired.Ratio(kEnabled, kDisabled));
  AddInterval(state, "disabled_adds", paired.Difference(kDisabled, kOut));
  AddInterval(state, "enabled_adds", paired.Difference(kEnabled, kOut));
  AddInterval(state, "residue", paired.Residue(kOut, kDisabled, kEnabled));
  state.counters["replicas"] = paired.Difference(kEnabled, kDisabled).n;
  AddCounts(state, *counts);
}

}  // namespace
}  // namespace memsim

int main(int argc, char** argv) {
  using namespace memsim;
  for (const Kernel* kernel : AllKernels()) {
    for (const GateInfo& gate : kGates) {
      if (gate.kind == GateKind::kConstant || !NativeHasGate(*kernel, gate.kind)) continue;
      const std::string name = absl::StrCat("Paired/", kernel->name, "/", gate.name);
      benchmark::RegisterBenchmark(name.c_str(), BM_Paired, std::string(kernel->name), std::string(gate.name))
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  benchmark::AddCustomContext("static_keys", static_key::mechanism().text);
  return BenchMain(argc, argv, {});
}
