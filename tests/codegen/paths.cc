// The whole native path of v4.0 with four gates, for codegen_test. Nobody runs it; the test reads
// its machine code.
#include "memsim/machine/native.h"
#include "memsim/memcg/kernel_image.h"
#include "models/kernels/v4_0.h"

namespace memsim {

using CodegenMachine = Native<V4_0::kConfig>;
template <class Gate>
using CodegenBundle = Bundle<V4_0, CodegenMachine, Gate, FixedKnobs<V4_0>>;

// A fault and an unmap bring in everything else.
#define MEMSIM_CODEGEN_PATH(Gate)                                                                 \
  template FaultResult FaultPath<CodegenBundle<Gate>>::handle_mm_fault(MmStruct<CodegenMachine>*, \
                                                                       uint64_t);                 \
  template Pages FaultPath<CodegenBundle<Gate>>::zap_pte_range(MmStruct<CodegenMachine>*,         \
                                                               uint64_t, Pages)

MEMSIM_CODEGEN_PATH(ConstantGate<false>);
MEMSIM_CODEGEN_PATH(FlagGate);
MEMSIM_CODEGEN_PATH(AtomicGate);
MEMSIM_CODEGEN_PATH(CompiledOut);

}  // namespace memsim
