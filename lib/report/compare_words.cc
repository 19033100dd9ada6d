// What every form of a comparison says: the command, the arms, the verdicts, what was published.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/report/compare_parts.h"
#include "lib/report/table.h"
#include "memsim/report/render.h"

namespace memsim {

std::string ArmLetter(size_t arm) { return std::string(1, static_cast<char>('A' + arm)); }

std::string CompareCommand(const CompareResult& r) {
  std::string line = "memsim compare";
  const CompareOptions& options = r.options;
  for (const CompareArm& arm : r.arms) absl::StrAppend(&line, " ", arm.text);
  if (options.shared.machine != "native") absl::StrAppend(&line, " --machine ", options.shared.machine);
  if (options.shared.threads.has_value()) absl::StrAppend(&line, " --threads ", *options.shared.threads);
  if (options.shared.faults.has_value()) absl::StrAppend(&line, " --faults ", *options.shared.faults);
  absl::StrAppend(&line, " --rest ", RestName(r.arms[0].configuration.rest));
  if (r.machine == MachineKind::kNative) {
    absl::StrAppend(&line, " --seconds ", options.seconds);
    if (options.until > 0) absl::StrAppend(&line, " --until ", options.until);
  }
  if (r.machine == MachineKind::kSimulated) absl::StrAppend(&line, " --seeds ", options.seeds);
  return absl::StrCat(line, " --seed ", options.seed);
}

std::string ArmLines(const CompareResult& r) {
  std::string text;
  for (size_t i = 0; i < r.arms.size(); ++i) {
    const Configuration& c = r.arms[i].configuration;
    absl::StrAppend(&text, ArmLetter(i), "  ", c.kernel->name, ", gate ", GateName(c.gate), ", memcg ",
                    c.memcg(), " (", kOffKinds[static_cast<size_t>(c.off())].name, "), rest ",
                    RestName(c.rest));
    if (r.machine == MachineKind::kSimulated) {
      absl::StrAppend(&text, ", ", c.machine->name, ", ", c.threads, c.threads == 1 ? " CPU" : " CPUs");
    } else if (c.threads > 1) {
      absl::StrAppend(&text, ", ", c.threads, " CPUs");
    }
    text += "\n";
  }
  return text;
}

std::string InPlaceLine(const Compared& compared, size_t arm) {
  return InPlaceText(compared.verdict, compared.in_place, compared.in_place_strict, "A", ArmLetter(arm));
}

std::string VerdictLines(const CompareResult& r) {
  std::string text;
  for (size_t i = 1; i < r.arms.size(); ++i) {
    const CompareArm& arm = r.arms[i];
    const Verdict& verdict = r.machine == MachineKind::kTracing ? arm.exact : arm.total.verdict;
    absl::StrAppend(&text, Wrap(VerdictText(verdict, "A", ArmLetter(i)), kColumns, ""));
    if (r.replicas > 1) absl::StrAppend(&text, Wrap(InPlaceLine(arm.total, i), kColumns, ""));
  }
  return text;
}

std::string CompareHeading(const CompareResult& r, const Environment& environment) {
  return absl::StrCat(PartialNote(r.partial), Wrap(CompareCommand(r), kColumns, ""),
                      Wrap(environment.Line(), kColumns, ""));
}

std::vector<double> Rates(const std::vector<double>& ns) {
  std::vector<double> rates;
  for (const double value : ns) rates.push_back(value > 0 ? 1e9 / value : 0);
  return rates;
}

const char* Repeated(const CompareResult& r) {
  return r.machine == MachineKind::kNative ? "placements of the worlds" : "seeds";
}

absl::StatusOr<CompareRenderer> FindCompareFormat(absl::string_view name) {
  if (name == "text") return &CompareText;
  if (name == "mmtests") return &CompareMmtests;
  if (name == "lkp") return &CompareLkp;
  if (name == "json") return &CompareJson;
  if (name == "csv") {
    return [](const CompareResult& result, const Environment&) { return CompareCsv(result); };
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--format '", name, "'; valid: text, mmtests, lkp, json, csv"));
}

}  // namespace memsim
