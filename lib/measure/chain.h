// A cost of known size, put between the faults of a configuration, to see whether a comparison finds it.
//
// Shape     before every kChainPages faults a chain of multiplies, each of which waits for the one before.
//           The processor is made to finish what came before first, or it would do the chain meanwhile; a
//           chain of adds it would not even execute
// Cost      the latency of a multiply, three cycles on most, times multiplies over kChainPages for each
//           page; and that of the waiting, with a chain of none, too
#ifndef MEMSIM_LIB_MEASURE_CHAIN_H_
#define MEMSIM_LIB_MEASURE_CHAIN_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "memsim/workload/operation.h"

namespace memsim {

inline constexpr int64_t kChainPages = 32;

// Waits, multiplies, waits.
void ExecuteChain(int64_t multiplies);

// The stream of a workload with a chain before every kChainPages faults.
class ChainedStream : public OperationStream {
 public:
  ChainedStream(std::unique_ptr<OperationStream> stream, int64_t multiplies)
      : stream_(std::move(stream)), multiplies_(multiplies) {}
  bool Next(Operation* op) override;
  void Reset() override;

 private:
  std::unique_ptr<OperationStream> stream_;
  int64_t multiplies_;
  Operation rest_;  // what is left of the stream's operation
};

}  // namespace memsim

#endif  // MEMSIM_LIB_MEASURE_CHAIN_H_
