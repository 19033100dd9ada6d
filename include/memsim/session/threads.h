// Threads of the native machine.
#ifndef MEMSIM_SESSION_THREADS_H_
#define MEMSIM_SESSION_THREADS_H_

#include <functional>

#include "memsim/units.h"

namespace memsim {

// Calls `body(cpu)` for each of `cpus` modelled CPUs: on the calling thread when there is one, else on a
// thread each, started together and pinned to host CPUs in turn.
void RunOnCpus(int cpus, const std::function<void(CpuId)>& body);

// CPUs this process may use.
int HostCpus();

}  // namespace memsim

#endif  // MEMSIM_SESSION_THREADS_H_
