// Where code lies as noise. Replicas of the same code (memsim/session/replicas.h) are a sample of the
// places where it might have been put; a value of one placement of the worlds belongs to the replica that
// executed it.
//
// Included  what holds for code that is linked anew: an interval over the centres of the replicas, so that
//           their spread is part of it. With 32 it is twice the spread over the square root of 32 wide,
//           either way
// Excluded  what holds for these replicas: a sweep is one placement in each, and sweeps estimate the same
//           number whatever layout does. They are taken together to kBlocks stretches of time, for a shared
//           host has moods that last longer than a sweep. Takes six sweeps for 95 %, eight for 99 %
#ifndef MEMSIM_MEASURE_LAYOUT_H_
#define MEMSIM_MEASURE_LAYOUT_H_

#include <cstddef>
#include <vector>

#include "memsim/measure/statistics.h"

namespace memsim {

// The median of one placement.
struct Placed {
  double value = 0;
  int replica = 0;
};

inline constexpr size_t kBlocks = 12;

int ReplicasIn(const std::vector<Placed>& placed);
// The centre of each replica's placements.
std::vector<double> ByReplica(const std::vector<Placed>& placed);

Interval WithLayout(const std::vector<Placed>& placed, double confidence = kConfidence);
// An unfinished sweep does not count. `n`: of stretches of time; `confidence` is 0 when there are under two.
Interval InPlace(const std::vector<Placed>& placed, double confidence = kConfidence);

}  // namespace memsim

#endif  // MEMSIM_MEASURE_LAYOUT_H_
