// Threads of the native machine.
#ifndef MEMSIM_SESSION_THREADS_H_
#define MEMSIM_SESSION_THREADS_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "memsim/session.h"

namespace memsim {

// Calls `body(cpu)` for each of `cpus` modelled CPUs: on the calling thread, pinned to where it is, when
// there is one, else on a thread each, started together and pinned to host CPUs in turn.
void RunOnCpus(int cpus, const std::function<void(CpuId)>& body);

// CPUs this process may use.
int HostCpus();
// Their numbers, ascending; never empty. Asks for the calling thread.
std::vector<int> AllowedCpus();

// Pins the calling thread; false when the host refuses.
bool PinTo(int host_cpu);

// What makes the rest of the fault, one per CPU of the configuration; null for RestKind::kNone.
absl::StatusOr<RestObjects> RestFor(const SessionConfig& config);

}  // namespace memsim

#endif  // MEMSIM_SESSION_THREADS_H_
