// A comparison as lkp-tests' `lkp ncompare` prints it. It has no place for an interval, so the verdicts stand
// under the table.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/report/compare_parts.h"
#include "lib/report/table.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

// One line of lkp: a metric of each arm, and its standard deviation in percent.
struct LkpRow {
  struct Value {
    double mean = 0;
    double deviation = 0;  // percent
  };
  std::string metric;
  bool points = false;  // the change in percentage points, as lkp has it for shares
  std::vector<Value> values;

  double Change(size_t arm) const {
    const double more = values[arm].mean - values[0].mean;
    return points || more == 0 ? more : 100 * more / values[0].mean;
  }
};

LkpRow::Value LkpOf(const std::vector<double>& values, double scale = 1) {
  const double mean = Mean(values);
  return {scale * mean, mean > 0 ? 100 * StandardDeviation(values) / mean : 0};
}

// lkp's widths: ten for a value, six for its deviation, which is left out under two percent.
std::string LkpCell(const LkpRow::Value& value) {
  const double size = std::abs(value.mean);
  const std::string text = size < 1000  ? absl::StrFormat("%10.2f", value.mean)
                           : size > 1e8 ? absl::StrFormat("%10.4g", value.mean)
                                        : absl::StrFormat("%10.0f", value.mean);
  const long percent = std::lround(value.deviation);
  return absl::StrCat(text, percent < 2 ? "      " : absl::StrFormat(" ±%3d%%", percent));
}

std::string LkpLine(const LkpRow& row) {
  std::string line = LkpCell(row.values[0]);
  for (size_t i = 1; i < row.values.size(); ++i) {
    const double change = row.Change(i);
    absl::StrAppend(&line,
                    row.points ? absl::StrFormat("%+10.1f  ", change)
                    : std::abs(change) < 100000 ? absl::StrFormat("%+10.1f%% ", change)
                    : std::isinf(change) ? absl::StrFormat("%10s%% ", change > 0 ? "+Inf" : "-Inf")
                                         : absl::StrFormat("%+10.2g%% ", change),
                    LkpCell(row.values[i]));
  }
  return absl::StrCat(line, "  ", row.metric, "\n");
}

// Least change first, as lkp sorts what changed.
std::string LkpSection(std::vector<LkpRow> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LkpRow& a, const LkpRow& b) { return a.Change(1) < b.Change(1); });
  std::string text;
  for (const LkpRow& row : rows) absl::StrAppend(&text, LkpLine(row));
  return text;
}

template <class Of>
LkpRow LkpMetric(const CompareResult& r, std::string metric, Of of) {
  LkpRow row{std::move(metric), false, {}};
  for (const CompareArm& arm : r.arms) row.values.push_back(of(arm));
  return row;
}

std::string LkpTimes(const CompareResult& r) {
  std::string text = LkpLine(LkpMetric(r, "memsim.faults_per_cpu_second", [](const CompareArm& arm) {
    return LkpOf(Rates(arm.fault.values));
  }));
  if (r.machine == MachineKind::kSimulated) {
    absl::StrAppend(&text, LkpLine(LkpMetric(r, "memsim.faults_per_second", [](const CompareArm& arm) {
      return LkpOf(Rates(arm.wall));
    })));
  }
  return absl::StrCat(text, LkpLine(LkpMetric(r, "memsim.ns_per_page", [](const CompareArm& arm) {
    return LkpOf(arm.total.values);
  })));
}

bool Changes(const LkpRow& row) {
  return std::any_of(row.values.begin(), row.values.end(),
                     [&](const LkpRow::Value& value) { return value.mean != row.values[0].mean; });
}

// lkp shows what changed.
std::string LkpCounts(const CompareResult& r) {
  std::vector<LkpRow> rows;
  for (const PerPageField& field : kPerPageFields) {
    LkpRow row = LkpMetric(r, absl::StrCat("memsim.", field.name, "_per_page"), [&](const CompareArm& arm) {
      return LkpRow::Value{arm.counts.memcg_total.*field.value, 0};
    });
    if (Changes(row)) rows.push_back(std::move(row));
  }
  return LkpSection(std::move(rows));
}

