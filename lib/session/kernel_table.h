// The kernel table's edge: made from models/kernels/all.h by the build, read by the registry.
#ifndef MEMSIM_LIB_SESSION_KERNEL_TABLE_H_
#define MEMSIM_LIB_SESSION_KERNEL_TABLE_H_

#include "absl/types/span.h"
#include "lib/session/openers.h"
#include "memsim/session.h"

namespace memsim {

absl::Span<const Kernel* const> KernelTable();

// Native sessions take the kernel's constants unless a knob was turned.
template <class K>
SessionOr OpenNativeEither(const SessionConfig& config) {
  const bool turned = config.batch.has_value() || config.charge_first.has_value();
  return turned ? OpenDynamic<K>::Open(config) : OpenFixed<K>::Open(config);
}

template <class K>
constexpr Kernel MakeKernel() {
  return {K::kName,
          K::kSource,
          K::kStory,
          K::kConfig,
          K::kDefaultGate,
          K::kChargeBatch,
          K::kChargeFirst,
          &OpenNativeEither<K>,
          &OpenObserved<K>::OpenTracing,
          &OpenObserved<K>::OpenSimulated,
          &OpenObserved<K>::Layout};
}

}  // namespace memsim

#endif  // MEMSIM_LIB_SESSION_KERNEL_TABLE_H_
