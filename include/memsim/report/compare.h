// `memsim compare`: configurations on one machine, with differences in all and by function, and verdicts.
//
// Native     paired inside rounds, with a control; times carry intervals. By function: samples
// Tracing    exact counts
// Simulated  every arm with the same seeds; exact for them, with the spread over them. The arms may be on
//            different machines
// Arms      the first is what the others are compared with; on native it runs twice, the second time as the
//           control
// Rounds    every arm faults and unmaps one slice of pages twice, in an order drawn anew from the seed; the
//           second time counts, for the first finds caches and branch predictor as another arm left them
// Placement new worlds for all arms after a few rounds: where structures lie in memory is part of the noise,
//           so an interval is made from the medians of the placements. The first round of each is warm-up
// Layout    the placements take turns at the replicas of the kernels' code (memsim/measure/places.h), and an
//           interval is made from the centres of the replicas
// Stops     when every 95 % interval is narrower than asked, but not before kLeastPlacements; else when time
//           is up
// Units     ns of CPU time per page, charge and uncharge, rest of the fault included; counts per page
#ifndef MEMSIM_REPORT_COMPARE_H_
#define MEMSIM_REPORT_COMPARE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/measure/configuration.h"
#include "memsim/measure/places.h"
#include "memsim/measure/verdict.h"
#include "memsim/report/profile.h"

namespace memsim {

inline constexpr int kMostArms = 8;
inline constexpr int kLeastPlacements = 16;  // eight would do for 99 %, but say little
// Of the time, for the samples by function.
inline constexpr double kSampledPart = 0.2;

// One time of an arm and its difference to that of the first. Native: 95 % intervals of the replicas.
// Simulated: the median of the seeds, from the least to the most.
struct Compared {
  Interval value;
  Interval difference;
  Verdict verdict;             // none for the first arm
  std::vector<double> values;  // by placement or seed
  // Native, with replicas: the difference with layout excluded, 95 % and 99 %.
  Interval in_place, in_place_strict;
};

// What was published of two kernels that differ as the first arm and another do.
struct ComparePublished {
  struct Difference {  // ns a fault, second minus first
    std::string kernel;
    std::optional<double> throughput;  // by the rates of pft
    std::optional<double> samples;     // by the controller's share of the samples
  };
  std::string machine, model, source;
  double noise = 0;                     // ns, between runs of equal kernels
  std::vector<Difference> differences;  // of the arms' kernel first; empty: nothing was published
};

struct CompareArm {
  std::string text;  // as the user wrote it
  MachineKind machine = MachineKind::kNative;
  Configuration configuration;
  // ns per page; nothing on tracing.
  Compared total;  // charge and uncharge
  Compared fault;  // charge alone, as pft's clocks have it
  std::vector<double> wall;        // simulated: of the faults, by seed
  std::vector<double> by_replica;  // native: the difference of `total` in each
  Verdict exact;             // of the instructions in the controller
  ExactCounts counts;        // of the tracing machine
  ComparePublished published;
};

enum class CompareGroup : uint8_t { kController, kAround, kOutside };

// One function in all arms, matched by name; or all functions of a group.
struct CompareFunction {
  struct Cell {
    bool present = false;  // called, sampled, or given time
    Compared ns;
    std::vector<double> shares;  // of the samples, 0…1, by placement or seed
    Verdict exact;               // of the instructions
    PerPage counts;              // zero outside the model
  };
  std::string name;
  CompareGroup group = CompareGroup::kController;
  bool sum = false;  // of its group
  std::vector<Cell> cells;  // by arm
};

struct CompareOptions {
  ReplicaSource replicas = nullptr;  // of the code; null: it lies at one place
  double seconds = 10;
  double until = 0;  // ns: stop when no 95 % interval is wider; 0: use all the time
  uint64_t seed = 1;
  int seeds = 8;             // simulated; a verdict takes as many
  ConfigurationText shared;  // what all arms have in common, for the command line
  const std::atomic<bool>* stop = nullptr;
  std::function<void(absl::string_view what, double done)> progress;
};

struct CompareResult {
  MachineKind machine = MachineKind::kNative;
  std::vector<CompareArm> arms;
  std::vector<CompareFunction> functions;  // each group: its sum, then its functions, most first
  CompareOptions options;
  bool partial = false;  // interrupted
  // Native.
  Interval control;  // the first arm against itself, 99 %
  int64_t slice = 0;  // pages an arm faults in a round
  int rounds = 0;
  int placements = 0;
  int replicas = 1;       // 1: the code lay at one place,
  std::string one_place;  // and why
  double seconds = 0;
  struct Sampling {
    std::string mechanism;
    std::string why;
    int placements = 0;
    double seconds = 0;
    int64_t samples = 0;  // of the arm that has the fewest
  } sampling;
  // Simulated.
  int seeds = 0;  // that all arms finished
};

// "kernel=v4.0,gate=flag,memcg=root"; a word without "=" is a kernel. What is not said comes from `shared`,
// whose machine may also be "tracing".
// Errors    InvalidArgument or NotFound, one line that says what is valid
absl::StatusOr<CompareArm> ParseCompareArm(const std::string& text, const ConfigurationText& shared);

// Errors    InvalidArgument for arms that cannot be compared; Cancelled when nothing had been measured
absl::StatusOr<CompareResult> Compare(std::vector<CompareArm> arms, const CompareOptions& options);

}  // namespace memsim

#endif  // MEMSIM_REPORT_COMPARE_H_
