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

}  // namespace

Verdict Judge(const Interval& shown, const Interval& strict, const Interval& control, double base) {
  Verdict verdict;
  verdict.shown = shown;
  verdict.base = base;
  verdict.missed = std::max(strict.high - strict.centre, strict.centre - strict.low);
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

std::string VerdictText(const Verdict& v, absl::string_view first, absl::string_view second) {
  switch (v.kind) {
    case VerdictKind::kTooFew:
      return absl::StrCat("no verdict: ", v.shown.n, " placements are too few for an interval of 99 %");
    case VerdictKind::kControlFails:
      return absl::StrCat("no verdict: the control fails, ", first, " differs from itself by ",
                          Digits(std::abs(v.control)), " ns");
    case VerdictKind::kNotResolved:
      return absl::StrCat("not resolved: anything under ", Digits(v.missed), " ns would have been missed");
    case VerdictKind::kResolved: break;
  }
  const double ns = v.shown.centre;
  // The interval as it reads: of the size of the difference, smaller end first.
  const double low = ns < 0 ? -v.shown.high : v.shown.low, high = ns < 0 ? -v.shown.low : v.shown.high;
  return absl::StrCat(second, " is ", Digits(std::abs(ns)), " ns",
                      v.base > 0 ? absl::StrFormat(" (%.1f %%)", 100 * std::abs(ns) / v.base) : "",
                      ns < 0 ? " faster than " : " slower than ", first, ", 95 % interval ", Digits(low), "…",
                      Digits(high), ": resolved");
}

absl::string_view VerdictName(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kResolved: return "resolved";
    case VerdictKind::kNotResolved: return "not resolved";
    case VerdictKind::kTooFew: return "too few placements";
    case VerdictKind::kControlFails: return "control fails";
  }
  return "";
}

}  // namespace memsim
