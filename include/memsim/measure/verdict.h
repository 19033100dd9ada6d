// What a comparison of two arms says, in words that its numbers allow. The only place that makes them.
//
// Rule      a difference is resolved when its 99 % interval does not touch zero, and that of the control, the
//           first arm compared with itself in the same rounds, does
// Missed    what the run could not have seen: the half-width of the 99 % interval. A true difference under it
//           would have been called "not resolved" as likely as not
// Units     ns per page
#ifndef MEMSIM_MEASURE_VERDICT_H_
#define MEMSIM_MEASURE_VERDICT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "memsim/measure/statistics.h"

namespace memsim {

// 1 % false alarms.
inline constexpr double kVerdictConfidence = 0.99;

enum class VerdictKind : uint8_t {
  kResolved,
  kNotResolved,
  kTooFew,        // values for an interval of 99 %
  kControlFails,  // the first arm differs from itself
};

struct Verdict {
  VerdictKind kind = VerdictKind::kTooFew;
  Interval shown;      // 95 %, of second minus first
  double base = 0;     // the first arm
  double missed = 0;   // what would have been missed
  double control = 0;  // how far the first arm is from itself, when that is resolved
};

// `shown` and `strict` are the 95 % and 99 % intervals of the same differences, `control` the 99 % interval
// of the first arm against itself.
Verdict Judge(const Interval& shown, const Interval& strict, const Interval& control, double base);

// One sentence: "B is 1.31 ns (4.9 %) slower than A, 95 % interval 1.24…1.38: resolved".
std::string VerdictText(const Verdict& verdict, absl::string_view first, absl::string_view second);
absl::string_view VerdictName(VerdictKind kind);

}  // namespace memsim

#endif  // MEMSIM_MEASURE_VERDICT_H_
