#ifndef MEMSIM_LIB_SESSION_OPEN_DYNAMIC_H_
#define MEMSIM_LIB_SESSION_OPEN_DYNAMIC_H_

#include "lib/session/open_native.h"
#include "lib/session/openers.h"

namespace memsim {

template <class K>
SessionOr OpenDynamic<K>::Open(const SessionConfig& config) {
  return OpenNative<K, DynamicKnobs>(config);
}

}  // namespace memsim

#endif  // MEMSIM_LIB_SESSION_OPEN_DYNAMIC_H_
