#include <algorithm>
#include <utility>

#include "lib/input/model_file.h"
#include "memsim/machine/native.h"
#include "memsim/report/comparison.h"

namespace memsim {

namespace {

struct Spec {
  const char* kernel;
  const char* gate;
  const char* memcg;
  const char* config;  // or empty
};

// Every arm clears a page per fault, as the kernel does. A real page fault per modelled one would bury
// the differences; what one costs here is measured apart.
absl::StatusOr<Configuration> Make(const Spec& spec, const char* rest, int64_t faults, uint64_t seed) {
  ConfigurationText text;
  text.kernel = spec.kernel;
  text.gate = spec.gate;
  text.memcg = spec.memcg;
  text.rest = rest;
  text.faults = faults;
  text.seed = static_cast<int64_t>(seed);
  if (*spec.config != '\0') text.config.push_back(spec.config);
  return Resolve(text);
}

constexpr Spec kProfiles[] = {
    {"v4.0-chargefirst", "flag", "root", ""},
    {"v4.0-chargefirst", "flag", "disabled", ""},
    {"v4.0-chargefirst", "flag", "depth:1", ""},
    {"v4.0", "flag", "root", ""},
};

constexpr Spec kArms[] = {
    {"v4.0-chargefirst", "flag", "disabled", "MEMCG=n"},
    {"v4.0-chargefirst", "constant", "disabled", ""},
    {"v4.0-chargefirst", "flag", "disabled", ""},
    {"v4.0-chargefirst", "flag", "root", ""},
    {"v4.0-chargefirst", "flag", "depth:1", ""},
};
// Pages an arm faults before the next one has its turn: 0.2 ms, so that a neighbour on this CPU disturbs
// all arms of a round alike. At 16 times the slice the interval is five times as wide.
constexpr int64_t kSlice = 1024;

constexpr size_t kOut = 0, kDisabled = 2, kRoot = 3;

using Progress = std::function<void(absl::string_view, double)>;

absl::Status TimeArms(const ComparisonOptions& options, const Progress& progress,
                      Comparison2015* result) {
  for (const Spec& spec : kArms) {
    auto configuration = Make(spec, "clear", kSlice, options.seed);
    if (!configuration.ok()) return configuration.status();
    auto counts = CountExactly(*configuration, options.stop);
    if (!counts.ok()) return counts.status();
    result->arms.push_back({*configuration, {}, {}, *counts});
  }
  Paired paired(std::vector<Runner*>(result->arms.size()), options.seed);
  std::vector<const Configuration*> configurations;
  for (const TimedArm& arm : result->arms) configurations.push_back(&arm.configuration);
  Random random(options.seed + 2);
  const uint64_t begin = native::NowNs();
  absl::Status status;
  for (int placement = 0; placement < options.placements && status.ok(); ++placement) {
    const double seconds = static_cast<double>(native::NowNs() - begin) * 1e-9;
    if (seconds > options.timing_seconds && placement > 0) break;
    progress("timing", static_cast<double>(placement) / options.placements);
    const auto runners = OpenArms(configurations, options.stop, random);
    if (!runners.ok()) return runners.status();
    paired.Replace(Pointers(*runners));
    for (int r = 0; r <= options.rounds && status.ok(); ++r) status = paired.Round();
    result->placements = placement + 1;
  }
  if (!status.ok() && !absl::IsCancelled(status)) return status;
  result->rounds = paired.rounds();
  if (paired.rounds() == 0) return absl::OkStatus();
  for (size_t arm = 0; arm < result->arms.size(); ++arm) {
    result->arms[arm].total = paired.Total(arm);
    result->arms[arm].added = paired.Difference(arm, kOut);
  }
  result->residue = paired.Residue(kOut, kDisabled, kRoot);
  return absl::OkStatus();
}

absl::Status SampleProfiles(const ComparisonOptions& options, const Progress& progress,
                            Comparison2015* result) {
  ProfileOptions sampling;
  sampling.stop = options.stop;
  const auto rest = SharedRest(RestKind::kClear);
  if (!rest.ok()) return rest.status();
  std::vector<SampledArm> arms;
  std::vector<std::unique_ptr<Runner>> runners;
  std::vector<Runner*> pointers;
  for (const Spec& spec : kProfiles) {
    auto configuration = Make(spec, "clear", 16384, options.seed);
    if (!configuration.ok()) return configuration.status();
    auto counts = CountExactly(*configuration, options.stop);
    if (!counts.ok()) return counts.status();
    auto arm = SampledArm::Open(*configuration, sampling, *rest);
    if (!arm.ok()) return arm.status();
    auto runner =
        Runner::Open(*configuration, MachineKind::kNative, {.stop = options.stop, .rest = *rest});
    if (!runner.ok()) return runner.status();
    arms.push_back(*std::move(arm));
    runners.push_back(*std::move(runner));
    pointers.push_back(runners.back().get());
    Profile profile;
    profile.configuration = *configuration;
    profile.counts = *counts;
    result->profiles.push_back(std::move(profile));
  }
  // All take turns, sampled and plain repetitions alike: what disturbs one disturbs all.
  Paired paired(pointers, options.seed + 1);
  const uint64_t begin = native::NowNs();
  const double budget = options.sample_seconds * static_cast<double>(arms.size());
  for (;;) {
    const double seconds = static_cast<double>(native::NowNs() - begin) * 1e-9;
    const int64_t least =
        std::min_element(arms.begin(), arms.end(), [](const SampledArm& a, const SampledArm& b) {
          return a.samples() < b.samples();
        })->samples();
    if (least >= options.samples || seconds >= budget) break;
    progress("sampling", std::max(static_cast<double>(least) / static_cast<double>(options.samples),
                                  seconds / budget));
    for (SampledArm& arm : arms) arm.Run();
    if (options.stop != nullptr && options.stop->load()) break;
    const absl::Status status = paired.Round();
    if (absl::IsCancelled(status)) break;
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < arms.size(); ++i) {
    Profile& profile = result->profiles[i];
    arms[i].Report(&profile);
    profile.charge = paired.Charge(i);
    profile.uncharge = paired.Uncharge(i);
    profile.total = paired.Total(i);
    profile.irq_cost = result->irq_cost;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PublishedProfile> LoadPublishedProfile(absl::string_view name) {
  const auto file = ModelFile::Open("published", name);
  if (!file.ok()) return file.status();
  PublishedProfile published;
  for (const auto& [field, to] : {std::pair{"/name", &published.name},
                                  std::pair{"/machine", &published.machine},
                                  std::pair{"/model", &published.model},
                                  std::pair{"/source", &published.source}}) {
    auto text = file->String(field);
    if (!text.ok()) return text.status();
    *to = *std::move(text);
  }
  const auto columns = file->Length("/columns");
  if (!columns.ok()) return columns.status();
  for (size_t i = 0; i < *columns; ++i) {
    const std::string at = absl::StrCat("/columns/", i);
    PublishedProfile::Column column;
    for (const auto& [field, to] : {std::pair{"/id", &column.id}, std::pair{"/kernel", &column.kernel},
                                    std::pair{"/memcg", &column.memcg}}) {
      auto text = file->String(at + field);
      if (!text.ok()) return text.status();
      *to = *std::move(text);
    }
    for (const auto& [field, to] : {std::pair{"/total", &column.total},
                                    std::pair{"/ns_per_fault", &column.ns_per_fault}}) {
      const auto number = file->Number(at + field);
      if (!number.ok()) return number.status();
      *to = *number;
    }
    published.columns.push_back(std::move(column));
  }
  const auto functions = file->Length("/functions");
  if (!functions.ok()) return functions.status();
  for (size_t i = 0; i < *functions; ++i) {
    const std::string at = absl::StrCat("/functions/", i, "/");
    const auto function = file->String(at + "name");
    if (!function.ok()) return function.status();
    published.functions.push_back(*function);
    for (PublishedProfile::Column& column : published.columns) {
      if (!file->json()["functions"][i].contains(column.id)) continue;
      const auto number = file->Number(at + column.id);
      if (!number.ok()) return number.status();
      column.percent[*function] = *number;
    }
  }
  return published;
}

absl::StatusOr<Comparison2015> Compare2015(const ComparisonOptions& options) {
  Comparison2015 result;
  result.seed = options.seed;
  auto published = LoadPublishedProfile("pft-profile-2015");
  if (!published.ok()) return published.status();
  result.published = *std::move(published);
  const Progress progress = [&](absl::string_view what, double done) {
    if (options.progress) options.progress(what, done);
  };
  result.irq_cost = MeasureIrqStandIn(IrqStandIn::kFlag);
  auto real_fault = MeasureRealFault(options.stop);
  if (!real_fault.ok()) return real_fault.status();
  result.real_fault = *real_fault;
  for (const auto step : {&TimeArms, &SampleProfiles}) {
    const absl::Status status = step(options, progress, &result);
    if (absl::IsCancelled(status)) break;
    if (!status.ok()) return status;
  }
  result.partial = options.stop != nullptr && options.stop->load();
  return result;
}

}  // namespace memsim
