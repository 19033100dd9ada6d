// The generators behind the workloads.
#ifndef MEMSIM_LIB_WORKLOAD_STREAMS_H_
#define MEMSIM_LIB_WORKLOAD_STREAMS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "memsim/units.h"
#include "memsim/workload/operation.h"

namespace memsim {

// Faults the slice from its start, unmaps it, and again, until `faults` pages were asked for.
struct SweepSpec {
  int mm = 0;
  Pages slice{0};
  Pages faults{0};
  bool uncharge_in_rate = false;
};
std::unique_ptr<OperationStream> MakeSweep(SweepSpec spec);

// Random operations on the mms [first_mm, first_mm + mms), at the end an exit of each.
struct ChurnSpec {
  uint64_t seed = 1;
  int first_mm = 0;
  int mms = 1;
  std::vector<int> groups;  // memcg indices an mm may be moved to
  Pages region{0};
  Pages burst{1};
  Pages faults{0};
};
std::unique_ptr<OperationStream> MakeChurn(ChurnSpec spec);

}  // namespace memsim

#endif  // MEMSIM_LIB_WORKLOAD_STREAMS_H_
