#include "memsim/measure/layout.h"

#include <algorithm>
#include <map>

namespace memsim {

namespace {

// By replica, in the order in which they came.
std::map<int, std::vector<double>> Grouped(const std::vector<Placed>& placed) {
  std::map<int, std::vector<double>> groups;
  for (const Placed& one : placed) groups[one.replica].push_back(one.value);
  return groups;
}

}  // namespace

int ReplicasIn(const std::vector<Placed>& placed) { return static_cast<int>(Grouped(placed).size()); }

// Where worlds lie gives values in two or three groups, between which a median would jump.
std::vector<double> ByReplica(const std::vector<Placed>& placed) {
  std::vector<double> centres;
  for (const auto& [replica, values] : Grouped(placed)) centres.push_back(RankInterval(values).centre);
  return centres;
}

Interval WithLayout(const std::vector<Placed>& placed, double confidence) {
  return RankInterval(ByReplica(placed), confidence);
}

Interval InPlace(const std::vector<Placed>& placed, double confidence) {
  const std::map<int, std::vector<double>> groups = Grouped(placed);
  size_t sweeps = groups.empty() ? 0 : placed.size();
  for (const auto& [replica, values] : groups) sweeps = std::min(sweeps, values.size());
  const size_t blocks = std::min(sweeps, kBlocks);
  std::vector<double> centres;
  for (size_t block = 0; block < blocks; ++block) {
    std::vector<Placed> some;
    for (const auto& [replica, all] : groups) {
      for (size_t sweep = block * sweeps / blocks; sweep < (block + 1) * sweeps / blocks; ++sweep) {
        some.push_back({all[sweep], replica});
      }
    }
    centres.push_back(RankInterval(ByReplica(some)).centre);
  }
  Interval interval = RankInterval(centres, confidence);
  if (blocks < 2) interval.confidence = 0;
  return interval;
}

}  // namespace memsim
