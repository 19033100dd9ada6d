// What happens at a limit: reclaim from the LRU tails, drain of all stocks, high, OOM.
//
// Mirrors   try_to_free_mem_cgroup_pages(), drain_all_stock(), drain_local_stock(), mem_cgroup_oom(),
//           mem_cgroup_handle_over_high() (4.4); linux v4.0 and v4.4, mm/memcontrol.c and mm/vmscan.c
// Units     pages; one pass asks for SWAP_CLUSTER_MAX (32)
// Threads   lock order, written down once:
//             zone->lru_lock   isolate: take a reference, leave the list; dropped before the rest
//             page lock        try-lock only; a page that somebody else handles goes back
//             page table lock  of the page's mm: clear the entry if it still maps the page
//           No lock is held while waiting for another CPU; stocks of other CPUs are drained by those
//           CPUs (M::RunOn)
// Errors    a pass that frees nothing returns 0; the caller decides
// Left out  swap (a reclaimed page is dropped as if it had been written out, memsw included), page age
//           and priority, low protection, the kernel's OOM killer: a fault that ends in OOM fails
// Changed   isolates from the inactive and then from the active tail; the kernel moves active pages to
//           the inactive list first
#ifndef MEMSIM_MEMCG_LIMITS_H_
#define MEMSIM_MEMCG_LIMITS_H_

#include <cstdint>

#include "memsim/internal/compiler.h"
#include "memsim/memcg/image.h"

namespace memsim {

template <class T>
class LimitPath {
 public:
  MEMSIM_IMAGE_PART(T)

  // Reclaims at least SWAP_CLUSTER_MAX pages from `target` and the memcgs below it, if there are so
  // many. The pages freed.
  MEMSIM_COLD Pages try_to_free_mem_cgroup_pages(Memcg* target, Pages n) {
    Scope scope(Fn::kReclaim);
    const int want = n.n > kSwapClusterMax ? static_cast<int>(n.n) : kSwapClusterMax;
    int freed = 0;
    // The walk starts at another descendant each time: the kernel's iterator, which all reclaimers of
    // `target` share.
    const size_t count = self().memcgs.size();
    const size_t start = target->ZoneInfo(kZoneNormal).iter_position.add_return(1) % count;
    for (size_t i = 0; i < count && freed < want; ++i) {
      Memcg* memcg = self().memcgs[(start + i) % count];
      if (!memcg->IsDescendantOf(target)) continue;
      for (int zone = 0; zone < self().zone_count && freed < want; ++zone) {
        freed += self().shrink_lruvec(memcg, zone, want - freed);
      }
    }
    return Pages(freed);
  }

  // Asks every CPU whose stock belongs to `root` or below to give it back. Does not wait.
  MEMSIM_COLD void drain_all_stock(Memcg* root) {
    Scope scope(Fn::kDrainAllStock);
    Image<T>& k = self();
    if (k.globals.percpu_charge_mutex.test_and_set(1)) return;  // somebody else is at it
    for (CpuId cpu = 0; cpu < k.cpu_count; ++cpu) {
      Stock& stock = k.StockOf(cpu);
      if (!stock.AnySlot([root](Memcg* memcg, Pages) { return memcg->IsDescendantOf(root); })) continue;
      if (stock.flags.test_and_set(Stock::kFlushingCachedCharge)) continue;
      if (cpu == M::cpu()) {
        drain_local_stock();
      } else {
        M::RunOn(cpu, {[](void* image) { static_cast<Image<T>*>(image)->drain_local_stock(); }, &k});
      }
    }
    k.globals.percpu_charge_mutex.store(0);
  }

  // The work item: drains the stock of the CPU it runs on.
  MEMSIM_COLD void drain_local_stock() {
    Scope scope(Fn::kDrainLocalStock);
    Stock& stock = self().ThisCpuStock();
    stock.drain_stock(self().Give());
    stock.flags.clear(Stock::kFlushingCachedCharge);
  }

  // After a refill: is any level above its high limit?
  void HighWalk(Memcg* memcg, Pages n) {
    for (Memcg* m = memcg; m != nullptr; m = m->Parent()) {
      const int64_t usage = m->memory.count.load();
      if (usage <= m->high.load()) continue;
      if constexpr (K::kHighOnReturn) {
        M::Note("over high: left for the way back to user space");
        TaskStruct<M>* current = self().Stats().current_task.load();
        current->memcg_nr_pages_over_high.add(static_cast<uint32_t>(n.n));
        current->notify_resume.store(1);
        break;
      } else {
        self().mem_cgroup_events(m, kMemcgHigh);
        try_to_free_mem_cgroup_pages(m, n);
      }
    }
  }

  // On the way to user space (4.4): reclaims what HighWalk left behind.
  MEMSIM_OUT_OF_LINE void mem_cgroup_handle_over_high(MmStruct<M>* mm) {
    Scope scope(Fn::kHandleOverHigh);
    TaskStruct<M>* current = self().Stats().current_task.load();
    const uint32_t n = current->memcg_nr_pages_over_high.load();
    if (n == 0) return;
    Memcg* memcg = self().get_mem_cgroup_from_mm(mm);
    for (Memcg* m = memcg; m != nullptr; m = m->Parent()) {
      const int64_t usage = m->memory.count.load();
      if (usage <= m->high.load()) continue;
      self().mem_cgroup_events(m, kMemcgHigh);
      try_to_free_mem_cgroup_pages(m, Pages(n));
    }
    memcg->css.css_put();
    current->memcg_nr_pages_over_high.store(0);
  }

  // Remembers in the task that a user fault ran into the limit; the end of the fault handles it.
  MEMSIM_COLD void mem_cgroup_oom(Memcg* memcg) {
    Scope scope(Fn::kOom);
    TaskStruct<M>* current = self().Stats().current_task.load();
    if (current->memcg_oom_may_oom.load() == 0) return;
    memcg->css.AddReferences(1);
    current->memcg_oom_memcg.store(&memcg->css);
  }

  // pagefault_out_of_memory(): the fault is over and has failed; the reference goes.
  MEMSIM_COLD void mem_cgroup_oom_synchronize() {
    TaskStruct<M>* current = self().Stats().current_task.load();
    Css<M>* css = current->memcg_oom_memcg.load();
    if (css == nullptr) return;
    current->memcg_oom_memcg.store(nullptr);
    current->oom_kills.add(1);
    css->css_put();
  }
};

}  // namespace memsim

#endif  // MEMSIM_MEMCG_LIMITS_H_
