// memsim compare.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "memsim/internal/range.h"
#include "memsim/report/render.h"
#include "memsim/session/replicas.h"
#include "tools/memsim/commands.h"
#include "tools/memsim/finish.h"
#include "tools/memsim/output.h"

namespace memsim {

namespace {

// "0.1ns" or "0.1".
absl::StatusOr<double> ParseUntil(const std::string& text) {
  double ns = 0;
  if (text.empty()) return ns;
  if (!absl::SimpleAtod(absl::StripSuffix(text, "ns"), &ns) || !(ns >= 0.001) || !(ns <= 1000)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--until '", text, "'; valid: the width of an interval, 0.001ns to 1000ns"));
  }
  return ns;
}

// Everything but the arms.
absl::StatusOr<CompareOptions> PrepareCompare(const Options& options) {
  CompareOptions compare;
  const auto until = ParseUntil(options.until);
  if (!until.ok()) return until.status();
  compare.until = *until;
  compare.seconds = options.seconds.value_or(compare.seconds);
  if (!(compare.seconds >= 0.1) || !(compare.seconds <= 3600)) {
    return absl::InvalidArgumentError(absl::StrCat("--seconds ", compare.seconds, "; valid: 0.1 to 3600"));
  }
  const int64_t seed = options.configuration.seed.value_or(1);
  const int64_t seeds = options.compare_seeds.value_or(compare.seeds);
  for (const absl::Status& status : {internal::CheckRange("--seed", seed, 0, INT64_MAX / 1000),
                                     internal::CheckRange("--seeds", seeds, 1, kMaxPftSeeds)}) {
    if (!status.ok()) return status;
  }
  compare.seed = static_cast<uint64_t>(seed);
  compare.seeds = static_cast<int>(seeds);
  compare.shared = options.configuration;
  compare.replicas = &ReplicasOf;
  return compare;
}

// An option that says nothing about this machine would be taken for one that does.
absl::Status CheckMachineOptions(const Options& options, MachineKind machine) {
  if (machine != MachineKind::kNative && (options.seconds.has_value() || !options.until.empty())) {
    return absl::InvalidArgumentError(
        "--seconds and --until need time that is measured; valid: --machine native");
  }
  if (machine != MachineKind::kSimulated && options.compare_seeds.has_value()) {
    return absl::InvalidArgumentError(
        "--seeds needs a simulated machine; valid: --machine with a name of `memsim list` or a .json file");
  }
  return absl::OkStatus();
}

}  // namespace

int CompareCommand(const Options& options) {
  const auto render = FindCompareFormat(options.format);
  if (!render.ok()) return Refuse(render.status());
  auto compare = PrepareCompare(options);
  if (!compare.ok()) return Refuse(compare.status());
  std::vector<CompareArm> arms;
  for (const std::string& text : options.arms) {
    auto arm = ParseCompareArm(text, options.configuration);
    if (!arm.ok()) return Refuse(arm.status());
    arms.push_back(*std::move(arm));
  }
  if (auto status = CheckMachineOptions(options, arms[0].machine); !status.ok()) return Refuse(status);
  compare->stop = InstallInterrupt();
  absl::StatusOr<CompareResult> result;
  std::optional<EnvironmentWatch> watch;  // where a clock is read: else the host has no part in it
  if (arms[0].machine == MachineKind::kNative) watch.emplace();
  {
    Progress progress;
    compare->progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    result = Compare(std::move(arms), *compare);
  }
  if (absl::IsCancelled(result.status())) {
    Print("PARTIAL: interrupted before anything had been compared\n");
    return kInterrupted;
  }
  if (!result.ok()) return Refuse(result.status());
  const Environment environment = watch.has_value() ? watch->Finish() : ReadEnvironment();
  return Finish(
      options, result->partial, [&] { return (*render)(*result, environment); },
      [&] { return CompareJson(*result, environment); });
}

}  // namespace memsim
