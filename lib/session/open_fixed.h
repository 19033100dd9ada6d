#ifndef MEMSIM_LIB_SESSION_OPEN_FIXED_H_
#define MEMSIM_LIB_SESSION_OPEN_FIXED_H_

#include "lib/session/open_native.h"
#include "lib/session/openers.h"

namespace memsim {

template <class K>
SessionOr OpenFixed<K>::Open(const SessionConfig& config) {
  return OpenNative<K, FixedKnobs<K>>(config);
}

}  // namespace memsim

#endif  // MEMSIM_LIB_SESSION_OPEN_FIXED_H_
