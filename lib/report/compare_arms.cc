// What a user writes for the arms of a comparison, and which can be compared.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/report/compare_parts.h"

namespace memsim {

namespace {

constexpr absl::string_view kNative = "native", kTracing = "tracing";
// Pages of a slice: some 0.1 ms, so that a neighbour disturbs all arms of a round alike.
constexpr int64_t kSlice = 1024;

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
      {"machine", SetText<&T::machine>}, {"chain", SetNumber<&T::chain>},
      {"replica", SetNumber<&T::replica>},
  };
  return setters;
}

}  // namespace

std::string MachineOf(const CompareArm& arm) {
  if (arm.machine == MachineKind::kSimulated) return arm.configuration.machine->given;
  return std::string(arm.machine == MachineKind::kTracing ? kTracing : kNative);
}

absl::Status CheckArms(const std::vector<CompareArm>& arms) {
  if (arms.size() < 2 || arms.size() > kMostArms) {
    return absl::InvalidArgumentError(
        absl::StrCat(arms.size(), " configurations; valid: 2 to ", kMostArms, ", as in v4.0,memcg=root"));
  }
  const CompareArm& first = arms[0];
  for (const CompareArm& arm : arms) {
    const Configuration& c = arm.configuration;
    if (arm.machine != first.machine) {
      return absl::InvalidArgumentError(
          absl::StrCat("machine=", MachineOf(arm), " beside machine=", MachineOf(first),
                       "; valid: one machine for all, or simulated ones alone"));
    }
    // What surrounds the charge has to be the same; on native the arms take turns in one round.
    if (c.rest != first.configuration.rest) {
      return absl::InvalidArgumentError(absl::StrCat("rest=", RestName(c.rest), " beside rest=",
                                                     RestName(first.configuration.rest),
                                                     "; valid: the same for all"));
    }
    if (arm.machine == MachineKind::kNative && c.threads != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--threads ", c.threads, " on native; valid: 1 there, more on tracing or a simulated machine"));
    }
    if (arm.machine != MachineKind::kNative && (c.chain.has_value() || c.replica.has_value())) {
      return absl::InvalidArgumentError(
          absl::StrCat("chain= and replica= need code that runs; valid: machine=", kNative));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CompareArm> ParseCompareArm(const std::string& text, const ConfigurationText& shared) {
  ConfigurationText wanted = shared;
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
  const bool tracing = wanted.machine == kTracing;
  if (tracing) wanted.machine = std::string(kNative);
  if (!wanted.faults.has_value() && wanted.machine == kNative) wanted.faults = kSlice;
  auto configuration = Resolve(wanted);
  if (!configuration.ok()) {
    const absl::Status& status = configuration.status();
    if (!absl::StrContains(status.message(), "in machines")) return status;
    return absl::Status(status.code(), absl::StrCat(status.message(), ", ", kTracing));
  }
  CompareArm arm;
  arm.text = text;
  arm.machine = tracing ? MachineKind::kTracing : configuration->machine_kind();
  arm.configuration = *std::move(configuration);
  return arm;
}

}  // namespace memsim
