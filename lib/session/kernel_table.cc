// Knows the kernels by name only: each entry is made where that kernel's code is compiled, so that a
// change of one kernel compiles that kernel.
#include "lib/session/kernel_table.h"

#include <array>

namespace memsim {

#define MEMSIM_KERNEL(type, header) extern const Kernel kKernel##type;
#include "models/kernels/all.h"
#undef MEMSIM_KERNEL

absl::Span<const Kernel* const> KernelTable() {
  static constexpr std::array kTable = {
#define MEMSIM_KERNEL(type, header) &kKernel##type,
#include "models/kernels/all.h"
#undef MEMSIM_KERNEL
  };
  return kTable;
}

}  // namespace memsim
