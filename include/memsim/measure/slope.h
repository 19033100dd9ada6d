// The cost of a step that is too small to be timed: the slope of time over 0 to 64 of it in one region. What
// it costs to enter a region and to read the clock is the same for all and cancels out.
//
// Method    every round times the region with each number of steps, and the same region without the step,
//           in an order drawn anew; what is fitted is the difference. The slope of a round is robust
//           against a region that was disturbed, the median over the rounds against a round that was
// Units     ns
// Assumed   each step costs the same. A region of 64 steps that no longer fits a cache of instructions does
//           not
#ifndef MEMSIM_MEASURE_SLOPE_H_
#define MEMSIM_MEASURE_SLOPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "memsim/measure/statistics.h"

namespace memsim {

inline constexpr std::array<int, 8> kStepCounts = {0, 1, 2, 4, 8, 16, 32, 64};

// ns of one pass through the region with kStepCounts[i] steps, by i.
using RegionTime = std::function<double(size_t i)>;

// Cost of one step. `without`: of the same region without its steps; what is between them counts to neither.
Interval StepCost(const RegionTime& with, const RegionTime& without, int rounds, uint64_t seed);

// The slope over x of rounds of values: the median of the rounds' slopes.
Interval SlopeInterval(const std::vector<double>& x, const std::vector<std::vector<double>>& rounds,
                       double confidence = kConfidence);

}  // namespace memsim

#endif  // MEMSIM_MEASURE_SLOPE_H_
