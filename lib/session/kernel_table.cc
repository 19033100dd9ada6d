// Instantiates nothing: each kernel's code is compiled in translation units of its own.
#include "lib/session/kernel_table.h"

#include <array>

#include "memsim/session/make_kernel.h"
#include "memsim_kernel_headers.h"  // generated from models/kernels/all.h

namespace memsim {

absl::Span<const Kernel* const> KernelTable() {
#define MEMSIM_KERNEL(type, header) static constexpr Kernel k##type = MakeKernel<type>();
#include "models/kernels/all.h"
#undef MEMSIM_KERNEL
  static constexpr std::array kTable = {
#define MEMSIM_KERNEL(type, header) &k##type,
#include "models/kernels/all.h"
#undef MEMSIM_KERNEL
  };
  return kTable;
}

}  // namespace memsim
