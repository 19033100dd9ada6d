// Native sessions with the kernel's own constants.
#ifndef MEMSIM_SESSION_OPEN_FIXED_H_
#define MEMSIM_SESSION_OPEN_FIXED_H_

#include "memsim/session/open_native.h"
#include "memsim/session/openers.h"

namespace memsim {

template <class K>
SessionOr OpenFixed<K>::Open(const SessionConfig& config) {
  return OpenNative<K, FixedKnobs<K>>(config);
}

}  // namespace memsim

#endif  // MEMSIM_SESSION_OPEN_FIXED_H_
