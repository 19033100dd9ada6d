#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/report/json.h"
#include "lib/report/table.h"
#include "memsim/report/compare.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kShown = 0.05;  // instructions a page, below which a difference reads as none

// "A" for the first arm, and so on: a configuration is too long for a sentence.
std::string Letter(size_t arm) { return std::string(1, static_cast<char>('A' + arm)); }

std::string CommandOf(const CompareResult& r) {
  std::string line = "memsim compare";
  for (const CompareArm& arm : r.arms) absl::StrAppend(&line, " ", arm.text);
  absl::StrAppend(&line, " --rest ", RestName(r.arms[0].configuration.rest), " --seconds ",
                  r.options.seconds);
  if (r.options.until > 0) absl::StrAppend(&line, " --until ", r.options.until);
  return absl::StrCat(line, " --seed ", r.options.seed);
}

std::string SignedRange(const Interval& interval, int digits) {
  return absl::StrFormat("%+.*f…%+.*f", digits, interval.low, digits, interval.high);
}

std::string Times(const CompareResult& r) {
  Table table("lrrrrrrr");
  table.Row({"", "ns a page", "95 % interval", "minus A", "95 % interval", "calls", "insns", "gates"});
  table.Rule();
  for (size_t i = 0; i < r.arms.size(); ++i) {
    const CompareArm& arm = r.arms[i];
    const PerPage& counts = arm.counts.memcg_total;
    table.Row({Letter(i), Ns(arm.total.centre), NsRange(arm.total),
               i == 0 ? "" : absl::StrFormat("%+.3f", arm.difference.centre),
               i == 0 ? "" : SignedRange(arm.difference, 3), Count(counts.calls, 2),
               Count(counts.instructions, 1), Count(counts.gates, 2)});
  }
  table.Row({"A again", "", "", absl::StrFormat("%+.3f", r.control.centre), SignedRange(r.control, 3)});
  return table.Text();
}

// Functions of the controller whose exact counts differ between the first arm and another.
std::string Functions(const CompareResult& r) {
  std::string align = "l";
  std::vector<std::string> heading = {"exact instructions a page"};
  for (size_t i = 0; i < r.arms.size(); ++i) {
    align += "r";
    heading.push_back(Letter(i));
  }
  Table table(align);
  table.Row(heading);
  table.Rule();
  bool any = false;
  for (size_t fn = 0; fn < kFnCount; ++fn) {
    const FnInfo& info = Info(static_cast<Fn>(fn));
    if (info.group == FnGroup::kRest) continue;
    std::vector<std::string> row = {std::string(info.name)};
    bool differs = false;
    for (const CompareArm& arm : r.arms) {
      const double instructions = arm.counts.by_function[fn].instructions;
      const double difference = instructions - r.arms[0].counts.by_function[fn].instructions;
      differs |= difference <= -kShown || difference >= kShown;
      row.push_back(Count(instructions, 1));
    }
    if (differs) table.Row(row);
    any |= differs;
  }
  if (!any) return "exact counts: the same in every function of the controller\n";
  return table.Text();
}

}  // namespace

std::string CompareText(const CompareResult& r, const Environment& environment) {
  std::string text = PartialNote(r.partial);
  absl::StrAppend(&text, Wrap(CommandOf(r), kColumns, ""), Wrap(environment.Line(), kColumns, ""));
  const auto keyed = [](const CompareArm& arm) { return arm.configuration.gate == GateKind::kStaticKey; };
  if (std::any_of(r.arms.begin(), r.arms.end(), keyed)) {
    absl::StrAppend(&text, Wrap(absl::StrCat("static keys: ", environment.static_keys), kColumns, ""));
  }
  text += "\n";
  for (size_t i = 0; i < r.arms.size(); ++i) {
    const Configuration& c = r.arms[i].configuration;
    absl::StrAppend(&text, Letter(i), "  ", c.kernel->name, ", gate ", GateName(c.gate), ", memcg ",
                    c.memcg(), " (", kOffKinds[static_cast<size_t>(c.off())].name, "), rest ",
                    RestName(c.rest), "\n");
  }
  absl::StrAppend(&text, "\n", Times(r), "\n");
  for (size_t i = 1; i < r.arms.size(); ++i) {
    absl::StrAppend(&text, Wrap(VerdictText(r.arms[i].verdict, "A", Letter(i)), kColumns, ""));
  }
  absl::StrAppend(&text, "\n", Functions(r), "\n");
  absl::StrAppend(
      &text, Wrap(absl::StrCat(r.rounds, " rounds of ", r.slice, " pages an arm, in random order, in ",
                               r.placements, " placements of the worlds, ", Fixed(r.seconds, 1),
                               " s. Intervals are made from the medians of the placements; \"A again\" is "
                               "the control, with its 99 % interval. Where the code lies is not varied."),
                     kColumns, ""));
  return text;
}

std::string CompareJson(const CompareResult& r, const Environment& environment) {
  Json result = {{"command", CommandOf(r)},     {"rounds", r.rounds},       {"placements", r.placements},
                 {"pages_per_slice", r.slice},  {"seconds", r.seconds},     {"control", ToJson(r.control)},
                 {"code_layout", "not varied"}};
  for (size_t i = 0; i < r.arms.size(); ++i) {
    const CompareArm& arm = r.arms[i];
    Json one = {{"arm", arm.text},
                {"configuration", ToJson(arm.configuration)},
                {"ns_per_page", ToJson(arm.total)},
                {"counts", ToJson(arm.counts)}};
    if (i > 0) {
      one["difference"] = ToJson(arm.difference);
      one["would_have_missed_ns"] = arm.verdict.missed;
      one["verdict"] = std::string(VerdictName(arm.verdict.kind));
      one["sentence"] = VerdictText(arm.verdict, "A", Letter(i));
    }
    result["arms"].push_back(std::move(one));
  }
  return JsonDocument("memsim.compare/1", r.partial, std::move(result), environment);
}

std::string CompareCsv(const CompareResult& r) {
  std::string text = "arm,ns,ns_low,ns_high,difference,difference_low,difference_high,missed,verdict\n";
  for (size_t i = 0; i < r.arms.size(); ++i) {
    const CompareArm& arm = r.arms[i];
    absl::StrAppendFormat(&text, "\"%s\",%g,%g,%g,", arm.text, arm.total.centre, arm.total.low,
                          arm.total.high);
    if (i == 0) {
      text += ",,,,\n";
      continue;
    }
    absl::StrAppendFormat(&text, "%g,%g,%g,%g,%s\n", arm.difference.centre, arm.difference.low,
                          arm.difference.high, arm.verdict.missed,
                          std::string(VerdictName(arm.verdict.kind)));
  }
  return text;
}

}  // namespace memsim
