#include "memsim/measure/slope.h"

#include <utility>

#include "memsim/workload/random.h"

namespace memsim {

Interval SlopeInterval(const std::vector<double>& x, const std::vector<std::vector<double>>& rounds,
                       double confidence) {
  std::vector<double> slopes;
  for (const std::vector<double>& round : rounds) slopes.push_back(Slope(x, round));
  return MedianInterval(std::move(slopes), confidence);
}

Interval StepCost(const RegionTime& with, const RegionTime& without, int rounds, uint64_t seed) {
  constexpr size_t kCounts = kStepCounts.size();
  Random random(seed);
  std::vector<std::vector<double>> differences;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> difference(kCounts);
    for (const size_t timed : ShuffledOrder(2 * kCounts, random)) {
      const size_t i = timed / 2;
      difference[i] += timed % 2 == 0 ? with(i) : -without(i);
    }
    differences.push_back(std::move(difference));
  }
  return SlopeInterval({kStepCounts.begin(), kStepCounts.end()}, differences);
}

}  // namespace memsim
