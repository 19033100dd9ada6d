// Native sessions with knobs that a user turned.
#ifndef MEMSIM_SESSION_OPEN_DYNAMIC_H_
#define MEMSIM_SESSION_OPEN_DYNAMIC_H_

#include "memsim/session/open_native.h"
#include "memsim/session/openers.h"

namespace memsim {

template <class K>
SessionOr OpenDynamic<K>::Open(const SessionConfig& config) {
  return OpenNative<K, DynamicKnobs>(config);
}

}  // namespace memsim

#endif  // MEMSIM_SESSION_OPEN_DYNAMIC_H_