std::string LkpFunctions(const CompareResult& r, bool shares, const std::string& prefix) {
  std::vector<LkpRow> rows;
  for (const CompareFunction& function : r.functions) {
    if (function.sum || (!shares && function.group == CompareGroup::kOutside)) continue;
    LkpRow row{absl::StrCat(prefix, function.name), shares, {}};
    for (const CompareFunction::Cell& cell : function.cells) {
      row.values.push_back(shares ? LkpOf(cell.shares, 100) : LkpRow::Value{cell.counts.instructions, 0});
    }
    if (Changes(row)) rows.push_back(std::move(row));
  }
  return LkpSection(std::move(rows));
}

// Which of the functions' times the run can tell apart.
std::string LkpResolved(const CompareResult& r) {
  std::string text;
  for (size_t i = 1; i < r.arms.size(); ++i) {
    std::vector<std::string> names;
    for (const CompareFunction& function : r.functions) {
      if (!function.sum && IsResolved(function.cells[i].ns.verdict.kind)) names.push_back(function.name);
    }
    absl::StrAppend(&text, Wrap(absl::StrCat(ArmLetter(i), " against A, resolved by function: ",
                                             names.empty() ? "none" : absl::StrJoin(names, ", ")),
                                kColumns, ""));
  }
  return text;
}

std::string LkpHeader(const CompareResult& r) {
  const Configuration& c = r.arms[0].configuration;
  std::string text = absl::StrCat(std::string(89, '='), "\nmachine/rest/threads/workload/testcase:\n  ",
                                  MachineOf(r.arms[0]), "/", RestName(c.rest), "/", c.threads, "/",
                                  c.workload.name, "/memsim\n\nconfiguration:\n");
  std::string names, rules, first, second;
  for (size_t i = 0; i < r.arms.size(); ++i) {
    const int width = i == 0 ? 16 : 27;
    absl::StrAppend(&text, "  ", ArmLetter(i), "  ", r.arms[i].text, "\n");
    absl::StrAppendFormat(
        &names, "%-*s ", width,
        absl::StrCat(ArmLetter(i), "  ", r.arms[i].text).substr(0, static_cast<size_t>(width)));
    absl::StrAppend(&rules, std::string(static_cast<size_t>(width), '-'), " ");
    absl::StrAppend(&first, i == 0 ? "         %stddev" : "     %change         %stddev");
    absl::StrAppend(&second, i == 0 ? "             \\  " : "        |                \\  ");
  }
  return absl::StrCat(text, "\n", names, "\n", rules, "\n", first, "\n", second, "\n");
}

}  // namespace

std::string CompareLkp(const CompareResult& r, const Environment& environment) {
  std::string text =
      absl::StrCat(CompareHeading(r, environment), "\n", LkpHeader(r), Timed(r) ? LkpTimes(r) : "",
                   LkpCounts(r), LkpFunctions(r, false, "memsim.instructions_per_page."));
  const bool sampled = TimedByFunction(r);
  if (sampled) {
    const char* const event = r.machine == MachineKind::kSimulated              ? "cycles"
                              : absl::StartsWith(r.sampling.mechanism, "perf") ? "task-clock"
                                                                                : "cpu-clock";
    absl::StrAppend(&text, LkpFunctions(r, true, absl::StrCat("perf-profile.self.", event, ".")));
  }
  absl::StrAppend(&text, "\n", VerdictLines(r), PublishedLines(r));
  if (sampled) absl::StrAppend(&text, LkpResolved(r));
  if (!Timed(r)) return absl::StrCat(text, "Counts are exact, in the controller.\n");
  const std::string note = absl::StrCat(
      "Means and deviations over ", Repeated(r),
      "; under 2 % a deviation is not shown. Counts are exact, in the controller.",
      sampled ? " perf-profile: percent of the samples; its change is in points." : "");
  return absl::StrCat(text, Wrap(note, kColumns, ""));
}

}  // namespace memsim
