#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/report/compare_parts.h"
#include "lib/report/environment_render.h"
#include "lib/report/table.h"
#include "memsim/report/compare.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

// Below these a function is left out: where both arms have less, and counts do not differ more.
constexpr double kShownNs = 0.05;
constexpr double kShownCount = 0.05;

std::string SignedRange(const Interval& interval, int digits) {
  return absl::StrFormat("%+.*f…%+.*f", digits, interval.low, digits, interval.high);
}

// "-15.3 %"; nothing of nothing.
std::string Percent(double difference, double base) {
  return base > 0 ? absl::StrFormat("%+.1f %%", 100 * difference / base) : "-";
}

// A difference of counts; "." for none.
std::string More(double difference, int digits = 2) {
  const std::string size = Count(difference, digits);
  return difference > 0 && size != "." ? absl::StrCat("+", size) : size;
}

const char* RangeTitle(const CompareResult& r) {
  return r.machine == MachineKind::kSimulated ? "over the seeds" : "95 % interval";
}

std::string Times(const CompareResult& r) {
  const char* const range = RangeTitle(r);
  Table table("lrrrrrrrr");
  table.Row({"", "ns a page", range, "minus A", "", range, "calls", "insns", "gates"});
  table.Rule();
  for (size_t i = 0; i < r.arms.size(); ++i) {
    const CompareArm& arm = r.arms[i];
    const PerPage& counts = arm.counts.memcg_total;
    table.Row({ArmLetter(i), Ns(arm.total.value.centre), NsRange(arm.total.value),
               i == 0 ? "" : absl::StrFormat("%+.3f", arm.total.difference.centre),
               i == 0 ? "" : Percent(arm.total.difference.centre, r.arms[0].total.value.centre),
               i == 0 ? "" : SignedRange(arm.total.difference, 3), Count(counts.calls, 2),
               Count(counts.instructions, 1), Count(counts.gates, 2)});
  }
  if (r.machine == MachineKind::kNative) {
    table.Row({"A again", "", "", absl::StrFormat("%+.3f", r.control.centre),
               Percent(r.control.centre, r.arms[0].total.value.centre), SignedRange(r.control, 3)});
  }
  return table.Text();
}

double Lines(const ExactCounts& counts) {
  double sum = 0;
  for (const double lines : counts.memcg_lines) sum += lines;
  return sum;
}

// What the controller does for a page, in the first arm and another.
std::string ControllerCounts(const CompareResult& r, size_t arm) {
  const ExactCounts& a = r.arms[0].counts;
  const ExactCounts& b = r.arms[arm].counts;
  Table table("lrrrr");
  table.Row({"the controller, a page", "A", ArmLetter(arm), "minus A", ""});
  table.Rule();
  const auto row = [&](absl::string_view what, double first, double other) {
    table.Row({std::string(what), Count(first), Count(other), More(other - first, 3),
               Percent(other - first, first)});
  };
  for (const PerPageField& field : kPerPageFields) {
    row(field.heading, a.memcg_total.*field.value, b.memcg_total.*field.value);
  }
  row("cache lines touched", Lines(a), Lines(b));
  row("instructions, fault included", a.all.instructions, b.all.instructions);
  return table.Text();
}

bool CountsDiffer(const PerPage& a, const PerPage& b) {
  return std::any_of(kPerPageFields.begin(), kPerPageFields.end(), [&](const PerPageField& field) {
    return std::abs(a.*field.value - b.*field.value) >= kShownCount;
  });
}

std::string Label(const CompareFunction& function) {
  return absl::StrCat(function.sum ? "" : "  ", function.name);
}

// Exact counts by function, where they differ.
std::string CountsByFunction(const CompareResult& r, size_t arm) {
  const std::string letter = ArmLetter(arm);
  Table table("lrrrrrrrrr");
  table.Row({absl::StrCat("by function: A and ", letter), "calls", letter, "insns", letter, "minus A", "",
             "loads", "stores", "LOCK"});
  table.Rule();
  bool any = false;
  for (const CompareFunction& function : r.functions) {
    const CompareFunction::Cell& a = function.cells[0];
    const CompareFunction::Cell& b = function.cells[arm];
    if (!CountsDiffer(a.counts, b.counts)) continue;
    any = true;
    const auto count = [](const CompareFunction::Cell& cell, double value) {
      return cell.present ? Count(value, 2) : "-";
    };
    const double more = b.counts.instructions - a.counts.instructions;
    table.Row({Label(function), count(a, a.counts.calls), count(b, b.counts.calls),
               count(a, a.counts.instructions), count(b, b.counts.instructions), More(more),
               Percent(more, a.counts.instructions), More(b.counts.loads - a.counts.loads),
               More(b.counts.stores - a.counts.stores), More(b.counts.rmw - a.counts.rmw)});
  }
  if (!any) return absl::StrCat("A and ", letter, ": the same counts in every function\n");
  return table.Text();
}

