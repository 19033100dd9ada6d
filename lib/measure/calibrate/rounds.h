// Everything that is measured, round by round.
#ifndef MEMSIM_LIB_MEASURE_CALIBRATE_ROUNDS_H_
#define MEMSIM_LIB_MEASURE_CALIBRATE_ROUNDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/measure/calibrate/host.h"
#include "lib/measure/calibrate/pairs.h"
#include "memsim/measure/calibrate.h"
#include "memsim/measure/statistics.h"

namespace memsim::calibrate {

enum Quantity : uint8_t {
  kClock,  // GHz; everything else in ns
  kInstruction,
  kSharedInstruction,
  kL1,
  kL2,
  kL3,
  kHalfL3,
  kDram,
  kRmw,
  kCall,       // beyond its two instructions
  kEmptyCall,  // also
  kClearL2,
  kClearL3,
  kClear,
  kFault,
  kException,  // what of a fault is not the page's zeroing
  kUnmap,
  kTransferSmt,
  kTransferCore,
  kTransferSocket,
  kLock,
  kIpi,
  kShootdown,
  kLine,
  kQuantities,
};

// Sizes of the buffers, in bytes.
struct Sizes {
  uint64_t l1, l2, l3, half_l3, dram;  // 0: there is no such cache
  uint64_t clear_l2, clear_l3;
};

struct Plan {
  Topology topology;
  Caches caches;
  Sizes sizes;
  std::array<std::vector<CpuPair>, 3> pairs;  // by Distance
  CpuPair pair;               // for what is measured between two CPUs once
  bool has_pair = false;
  std::vector<int> memory_cpus;  // of one socket: they share its memory
};

// Errors    ResourceExhausted when there is too little memory
absl::StatusOr<Plan> MakePlan(const CalibrateOptions& options);

struct Rounds {
  std::array<std::vector<double>, kQuantities> values;
  Interval irq_flag, irq_popf;
  bool partial = false;
};

absl::StatusOr<Rounds> RunRounds(const Plan& plan, const CalibrateOptions& options);

// What a reader of the numbers should know, one paragraph each.
std::vector<std::string> Notes(const Plan& plan, const Rounds& rounds);

}  // namespace memsim::calibrate

#endif  // MEMSIM_LIB_MEASURE_CALIBRATE_ROUNDS_H_
