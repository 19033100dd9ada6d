// What a comparison of two arms says, in words that its numbers allow. The only place that makes them.
//
// Timed     a difference is resolved when its 99 % interval does not touch zero, and that of the control,
//           the first arm compared with itself in the same rounds, does
// Missed    what the run could not have seen: the half-width of the 99 % interval. A true difference under
//           it would have been called "not resolved" as likely as not
// Simulated a difference is exact for its seed. It is resolved when the 99 % interval of the differences,
//           seed by seed, does not touch zero; that takes eight seeds. The first arm against itself would
//           be zero
// Counted   exact
// Units     ns per page; what is counted, per page
#ifndef MEMSIM_MEASURE_VERDICT_H_
#define MEMSIM_MEASURE_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "memsim/measure/statistics.h"

namespace memsim {

// 1 % false alarms.
inline constexpr double kVerdictConfidence = 0.99;

enum class VerdictKind : uint8_t {
  kResolved,
  kNotResolved,
  kTooFew,        // placements for an interval of 99 %
  kControlFails,  // the first arm differs from itself
  kResolvedOverSeeds,
  kDiffersBySeed,
  kTooFewSeeds,  // for an interval of 99 %
  kSameTime,     // with every seed
  kCounted,      // exact
};

struct Verdict {
  VerdictKind kind = VerdictKind::kTooFew;
  Interval shown;      // of second minus first: 95 %; least and most over the seeds; a count alone
  double base = 0;     // the first arm
  double missed = 0;   // what would have been missed
  double control = 0;  // how far the first arm is from itself, when that is resolved
};

// `shown` and `strict` are the 95 % and 99 % intervals of the same differences, `control` the 99 % interval
// of the first arm against itself.
Verdict Judge(const Interval& shown, const Interval& strict, const Interval& control, double base);
// `differences` of simulated times, each of one seed in both arms; at least one.
Verdict JudgeSeeds(const std::vector<double>& differences, double base);
// Two counts.
Verdict JudgeCounts(double value, double base);

// The median of one value a seed, from the least to the most.
Interval SeedRange(const std::vector<double>& values);

// One sentence: "B is 1.31 ns (4.9 %) slower than A, 95 % interval 1.24…1.38: resolved". `unit`: what was
// counted.
std::string VerdictText(const Verdict& verdict, absl::string_view first, absl::string_view second,
                        absl::string_view unit = "instructions");
// The same for the code where it lies now: "layout excluded: B is 1.31 ns slower than A, 95 % interval
// 1.30…1.32". `shown`, `strict`: the 95 % and 99 % intervals of InPlace(). Empty when there is no verdict
// to add it to.
std::string InPlaceText(const Verdict& verdict, const Interval& shown, const Interval& strict,
                        absl::string_view first, absl::string_view second);
// For a cell of a table: "resolved", "not: <0.52" when anything under 0.52 ns would have been missed.
std::string VerdictCell(const Verdict& verdict);
absl::string_view VerdictName(VerdictKind kind);
// Does it say that the arms differ?
bool IsResolved(VerdictKind kind);

}  // namespace memsim

#endif  // MEMSIM_MEASURE_VERDICT_H_
