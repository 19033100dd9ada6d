// Paired, interleaved timing: every round runs every arm once, in an order drawn anew from a seed, so
// that drift and neighbours hit all arms alike. What is compared is the difference inside a round.
//
// Units     nanoseconds of CPU time per page: charge plus uncharge, rest of the fault included. CPU time,
//           as in pft's faults/cpu, so that being preempted costs nothing; what a preemption does to the
//           caches stays in
// Placement where a world happens to lie in memory can cost more than what is compared. So the arms are
//           given new worlds now and then (Replace); once there are two, an interval is made from the
//           medians of the placements and includes what placement does
// Layout    where code lies can, too. Placements take turns at the replicas of the code; once there are
//           two, an interval is made from the medians of the replicas and includes what layout does
// Errors    an arm that faulted no page stops the comparison with an error
#ifndef MEMSIM_MEASURE_PAIRED_H_
#define MEMSIM_MEASURE_PAIRED_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memsim/measure/configuration.h"
#include "memsim/measure/layout.h"
#include "memsim/measure/statistics.h"
#include "memsim/workload/random.h"

namespace memsim {

// Times of one repetition.
struct Timing {
  double charge = 0;    // ns per page
  double uncharge = 0;  // ns per page; 0 when the unmap is inside the rate
  double total() const { return charge + uncharge; }
};

// Errors    FailedPrecondition when no page was faulted (out of memory, or interrupted)
absl::StatusOr<Timing> TimingOf(const ExecResult& result);

// The rest of a fault for arms of one worker: they clear the same pages, for where those lie matters more
// than what is compared.
absl::StatusOr<RestObjects> SharedRest(RestKind kind);

// New worlds for these arms, by arm, all with the same rest of a fault. They are made in an order drawn from
// `random`: who comes first gets the memory that the last worlds gave back, and would get it every time.
// `observers`: none, or one for each arm.
absl::StatusOr<std::vector<std::unique_ptr<Runner>>> OpenArms(
    const std::vector<const Configuration*>& arms, const std::atomic<bool>* stop, Random& random,
    const std::vector<CpuObserver*>& observers = {});
std::vector<Runner*> Pointers(const std::vector<std::unique_ptr<Runner>>& runners);

// What of a timing.
enum class TimingPart : uint8_t { kCharge, kTotal };

class Paired {
 public:
  Paired(std::vector<Runner*> arms, uint64_t seed) : arms_(std::move(arms)), random_(seed) {
    timings_.resize(arms_.size());
  }
  // The same arms in new worlds, executed by this replica of their code.
  void Replace(std::vector<Runner*> arms, int replica = 0);
  // One round over all arms: each executes twice, and the second time counts. The first round in new worlds
  // warms caches and is not kept.
  absl::Status Round();
  int rounds() const { return static_cast<int>(timings_.empty() ? 0 : timings_[0].size()); }

  Interval Charge(size_t arm) const;
  Interval Uncharge(size_t arm) const;
  Interval Total(size_t arm) const;
  // Median of the differences total(a) - total(b) inside the rounds.
  Interval Difference(size_t a, size_t b, double confidence = kConfidence,
                      TimingPart part = TimingPart::kTotal) const;
  // The same with the code where it lies now: layout excluded.
  Interval DifferenceInPlace(size_t a, size_t b, double confidence, TimingPart part) const;
  // The difference in each replica.
  std::vector<double> DifferencesByReplica(size_t a, size_t b) const;
  // Median of total(a) / total(b) inside the rounds.
  Interval Ratio(size_t a, size_t b) const;
  // The medians of the placements, or the rounds of the only one.
  std::vector<double> Medians(size_t arm, TimingPart part) const;
  // What arm `part` adds to `base`, as a share of what `whole` adds to it.
  Interval Residue(size_t base, size_t part, size_t whole) const;

 private:
  struct PlacementOf {
    size_t begin;  // its first round
    int replica;
  };
  // The median of get(round) for every placement.
  template <class Get>
  std::vector<Placed> PlacedValues(Get get) const;
  // The medians of the placements, or the rounds of the only one.
  template <class Get>
  std::vector<double> PlacementValues(Get get) const;
  // What intervals are made from: the centres of the replicas if there are two, else PlacementValues().
  template <class Get>
  std::vector<double> Values(Get get) const;
  template <class Get>
  Interval IntervalOf(Get get, double confidence = kConfidence) const;

  std::vector<Runner*> arms_;
  Random random_;
  bool warm_ = false;
  std::vector<std::vector<Timing>> timings_;  // [arm][round]
  std::vector<PlacementOf> placements_ = {{0, 0}};
};

}  // namespace memsim

#endif  // MEMSIM_MEASURE_PAIRED_H_
