// `memsim compare`: configurations on this CPU, paired inside rounds, with a control and a verdict.
//
// Arms      the first is what the others are compared with; it runs twice, the second time as the control
// Rounds    every arm faults and unmaps one slice of pages, in an order drawn anew from the seed
// Placement new worlds for all arms, some fifty times: where structures lie in memory is part of the noise,
//           so an interval is made from the medians of the placements. The first round of each is warm-up
// Stops     when every 95 % interval is narrower than asked, but not before kLeastPlacements; else when time
//           is up
// Units     ns of CPU time per page, charge and uncharge, rest of the fault included
#ifndef MEMSIM_REPORT_COMPARE_H_
#define MEMSIM_REPORT_COMPARE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/measure/configuration.h"
#include "memsim/measure/verdict.h"
#include "memsim/report/profile.h"

namespace memsim {

inline constexpr int kMostArms = 8;
inline constexpr int kLeastPlacements = 16;  // eight would do for 99 %, but say little

struct CompareArm {
  std::string text;  // as the user wrote it
  Configuration configuration;
  Interval total;       // ns per page
  Interval difference;  // to the first arm, 95 %
  Verdict verdict;      // none for the first arm
  ExactCounts counts;   // of the tracing machine
};

struct CompareOptions {
  double seconds = 10;
  double until = 0;  // ns: stop when no 95 % interval is wider; 0: use all the time
  uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(absl::string_view what, double done)> progress;
};

struct CompareResult {
  std::vector<CompareArm> arms;
  Interval control;  // the first arm against itself, 99 %
  CompareOptions options;
  int64_t slice = 0;  // pages an arm faults in a round
  int rounds = 0;
  int placements = 0;
  double seconds = 0;
  bool partial = false;  // interrupted
};

// "kernel=v4.0,gate=flag,memcg=root"; a word without "=" is a kernel. What is not said comes from `shared`.
// Errors    InvalidArgument or NotFound, one line that says what is valid
absl::StatusOr<CompareArm> ParseCompareArm(const std::string& text, const ConfigurationText& shared);

// Errors    InvalidArgument for arms that cannot share rounds; Cancelled when nothing had been measured
absl::StatusOr<CompareResult> Compare(std::vector<CompareArm> arms, const CompareOptions& options);

}  // namespace memsim

#endif  // MEMSIM_REPORT_COMPARE_H_
