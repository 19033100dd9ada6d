#include <algorithm>
#include <memory>
#include <utility>

#include "lib/report/compare_parts.h"
#include "memsim/machine/native.h"

namespace memsim {

namespace {

// Placements are many and short: worlds are made in half a millisecond, and a sweep over all replicas takes a
// fifth of a second.
constexpr double kPlacementSeconds = 0.004;
constexpr int kLeastRounds = 5;

class Measurement {
 public:
  Measurement(CompareResult& result, const std::vector<const Configuration*>& arms)
      : result_(result),
        arms_(arms.size()),
        places_(arms, result.options.replicas),
        random_(result.options.seed + 1),
        paired_(std::vector<Runner*>(arms_), result.options.seed) {
    result.replicas = places_.replicas();
    result.one_place = places_.one_place();
  }

  absl::Status Run() {
    const CompareOptions& options = result_.options;
    const uint64_t begin = native::NowNs();
    const auto seconds = [&] { return static_cast<double>(native::NowNs() - begin) * 1e-9; };
    const int least = std::max(kLeastPlacements, places_.replicas());
    absl::Status status;
    while (status.ok() && (seconds() < options.seconds || result_.placements == 0)) {
      if (options.progress) options.progress("comparing", std::min(1.0, seconds() / options.seconds));
      status = Place();
      const double until = seconds() + kPlacementSeconds;
      if (status.ok()) status = paired_.Round();  // warms
      for (int round = 0; status.ok() && (round < kLeastRounds || seconds() < until); ++round) {
        status = paired_.Round();
      }
      if (status.ok()) ++result_.placements;
      if (options.until > 0 && result_.placements >= least && Widest() <= options.until) break;
    }
    result_.seconds = seconds();
    result_.rounds = paired_.rounds();
    if (absl::IsCancelled(status) && result_.placements > 0) {
      result_.partial = true;
      return absl::OkStatus();
    }
    return status;
  }

  const Paired& paired() const { return paired_; }

 private:
  absl::Status Place() {
    int replica = 0;
    auto runners = OpenArms(places_.Next(random_, &replica), result_.options.stop, random_);
    if (!runners.ok()) return runners.status();
    paired_.Replace(Pointers(*runners), replica);
    runners_ = *std::move(runners);
    return absl::OkStatus();
  }

  double Widest() const {
    double widest = 0;
    for (size_t arm = 1; arm < arms_; ++arm) {
      const Interval interval = paired_.Difference(arm, 0);
      widest = std::max(widest, interval.high - interval.low);
    }
    return widest;
  }

  CompareResult& result_;
  size_t arms_;
  Places places_;
  Random random_;
  Paired paired_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

// What the rounds say of one time of an arm. The last arm of `paired` is the control.
Compared FromRounds(const Paired& paired, size_t arm, size_t control, TimingPart part,
                    const Interval& first) {
  Compared one;
  one.values = paired.Medians(arm, part);
  one.value = part == TimingPart::kTotal ? paired.Total(arm) : paired.Charge(arm);
  if (arm == 0) return one;
  one.difference = paired.Difference(arm, 0, kConfidence, part);
  one.verdict = Judge(one.difference, paired.Difference(arm, 0, kVerdictConfidence, part),
                      paired.Difference(control, 0, kVerdictConfidence, part), first.centre);
  one.in_place = paired.DifferenceInPlace(arm, 0, kConfidence, part);
  one.in_place_strict = paired.DifferenceInPlace(arm, 0, kVerdictConfidence, part);
  return one;
}

absl::Status TimeArms(CompareResult& result) {
  std::vector<const Configuration*> configurations;
  for (const CompareArm& arm : result.arms) configurations.push_back(&arm.configuration);
  const size_t control = configurations.size();
  configurations.push_back(configurations[0]);
  result.slice = configurations[0]->workload.faults.n;
  // The rounds have what the samples leave.
  const double seconds = std::exchange(result.options.seconds, (1 - kSampledPart) * result.options.seconds);
  Measurement measurement(result, configurations);
  const absl::Status status = measurement.Run();
  result.options.seconds = seconds;
  if (!status.ok()) return status;
  const Paired& paired = measurement.paired();
  result.control = paired.Difference(control, 0, kVerdictConfidence);
  for (size_t i = 0; i < result.arms.size(); ++i) {
    CompareArm& arm = result.arms[i];
    arm.total = FromRounds(paired, i, control, TimingPart::kTotal, result.arms[0].total.value);
    if (i > 0) arm.by_replica = paired.DifferencesByReplica(i, 0);
    arm.fault = FromRounds(paired, i, control, TimingPart::kCharge, result.arms[0].fault.value);
  }
  if (result.partial) return absl::OkStatus();
  return SampleArms(configurations, paired, result.seconds * kSampledPart / (1 - kSampledPart), result);
}

}  // namespace

absl::StatusOr<CompareResult> Compare(std::vector<CompareArm> arms, const CompareOptions& options) {
  if (auto status = CheckArms(arms); !status.ok()) return status;
  for (const CompareArm& arm : arms) {
    if (auto status = Places::Check(arm.configuration, options.replicas); !status.ok()) return status;
  }
  CompareResult result;
  result.machine = arms[0].machine;
  result.options = options;
  result.arms = std::move(arms);
  absl::Status status = AddPublished(result);
  if (status.ok()) status = CountArms(result);
  if (status.ok() && result.machine == MachineKind::kNative) status = TimeArms(result);
  if (status.ok() && result.machine == MachineKind::kSimulated) status = SimulateArms(result);
  if (!status.ok()) return status;
  SortFunctions(result);
  return result;
}

}  // namespace memsim
