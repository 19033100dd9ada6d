// Threads that start together, each pinned to a host CPU.
#ifndef MEMSIM_LIB_MEASURE_CALIBRATE_TOGETHER_H_
#define MEMSIM_LIB_MEASURE_CALIBRATE_TOGETHER_H_

#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "memsim/session/threads.h"

namespace memsim::calibrate {

// Waits until done(). Yields now and then, after longer than any answer of a CPU that runs takes.
template <class Done>
void SpinUntil(Done done) {
  for (int spins = 1; !done(); ++spins) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (spins % 4096 == 0) sched_yield();
  }
}

// Calls bodies[i] on cpus[i]. False, and none is called, when one of the threads cannot be pinned.
inline bool Together(const std::vector<int>& cpus, const std::vector<std::function<void()>>& bodies) {
  std::atomic<int> waiting{static_cast<int>(cpus.size())};
  std::atomic<bool> pinned{true};
  std::vector<std::thread> threads;
  threads.reserve(cpus.size());
  for (size_t i = 0; i < cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      if (!PinTo(cpus[i])) pinned.store(false);
      waiting.fetch_sub(1);
      SpinUntil([&] { return waiting.load() == 0; });
      if (pinned.load()) bodies[i]();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return pinned.load();
}

}  // namespace memsim::calibrate

#endif  // MEMSIM_LIB_MEASURE_CALIBRATE_TOGETHER_H_
