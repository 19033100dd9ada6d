// The openers of a kernel's sessions: declared here for the registry, defined in open_*.h, instantiated
// once per kernel in translation units of their own.
#ifndef MEMSIM_SESSION_OPENERS_H_
#define MEMSIM_SESSION_OPENERS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "memsim/session.h"

namespace memsim {

using SessionOr = absl::StatusOr<std::unique_ptr<Session>>;

// Native, with the kernel's constants.
template <class K>
struct OpenFixed {
  static SessionOr Open(const SessionConfig& config);
};

// Native, with knobs a user turned.
template <class K>
struct OpenDynamic {
  static SessionOr Open(const SessionConfig& config);
};

// Tracing and simulated, and the kernel's structures.
template <class K>
struct OpenObserved {
  static SessionOr OpenTracing(const SessionConfig& config);
  static SessionOr OpenSimulated(const SessionConfig& config);
  static std::vector<StructInfo> Layout();
};

}  // namespace memsim

#endif  // MEMSIM_SESSION_OPENERS_H_
