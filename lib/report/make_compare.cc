#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "memsim/machine/native.h"
#include "memsim/measure/paired.h"
#include "memsim/report/compare.h"

namespace memsim {

namespace {

// Pages of a slice: some 0.1 ms, so that a neighbour disturbs all arms of a round alike.
constexpr int64_t kSlice = 1024;
constexpr int kPlacements = 50;
constexpr double kLeastPlacementSeconds = 0.02;

// What an arm may say, and where it goes.
using Setter = absl::Status (*)(const std::string& value, ConfigurationText& text);
template <std::string ConfigurationText::*kMember>
absl::Status SetText(const std::string& value, ConfigurationText& text) {
  text.*kMember = value;
  return absl::OkStatus();
}
template <std::vector<std::string> ConfigurationText::*kMember>
absl::Status Append(const std::string& value, ConfigurationText& text) {
  (text.*kMember).push_back(value);
  return absl::OkStatus();
}
template <std::optional<int64_t> ConfigurationText::*kMember>
absl::Status SetNumber(const std::string& value, ConfigurationText& text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number)) {
    return absl::InvalidArgumentError(absl::StrCat("'", value, "'; valid: a whole number"));
  }
  text.*kMember = number;
  return absl::OkStatus();
}

const std::vector<std::pair<absl::string_view, Setter>>& Setters() {
  using T = ConfigurationText;
  static const auto& setters = *new std::vector<std::pair<absl::string_view, Setter>>{
      {"kernel", SetText<&T::kernel>}, {"gate", SetText<&T::gate>},
      {"memcg", SetText<&T::memcg>},   {"order", SetText<&T::order>},
      {"memsw", SetText<&T::memsw>},   {"batch", SetNumber<&T::batch>},
      {"config", Append<&T::config>},  {"cmdline", Append<&T::cmdline>},
      {"rest", SetText<&T::rest>},     {"irq", SetText<&T::irq>},
      {"workload", SetText<&T::workload>}, {"region", SetNumber<&T::region>},
  };
  return setters;
}

// Arms take turns in one round, so what surrounds the charge has to be the same.
absl::Status CheckArms(const std::vector<CompareArm>& arms) {
  if (arms.size() < 2 || arms.size() > kMostArms) {
    return absl::InvalidArgumentError(
        absl::StrCat(arms.size(), " configurations; valid: 2 to ", kMostArms, ", as in v4.0,memcg=root"));
  }
  for (const CompareArm& arm : arms) {
    const Configuration& c = arm.configuration;
    if (c.machine != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("machine ", c.machine->given, " in a comparison in time; valid: native"));
    }
    if (c.rest != arms[0].configuration.rest) {
      return absl::InvalidArgumentError(absl::StrCat("rest=", RestName(c.rest), " beside rest=",
                                                     RestName(arms[0].configuration.rest),
                                                     "; valid: the same for all"));
    }
  }
  return absl::OkStatus();
}

class Measurement {
 public:
  Measurement(CompareResult& result, std::vector<const Configuration*> arms)
      : result_(result),
        configurations_(std::move(arms)),
        random_(result.options.seed + 1),
        paired_(std::vector<Runner*>(configurations_.size()), result.options.seed) {}

  absl::Status Run() {
    const CompareOptions& options = result_.options;
    const uint64_t begin = native::NowNs();
    const auto seconds = [&] { return static_cast<double>(native::NowNs() - begin) * 1e-9; };
    const double each = std::max(options.seconds / kPlacements, kLeastPlacementSeconds);
    absl::Status status;
    while (status.ok() && (seconds() < options.seconds || result_.placements == 0)) {
      if (options.progress) options.progress("comparing", std::min(1.0, seconds() / options.seconds));
      status = Place();
      const double until = seconds() + each;
      if (status.ok()) status = paired_.Round();  // warms
      do {
        if (status.ok()) status = paired_.Round();
      } while (status.ok() && seconds() < until);
      if (status.ok()) ++result_.placements;
      if (options.until > 0 && result_.placements >= kLeastPlacements && Widest() <= options.until) break;
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
    auto runners = OpenArms(configurations_, result_.options.stop, random_);
    if (!runners.ok()) return runners.status();
    paired_.Replace(Pointers(*runners));
    runners_ = *std::move(runners);
    return absl::OkStatus();
  }

  double Widest() const {
    double widest = 0;
    for (size_t arm = 1; arm < configurations_.size(); ++arm) {
      const Interval interval = paired_.Difference(arm, 0);
      widest = std::max(widest, interval.high - interval.low);
    }
    return widest;
  }

  CompareResult& result_;
  std::vector<const Configuration*> configurations_;
  Random random_;
  Paired paired_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

}  // namespace

absl::StatusOr<CompareArm> ParseCompareArm(const std::string& text, const ConfigurationText& shared) {
  ConfigurationText wanted = shared;
  wanted.machine = "native";
  const std::vector<std::string> words = absl::StrSplit(text, ',');
  for (const std::string& word : words) {
    const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    if (parts.size() == 1) {
      wanted.kernel = word;
      continue;
    }
    const auto setter = std::find_if(Setters().begin(), Setters().end(),
                                     [&](const auto& one) { return one.first == parts[0]; });
    if (setter == Setters().end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", word, "' in '", text, "'; valid: KERNEL, or ",
          absl::StrJoin(Setters(), ", ",
                        [](std::string* out, const auto& one) { absl::StrAppend(out, one.first, "="); })));
    }
    const absl::Status status = setter->second(parts[1], wanted);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(parts[0], " ", status.message(), " in '", text, "'"));
    }
  }
  if (!wanted.faults.has_value()) wanted.faults = kSlice;
  auto configuration = Resolve(wanted);
  if (!configuration.ok()) return configuration.status();
  return CompareArm{text, *std::move(configuration), {}, {}, {}, {}};
}

absl::StatusOr<CompareResult> Compare(std::vector<CompareArm> arms, const CompareOptions& options) {
  if (auto status = CheckArms(arms); !status.ok()) return status;
  CompareResult result;
  result.options = options;
  result.arms = std::move(arms);
  result.slice = result.arms[0].configuration.workload.faults.n;
  std::vector<const Configuration*> configurations;
  for (CompareArm& arm : result.arms) {
    auto counts = CountExactly(arm.configuration, options.stop);
    if (!counts.ok()) return counts.status();
    arm.counts = *std::move(counts);
    configurations.push_back(&arm.configuration);
  }
  const size_t control = configurations.size();
  configurations.push_back(configurations[0]);
  Measurement measurement(result, std::move(configurations));
  if (auto status = measurement.Run(); !status.ok()) return status;
  const Paired& paired = measurement.paired();
  result.control = paired.Difference(control, 0, kVerdictConfidence);
  for (size_t i = 0; i < result.arms.size(); ++i) {
    CompareArm& arm = result.arms[i];
    arm.total = paired.Total(i);
    if (i == 0) continue;
    arm.difference = paired.Difference(i, 0);
    arm.verdict = Judge(arm.difference, paired.Difference(i, 0, kVerdictConfidence), result.control,
                        result.arms[0].total.centre);
  }
  return result;
}

}  // namespace memsim
