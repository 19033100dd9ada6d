#include "memsim/measure/verdict.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace memsim {

namespace {

bool TouchesZero(const Interval& interval) { return interval.low <= 0 && interval.high >= 0; }

// Two digits of a small difference: 0.031, 0.31, 3.1, 31.
std::string Digits(double ns) {
  const double size = std::abs(ns);
  return absl::StrFormat("%.*f", size < 0.1 ? 3 : size < 10 ? 2 : 1, ns);
}

// "24.9 ns (28.7 %) faster than A"
std::string Faster(const Verdict& v, absl::string_view first) {
  const double ns = v.shown.centre;
  return absl::StrCat(Digits(std::abs(ns)), " ns",
                      v.base > 0 ? absl::StrFormat(" (%.1f %%)", 100 * std::abs(ns) / v.base) : "",
                      ns < 0 ? " faster than " : " slower than ", first);
}

// The interval as it reads: of the size of the difference, smaller end first.
std::string Sizes(const Interval& shown) {
  const bool less = shown.centre < 0;
  return absl::StrCat(Digits(less ? -shown.high : shown.low), "…", Digits(less ? -shown.low : shown.high));
}

// What would have been missed: half the width of the 99 % interval.
double Missed(const Interval& strict) {
  return std::max(strict.high - strict.centre, strict.centre - strict.low);
}

std::string Seeds(int n) { return absl::StrCat(n, n == 1 ? " seed" : " seeds"); }

std::string SeedText(const Verdict& v, absl::string_view first, absl::string_view second) {
  const Interval& shown = v.shown;
  switch (v.kind) {
    case VerdictKind::kSameTime:
      return absl::StrCat(second, " takes the same time as ", first, " with ", Seeds(shown.n),
                          ": exact for ", shown.n == 1 ? "it" : "them");
    case VerdictKind::kResolvedOverSeeds:
      return absl::StrCat(second, " is ", Faster(v, first), ", ", Sizes(shown), " over ", Seeds(shown.n),
                          ", exact for each: resolved");
    case VerdictKind::kDiffersBySeed:
      return absl::StrFormat("not resolved: %s minus %s differs by seed, %+.2f…%+.2f ns over %s", second,
                             first, shown.low, shown.high, Seeds(shown.n));
    default: break;
  }
  if (shown.n == 1) {
    return absl::StrCat(second, " is ", Faster(v, first), ": exact for its one seed, which shows no spread");
  }
  return absl::StrCat(second, " is ", Faster(v, first), ", ", Sizes(shown), " over ", Seeds(shown.n),
                      ": exact for them; a verdict takes eight");
}

std::string CountText(const Verdict& v, absl::string_view first, absl::string_view second,
                      absl::string_view unit) {
  const double more = v.shown.centre;
  if (more == 0) return absl::StrCat(second, " makes as many ", unit, " a page as ", first, ": exact");
  return absl::StrCat(second, " makes ", Digits(std::abs(more)), more < 0 ? " fewer " : " more ", unit,
                      " a page than ", first,
                      v.base > 0 ? absl::StrFormat(" (%+.1f %%)", 100 * more / v.base) : "", ": exact");
}

}  // namespace

Verdict Judge(const Interval& shown, const Interval& strict, const Interval& control, double base) {
  Verdict verdict;
  verdict.shown = shown;
  verdict.base = base;
  verdict.missed = Missed(strict);
  if (strict.confidence < kVerdictConfidence || control.confidence < kVerdictConfidence) {
    verdict.kind = VerdictKind::kTooFew;
  } else if (!TouchesZero(control)) {
    verdict.kind = VerdictKind::kControlFails;
    verdict.control = control.centre;
  } else {
    verdict.kind = TouchesZero(strict) ? VerdictKind::kNotResolved : VerdictKind::kResolved;
  }
  return verdict;
}

Interval SeedRange(const std::vector<double>& values) {
  Interval range = MedianInterval(values);
  if (values.empty()) return range;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  range.low = *least;
  range.high = *most;
  return range;
}

