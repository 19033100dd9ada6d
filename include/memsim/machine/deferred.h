// Deferred work of a group of modelled CPUs: the mailbox behind M::RunOn and M::After.
//
// Work runs on its CPU between two operations, never inside one, because no model may write another
// CPU's per-CPU data. A CPU is *idle* before its first and after its last operation; whoever asks an
// idle CPU for work does it himself, in that CPU's name (TakeOver), so a drain never waits for a CPU
// that will not come back.
//
// Threads   all members may be called from any thread
// Cost      HasWork() is one relaxed load, polled by the driver between operations
#ifndef MEMSIM_MACHINE_DEFERRED_H_
#define MEMSIM_MACHINE_DEFERRED_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "memsim/machine/machine.h"
#include "memsim/units.h"

namespace memsim {

class Mailboxes {
 public:
  explicit Mailboxes(int cpus) : boxes_(new Box[static_cast<size_t>(cpus)]), cpus_(cpus) {}

  int cpus() const { return cpus_; }

  // Queues `work` for `cpu`, due at `due` on the machine's own clock (0: at once).
  void Post(CpuId cpu, DeferredWork work, uint64_t due = 0) {
    Box& box = boxes_[cpu];
    const std::lock_guard<std::mutex> hold(box.mutex);
    box.work.push_back({work, due});
    box.pending.store(true, std::memory_order_relaxed);
  }

  bool HasWork(CpuId cpu) const { return boxes_[cpu].pending.load(std::memory_order_relaxed); }

  // Runs what is due on `cpu`. The caller is that CPU, or acts for it while it is idle.
  void RunDue(CpuId cpu, uint64_t now) {
    for (;;) {
      DeferredWork next;
      {
        Box& box = boxes_[cpu];
        const std::lock_guard<std::mutex> hold(box.mutex);
        next = TakeDue(box, now);
      }
      if (next.run == nullptr) return;
      next.run(next.argument);
    }
  }

  void SetIdle(CpuId cpu, bool idle) {
    Box& box = boxes_[cpu];
    const std::lock_guard<std::mutex> hold(box.claim);
    box.idle = idle;
  }

  // If `cpu` is idle, calls `act` while the CPU is kept from starting, and says so.
  template <class Act>
  bool TakeOver(CpuId cpu, Act act) {
    Box& box = boxes_[cpu];
    const std::lock_guard<std::mutex> hold(box.claim);
    if (!box.idle) return false;
    act();
    return true;
  }

 private:
  struct Item {
    DeferredWork work;
    uint64_t due;
  };
  struct alignas(64) Box {
    std::atomic<bool> pending{false};
    bool idle = true;        // under claim
    std::mutex claim;        // held while somebody acts for the CPU
    std::mutex mutex;        // protects work
    std::vector<Item> work;  // in the order of posting
  };

  static DeferredWork TakeDue(Box& box, uint64_t now) {
    for (size_t i = 0; i < box.work.size(); ++i) {
      if (box.work[i].due > now) continue;
      const DeferredWork work = box.work[i].work;
      box.work.erase(box.work.begin() + static_cast<std::ptrdiff_t>(i));
      if (box.work.empty()) box.pending.store(false, std::memory_order_relaxed);
      return work;
    }
    return {};
  }

  std::unique_ptr<Box[]> boxes_;
  int cpus_;
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_DEFERRED_H_
