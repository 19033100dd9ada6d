// Replicas of the kernels' native code: where code lies costs up to some nanoseconds a page, which is no
// property of the kernel. A comparison spreads its rounds over copies that differ in nothing else.
//
// Shape     a replica is a Kernel whose native sessions run another copy. All copies are the same object
//           file, linked at other places in other order and with other padding (cmake/replicate.sh);
//           nothing is compiled twice. In the library memsim_replicas, which programs that measure link
// Keys      each copy has static keys of its own, so a flip patches one copy
// Left out  turned knobs (batch, order), the tracing and simulated machines: they run the kernel's own code
#ifndef MEMSIM_SESSION_REPLICAS_H_
#define MEMSIM_SESSION_REPLICAS_H_

#include "absl/types/span.h"
#include "memsim/session.h"

namespace memsim {

// Of a kernel of the registry. Empty for any other, and in builds that make none: with sanitizers, or without
// the GNU linker.
absl::Span<const Kernel* const> ReplicasOf(const Kernel& kernel);

}  // namespace memsim

#endif  // MEMSIM_SESSION_REPLICAS_H_
