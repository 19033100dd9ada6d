// The kernel table's edge: made from models/kernels/all.h by the build, read by the registry.
#ifndef MEMSIM_LIB_SESSION_KERNEL_TABLE_H_
#define MEMSIM_LIB_SESSION_KERNEL_TABLE_H_

#include "absl/types/span.h"
#include "memsim/session.h"

namespace memsim {

absl::Span<const Kernel* const> KernelTable();

}  // namespace memsim

#endif  // MEMSIM_LIB_SESSION_KERNEL_TABLE_H_