Verdict JudgeSeeds(const std::vector<double>& differences, double base) {
  Verdict verdict;
  verdict.shown = SeedRange(differences);
  verdict.base = base;
  const Interval strict = MedianInterval(differences, kVerdictConfidence);
  if (verdict.shown.low == 0 && verdict.shown.high == 0) {
    verdict.kind = VerdictKind::kSameTime;
  } else if (strict.confidence < kVerdictConfidence) {
    // Few seeds that do not agree say so at once.
    verdict.kind = TouchesZero(verdict.shown) ? VerdictKind::kDiffersBySeed : VerdictKind::kTooFewSeeds;
  } else {
    verdict.kind = TouchesZero(strict) ? VerdictKind::kDiffersBySeed : VerdictKind::kResolvedOverSeeds;
  }
  return verdict;
}

Verdict JudgeCounts(double value, double base) {
  Verdict verdict;
  verdict.kind = VerdictKind::kCounted;
  verdict.shown.centre = verdict.shown.low = verdict.shown.high = value - base;
  verdict.base = base;
  return verdict;
}

std::string VerdictText(const Verdict& v, absl::string_view first, absl::string_view second,
                        absl::string_view unit) {
  switch (v.kind) {
    case VerdictKind::kTooFew:
      return absl::StrCat("no verdict: ", v.shown.n, " placements are too few for an interval of 99 %");
    case VerdictKind::kControlFails:
      return absl::StrCat("no verdict: the control fails, ", first, " differs from itself by ",
                          Digits(std::abs(v.control)), " ns");
    case VerdictKind::kNotResolved:
      return absl::StrCat("not resolved: anything under ", Digits(v.missed), " ns would have been missed");
    case VerdictKind::kResolvedOverSeeds:
    case VerdictKind::kDiffersBySeed:
    case VerdictKind::kTooFewSeeds:
    case VerdictKind::kSameTime: return SeedText(v, first, second);
    case VerdictKind::kCounted: return CountText(v, first, second, unit);
    case VerdictKind::kResolved: break;
  }
  return absl::StrCat(second, " is ", Faster(v, first), ", 95 % interval ", Sizes(v.shown), ": resolved");
}

std::string InPlaceText(const Verdict& verdict, const Interval& shown, const Interval& strict,
                        absl::string_view first, absl::string_view second) {
  if (verdict.kind != VerdictKind::kResolved && verdict.kind != VerdictKind::kNotResolved) return "";
  if (strict.confidence < kVerdictConfidence) {
    return absl::StrCat("layout excluded: no verdict, ", strict.n, " sweeps over the replicas are too few");
  }
  const std::string missed =
      absl::StrCat("anything under ", Digits(Missed(strict)), " ns would have been missed");
  if (TouchesZero(strict)) return absl::StrCat("layout excluded: not resolved, ", missed);
  Verdict here = verdict;
  here.shown = shown;
  return absl::StrCat("layout excluded: ", second, " is ", Faster(here, first), ", 95 % interval ",
                      Sizes(shown), "; ", missed);
}

std::string VerdictCell(const Verdict& v) {
  switch (v.kind) {
    case VerdictKind::kResolved:
    case VerdictKind::kResolvedOverSeeds: return "resolved";
    case VerdictKind::kNotResolved: return absl::StrCat("not: <", Digits(v.missed));
    case VerdictKind::kTooFew: return "too few";
    case VerdictKind::kControlFails: return "no control";
    case VerdictKind::kDiffersBySeed: return "by seed";
    case VerdictKind::kTooFewSeeds: return Seeds(v.shown.n);
    case VerdictKind::kSameTime: return "the same";
    case VerdictKind::kCounted: return "exact";
  }
  return "";
}

absl::string_view VerdictName(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kResolved:
    case VerdictKind::kResolvedOverSeeds: return "resolved";
    case VerdictKind::kNotResolved: return "not resolved";
    case VerdictKind::kTooFew: return "too few placements";
    case VerdictKind::kControlFails: return "control fails";
    case VerdictKind::kDiffersBySeed: return "differs by seed";
    case VerdictKind::kTooFewSeeds: return "too few seeds";
    case VerdictKind::kSameTime: return "same time";
    case VerdictKind::kCounted: return "exact";
  }
  return "";
}

bool IsResolved(VerdictKind kind) {
  return kind == VerdictKind::kResolved || kind == VerdictKind::kResolvedOverSeeds;
}

}  // namespace memsim
