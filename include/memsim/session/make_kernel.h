// From a kernel's type to the entry in the registry, or to a kernel of your own outside it.
//
// A program that makes its own kernel also includes open_fixed.h, open_dynamic.h and open_observed.h;
// the library does that once per kernel, in translation units of their own.
#ifndef MEMSIM_SESSION_MAKE_KERNEL_H_
#define MEMSIM_SESSION_MAKE_KERNEL_H_

#include "memsim/session.h"
#include "memsim/session/openers.h"

namespace memsim {

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

#endif  // MEMSIM_SESSION_MAKE_KERNEL_H_
