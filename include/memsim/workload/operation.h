// What a workload is: a stream of operations per CPU, consumed by one driver.
//
// Contract of an OperationStream:
//   - Next() gives the operations of one CPU in order; false at the end.
//   - Reset() starts over with exactly the same operations: a simulated run may be rehearsed.
//   - A stream knows nothing of kernels, gates and machines.
#ifndef MEMSIM_WORKLOAD_OPERATION_H_
#define MEMSIM_WORKLOAD_OPERATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "memsim/units.h"

namespace memsim {

enum class OpKind : uint8_t {
  kFault,  // write-fault `pages` pages of `mm` from `vpn` on, one after the other
  kUnmap,  // unmap that range
  kMove,   // move the owner of `mm` into `memcg`; what is charged stays charged
  kExit,   // unmap everything of `mm`
};

// Which clock an operation runs under. pft times the charge and the exit apart; page_fault1 has its
// unmap inside the rate.
enum class Phase : uint8_t { kCharge, kUncharge, kUntimed, kCount };
inline constexpr size_t kPhaseCount = static_cast<size_t>(Phase::kCount);

struct Operation {
  OpKind kind = OpKind::kFault;
  Phase phase = Phase::kCharge;
  int32_t mm = 0;
  int32_t memcg = 0;  // kMove only
  uint64_t vpn = 0;
  Pages pages{0};
};

class OperationStream {
 public:
  virtual ~OperationStream() = default;
  virtual bool Next(Operation* op) = 0;
  virtual void Reset() = 0;
};

// The plan of a world: what exists before the first operation.
struct MemcgSpec {
  std::string name;
  int parent = 0;  // index; the root (index 0) has itself
  // In pages; negative: no limit.
  int64_t max = -1;
  int64_t memsw_max = -1;
  int64_t high = -1;
  int64_t soft = -1;
  std::vector<int64_t> thresholds;  // in pages, ascending; at most seven
};

struct MmSpec {
  int memcg = 0;
  Pages size{0};  // of the address space
  int home = 0;   // the CPU its owner runs on; on other CPUs it has threads
};

struct WorldPlan {
  int cpus = 1;
  int zones = 1;  // 1 or 2
  Pages memory{0};
  bool memsw = true;
  std::vector<MemcgSpec> memcgs;  // [0] is the root
  std::vector<MmSpec> mms;
};

}  // namespace memsim

#endif  // MEMSIM_WORKLOAD_OPERATION_H_
