#include "memsim/session/threads.h"

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace memsim {

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

bool PinTo(int host_cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(host_cpu, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

int HostCpus() { return static_cast<int>(AllowedCpus().size()); }

void RunOnCpus(int cpus, const std::function<void(CpuId)>& body) {
  if (cpus == 1) {
    cpu_set_t before;
    const bool known = sched_getaffinity(0, sizeof(before), &before) == 0;
    PinTo(sched_getcpu());  // a refusal costs precision, not correctness
    body(0);
    if (known) sched_setaffinity(0, sizeof(before), &before);
    return;
  }
  const std::vector<int> host = AllowedCpus();
  std::atomic<int> waiting{cpus};
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(cpus));
  for (CpuId cpu = 0; cpu < cpus; ++cpu) {
    threads.emplace_back([&, cpu] {
      PinTo(host[static_cast<size_t>(cpu) % host.size()]);
      waiting.fetch_sub(1);
      while (waiting.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
      body(cpu);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

absl::StatusOr<RestObjects> RestFor(const SessionConfig& config) {
  if (!config.rest_of_fault.empty()) return config.rest_of_fault;
  RestObjects rest;
  for (int cpu = 0; cpu < config.plan.cpus; ++cpu) {
    auto made = RestOfFault::Create(config.rest);
    if (!made.ok()) return made.status();
    rest.push_back(*std::move(made));
  }
  return rest;
}

}  // namespace memsim