// Times by function in the first arm and another, and the exact instructions beside them.
std::string TimesByFunction(const CompareResult& r, size_t arm) {
  const std::string letter = ArmLetter(arm);
  Table table("lrrrrrlr");
  table.Row({absl::StrCat("by function: ns of A and ", letter), "A", letter, "minus A", "", RangeTitle(r),
             "verdict", "insns"});
  table.Rule();
  for (const CompareFunction& function : r.functions) {
    const CompareFunction::Cell& a = function.cells[0];
    const CompareFunction::Cell& b = function.cells[arm];
    if (!a.present && !b.present) continue;
    if (std::max(a.ns.value.centre, b.ns.value.centre) < kShownNs && !CountsDiffer(a.counts, b.counts)) {
      continue;
    }
    const bool modelled = function.group != CompareGroup::kOutside;
    const auto ns = [](const CompareFunction::Cell& cell) {
      return cell.present ? Fixed(cell.ns.value.centre, 2) : "-";
    };
    const Interval& more = b.ns.difference;
    const int digits = std::max(std::abs(more.low), std::abs(more.high)) < 0.1 ? 3 : 2;
    table.Row({Label(function), ns(a), ns(b), absl::StrFormat("%+.*f", digits, more.centre),
               Percent(more.centre, a.ns.value.centre), SignedRange(more, digits), VerdictCell(b.ns.verdict),
               modelled ? More(b.counts.instructions - a.counts.instructions, 1) : ""});
  }
  return table.Text();
}

std::string PlacesText(const CompareResult& r) {
  if (r.replicas == 1) return absl::StrCat("Where the code lies is not varied: ", r.one_place, ".");
  return absl::StrCat("The placements take turns at ", r.replicas,
                      " replicas of the code; \"layout excluded\" is what holds for these.");
}

std::string NativeNotes(const CompareResult& r) {
  std::string text = Wrap(
      absl::StrCat(r.rounds, " rounds of ", r.slice, " pages an arm, in random order, in ", r.placements,
                   " placements of the worlds, ", Fixed(r.seconds, 1),
                   " s. Intervals are made from the ",
                   r.replicas > 1 ? "centres of the replicas" : "medians of the placements",
                   "; \"A again\" is the control, with its 99 % interval. ", PlacesText(r)),
      kColumns, "");
  const CompareResult::Sampling& s = r.sampling;
  if (s.samples == 0) {
    return absl::StrCat(text, "By function: not available: ", s.why.empty() ? "interrupted" : s.why, "\n");
  }
  return absl::StrCat(
      text,
      Wrap(absl::StrCat(
               "By function: at least ", s.samples, " samples an arm (", s.mechanism, ") in ",
               s.placements, " placements, ", Fixed(s.seconds, 1),
               " s; 99 % for all differences together. \"not: <1.2\": not resolved, anything "
               "under 1.2 ns would have been missed. \"-\": not called. insns: exact, minus A; "
               "\".\": as many."),
           kColumns, ""));
}

std::string SimulatedNotes(const CompareResult& r) {
  return Wrap(absl::StrCat("Simulated, exact for its seeds: ", r.seeds, r.seeds == 1 ? " seed" : " seeds",
                           " from ", r.options.seed,
                           ", the same in all arms. A number is the median over the seeds, a range goes from "
                           "the least to the most; resolved: the 99 % interval of the differences, seed by "
                           "seed, does not hold zero, which takes eight seeds. \"-\": not called. Counts "
                           "are exact, of the tracing machine; insns by function: minus A, \".\": as many."),
              kColumns, "");
}

std::string TracingNotes() {
  return Wrap(
      "Exact counts of the tracing machine, per page: charge and uncharge. \"-\": not called; \".\": none. "
      "Loads, stores and LOCK (read-modify-writes) by function are minus A.",
      kColumns, "");
}

}  // namespace

std::string CompareText(const CompareResult& r, const Environment& environment) {
  std::string text = CompareHeading(r, environment);
  const auto keyed = [](const CompareArm& arm) {
    return arm.machine == MachineKind::kNative && arm.configuration.gate == GateKind::kStaticKey;
  };
  if (std::any_of(r.arms.begin(), r.arms.end(), keyed)) {
    absl::StrAppend(&text, Wrap(absl::StrCat("static keys: ", environment.static_keys), kColumns, ""));
  }
  absl::StrAppend(&text, "\n", ArmLines(r), "\n");
  if (!Timed(r)) {
    for (size_t i = 1; i < r.arms.size(); ++i) absl::StrAppend(&text, ControllerCounts(r, i), "\n");
  } else {
    absl::StrAppend(&text, Times(r), "\n");
  }
  absl::StrAppend(&text, VerdictLines(r), PublishedLines(r), "\n");
  for (size_t i = 1; i < r.arms.size(); ++i) {
    absl::StrAppend(&text, TimedByFunction(r) ? TimesByFunction(r, i) : CountsByFunction(r, i), "\n");
  }
  switch (r.machine) {
    case MachineKind::kNative:
      return absl::StrCat(text, NativeNotes(r), "\nThe host, and what it does to these times\n",
                          NotesText(environment, WhichNotes::kAll));
    case MachineKind::kTracing: return absl::StrCat(text, TracingNotes());
    case MachineKind::kSimulated: return absl::StrCat(text, SimulatedNotes(r));
  }
  return text;
}

}  // namespace memsim
