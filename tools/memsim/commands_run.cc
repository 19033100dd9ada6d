// memsim run and memsim lines.
#include <utility>

#include "absl/strings/str_cat.h"
#include "memsim/internal/range.h"
#include "memsim/report/render.h"
#include "tools/memsim/commands.h"
#include "tools/memsim/finish.h"
#include "tools/memsim/format.h"
#include "tools/memsim/output.h"

namespace memsim {

namespace {

int RunDemo(const Options& options, Format format, const std::atomic<bool>* stop) {
  Comparison2015 comparison;
  const EnvironmentWatch watch;
  {
    Progress progress;
    ComparisonOptions demo;
    demo.stop = stop;
    demo.seed = static_cast<uint64_t>(options.configuration.seed.value_or(1));
    demo.progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    auto result = Compare2015(demo);
    if (!result.ok()) return Refuse(result.status());
    comparison = *std::move(result);
  }
  const Environment environment = watch.Finish();
  return Finish(
      options, comparison.partial, format, [&] { return ComparisonText(comparison, environment); },
      [&] { return ComparisonJson(comparison, environment); },
      [&] { return ComparisonCsv(comparison); });
}

int RunOne(const Options& options, Format format, const std::atomic<bool>* stop) {
  const auto configuration = Resolve(options.configuration);
  if (!configuration.ok()) return Refuse(configuration.status());
  Profile profile;
  const EnvironmentWatch watch;
  {
    Progress progress;
    ProfileOptions profiling;
    profiling.repetitions = static_cast<int>(options.repetitions);
    profiling.samples = options.samples;
    profiling.sample_seconds = static_cast<double>(options.samples) / 1000;
    profiling.stop = stop;
    profiling.progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    auto result = MakeProfile(*configuration, profiling);
    if (absl::IsCancelled(result.status())) {
      Print("PARTIAL: interrupted before anything had been measured\n");
      return kInterrupted;
    }
    if (!result.ok()) return Refuse(result.status());
    profile = *std::move(result);
  }
  const Environment environment = watch.Finish();
  return Finish(
      options, profile.partial, format, [&] { return ProfileText(profile, environment); },
      [&] { return ProfileJson(profile, environment); }, [&] { return ProfileCsv(profile); });
}

absl::StatusOr<SimProfileOptions> SimulationOptions(const Options& options) {
  const absl::Status seeds = internal::CheckRange("--seeds", options.seeds, 1, kMaxPftSeeds);
  if (!seeds.ok()) return seeds;
  const auto sampler = FindSampler(options.sampler);
  if (!sampler.ok()) return sampler.status();
  if (options.profile != "attributed" && options.profile != "sampled" && options.profile != "marginal") {
    return absl::NotFoundError(
        absl::StrCat("--profile '", options.profile, "'; valid: attributed, sampled, marginal"));
  }
  SimProfileOptions simulation;
  simulation.seeds = static_cast<int>(options.seeds);
  simulation.sampler = *sampler;
  simulation.strict = options.strict;
  simulation.interrupts_charge = options.timer_charge;
  simulation.marginal = options.profile == "marginal";
  return simulation;
}

template <class Text, class Json, class Csv>
int Simulate(const Options& options, bool line_detail, Text text, Json json, Csv csv) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const auto configuration = Resolve(options.configuration);
  if (!configuration.ok()) return Refuse(configuration.status());
  auto simulation = SimulationOptions(options);
  if (!simulation.ok()) return Refuse(simulation.status());
  simulation->stop = InstallInterrupt();
  simulation->line_detail = line_detail;
  absl::StatusOr<SimProfile> profile;
  {
    Progress progress;
    simulation->progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    profile = MakeSimProfile(*configuration, *simulation);
  }
  if (absl::IsCancelled(profile.status())) {
    Print("PARTIAL: interrupted before anything had been simulated\n");
    return kInterrupted;
  }
  if (!profile.ok()) return Refuse(profile.status());
  const Environment environment = ReadEnvironment();
  return Finish(
      options, profile->partial, *format, [&] { return text(*profile, environment); },
      [&] { return json(*profile, environment); }, [&] { return csv(*profile); });
}

}  // namespace

int Run(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  for (const absl::Status& status :
       {internal::CheckRange("--repetitions", options.repetitions, 1, 10000),
        internal::CheckRange("--samples", options.samples, 1, 10000000)}) {
    if (!status.ok()) return Refuse(status);
  }
  if (options.configuration.machine != "native") {
    return Simulate(options, false, &SimProfileText, &SimProfileJson, &SimProfileCsv);
  }
  if (options.strict || options.timer_charge) {
    return Refuse(absl::InvalidArgumentError(
        absl::StrCat(options.strict ? "--strict" : "--timer-charge", " needs a simulated machine; valid: "
                     "--machine with a name of `memsim list` or a .json file")));
  }
  const std::atomic<bool>* stop = InstallInterrupt();
  return options.demo ? RunDemo(options, *format, stop) : RunOne(options, *format, stop);
}

int Lines(const Options& options) {
  if (options.configuration.machine == "native") {
    return Refuse(absl::InvalidArgumentError(
        "--machine 'native'; valid: a machine file (this CPU does not tell which lines move)"));
  }
  return Simulate(options, true, &SimLinesText, &SimLinesJson, &SimLinesCsv);
}

}  // namespace memsim
