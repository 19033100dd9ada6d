// The charge: from "a page is about to be mapped" to "the page belongs to a memcg".
//
// Mirrors   mem_cgroup_try_charge(), get_mem_cgroup_from_mm(), try_charge(), cancel_charge(),
//           mem_cgroup_commit_charge(), commit_charge(); linux v4.0, mm/memcontrol.c
// Units     pages
// Threads   any number of CPUs; see the stock and the counter for their rules
// Cost      root: no LOCK instruction. Child, stock hit: none either; miss: one per level and counter
// Errors    kChargeEnomem when the limit was hit, reclaim did not help and nobody may wait; then
//           nothing is charged
// Left out  swap cache (a fresh anonymous page never is), huge pages, kmem, charge moving, tasks that
//           die in the middle (the -EINTR bypass)
#ifndef MEMSIM_MEMCG_CHARGE_H_
#define MEMSIM_MEMCG_CHARGE_H_

#include <cstdint>

#include "memsim/internal/check.h"
#include "memsim/internal/compiler.h"
#include "memsim/memcg/image.h"

namespace memsim {

enum ChargeResult : int { kCharged = 0, kChargeEnomem = -12 };

inline constexpr int kMemCgroupReclaimRetries = 5;

template <class T>
class ChargePath {
 public:
  MEMSIM_IMAGE_PART(T)

  // Charges `page` to the memcg of `mm`'s owner; `*memcgp` is the memcg to commit to, or NULL while
  // the controller is off: from here on the page goes its way by that, whatever the switch says later.
  MEMSIM_OUT_OF_LINE int mem_cgroup_try_charge(Page* page, MmStruct<M>* mm, Memcg** memcgp) {
    MEMSIM_KEEP_CALL();
    Scope scope(Fn::kMemCgroupTryCharge);
    Memcg* memcg = nullptr;
    int result = kCharged;
    M::Work(4);  // stack frame, an argument kept
    if (self().Enabled()) {
      // Branches of the SwapCache, THP and accounting tests; SwapCache and THP again out of a register;
      // arguments of two calls; test of the result, and the value.
      M::Work(18);
      MEMSIM_CHECK(!page->Test(kPgSwapCache), "a fresh anonymous page is not in the swap cache");
      MEMSIM_CHECK(!page->Test(kPgHead), "huge pages are left out");
      if constexpr (!K::kSwapTestInside) KeepLoad(self().globals.do_swap_account.load());
      memcg = get_mem_cgroup_from_mm(mm);
      result = try_charge(memcg, Pages(1));
      memcg->css.css_put();
      if (result != kCharged) memcg = nullptr;
    } else {
      M::Note("the gate is closed: only the NULL store below remains");
    }
    M::Work(1);  // the store through the out-pointer goes to the caller's stack
    *memcgp = memcg;
    return result;
  }

  // Finds the memcg of the mm's owner and takes a reference.
  MEMSIM_OUT_OF_LINE Memcg* get_mem_cgroup_from_mm(MmStruct<M>* mm) {
    Scope scope(Fn::kGetMemCgroupFromMm);
    typename M::RcuGuard rcu;
    Memcg* memcg;
    do {
      M::Work(5);  // NULL tests of mm and memcg, the value
      memcg = self().OwnerMemcg(mm);
      if (memcg == nullptr) memcg = self().globals.root_mem_cgroup.load();
    } while (!memcg->css.css_tryget_online());
    return memcg;
  }

  // Takes `n` pages from this CPU's stock or from the counters.
  MEMSIM_OUT_OF_LINE int try_charge(Memcg* memcg, Pages n) {
    Scope scope(Fn::kTryCharge);
    M::Work(8);  // stack frame, the larger of batch and n, branch of the root test, the value
    if (memcg == self().globals.root_mem_cgroup.load()) {
      M::Note("root is never charged");
      return kCharged;
    }
    if (self().ThisCpuStock().consume_stock(memcg, n, self().knobs.batch())) [[likely]] {
      M::Note("stock hit: no counter is touched");
      return kCharged;
    }
    return TryChargeSlow(memcg, n);
  }

  // Ties the charged page to its memcg. The page is mapped, nobody else sees it yet.
  MEMSIM_OUT_OF_LINE void mem_cgroup_commit_charge(Page* page, Memcg* memcg) {
    MEMSIM_KEEP_CALL();
    Scope scope(Fn::kMemCgroupCommitCharge);
    if (!self().EverEnabled()) return;
    M::Work(2);  // NULL test: the switch may have been off when try_charge asked
    if (memcg == nullptr) return;
    commit_charge(page, memcg, /*lrucare=*/false);
    MEMSIM_CHECK(!page->Test(kPgHead), "huge pages are left out");
    M::Work(19);  // registers saved behind the gate, branch of the THP test, arguments of three calls
    {
      typename M::IrqGuard irq(IrqKind::kDisableEnable);
      self().mem_cgroup_charge_statistics(memcg, page, Pages(1));
      self().memcg_check_events(memcg, page->zone_number());
    }
    M::Work(1);
    if (self().globals.do_swap_account.load() != 0) {
      M::Work(1);
      MEMSIM_CHECK(!page->Test(kPgSwapCache), "a fresh anonymous page is not in the swap cache");
    }
  }

  // `lrucare`: the page may be on an LRU list already. A fresh anonymous page never is.
  MEMSIM_OUT_OF_LINE void commit_charge(Page* page, Memcg* memcg, bool lrucare) {
    Scope scope(Fn::kCommitCharge);
    M::Work(4);  // lrucare, before and after
    MEMSIM_CHECK(!lrucare, "swap-in and page replacement are left out");
    page->mem_cgroup.store(memcg);
  }

  // Gives back a charge that was not committed.
  MEMSIM_OUT_OF_LINE void mem_cgroup_cancel_charge(Memcg* memcg) {
    if (!self().EverEnabled() || memcg == nullptr) return;
    cancel_charge(memcg, Pages(1));
  }

  MEMSIM_OUT_OF_LINE void cancel_charge(Memcg* memcg, Pages n) {
    Scope scope(Fn::kCancelCharge);
    if (memcg == self().globals.root_mem_cgroup.load()) return;
    self().ReturnCharge(memcg, n);
  }

  // What an interrupt may charge at any instruction of the task below it, as 4.x does for socket buffers: one
  // page, straight to the counters, and back. The stock is not for interrupts.
  MEMSIM_COLD void ChargeFromInterrupt() {
    Image<T>& k = self();
    if (!k.compiled_in() || !k.Enabled()) return;
    Memcg* memcg = k.TaskMemcg(k.Stats().current_task.load());
    if (memcg == nullptr || memcg == k.globals.root_mem_cgroup.load()) return;
    PageCounter<M>* failed = nullptr;
    if (!memcg->memory.page_counter_try_charge(Pages(1), &failed)) return;
    memcg->memory.page_counter_uncharge(Pages(1));
  }

 private:
  // A load the kernel makes although this path does not need the value.
  template <class V>
  static void KeepLoad(V value) {
    asm volatile("" : : "r"(value));
  }

  // The stock missed: take a batch from the counters, keep the rest in the stock. When the limit is
  // hit: fall back to the bare number, reclaim, drain all stocks once, retry, and give up with OOM.
  MEMSIM_COLD int TryChargeSlow(Memcg* memcg, Pages n) {
    Image<T>& k = self();
    const bool swap_account = k.globals.do_swap_account.load() != 0;
    Pages batch = k.knobs.batch() > n ? k.knobs.batch() : n;
    bool drained = false;
    int retries = kMemCgroupReclaimRetries;
    for (bool first = true;; first = false) {
      if (!first && k.ThisCpuStock().consume_stock(memcg, n, k.knobs.batch())) return kCharged;
      Memcg* over_limit = TryCounters(memcg, batch, swap_account);
      if (over_limit == nullptr) break;
      if (batch > n) {
        batch = n;
        continue;
      }
      k.mem_cgroup_events(over_limit, kMemcgMax);
      const Pages reclaimed = k.try_to_free_mem_cgroup_pages(over_limit, n);
      if (over_limit->Margin(swap_account) >= n) continue;
      if (!drained) {
        k.drain_all_stock(over_limit);
        drained = true;
        continue;
      }
      if (reclaimed.n != 0) continue;
      if (retries-- > 0) continue;
      k.mem_cgroup_events(over_limit, kMemcgOom);
      k.mem_cgroup_oom(over_limit);
      return kChargeEnomem;
    }
    memcg->css.css_get_many(batch.n);
    if (batch > n) {
      k.ThisCpuStock().refill_stock(memcg, batch - n, k.Give());
    }
    k.HighWalk(memcg, n);
    return kCharged;
  }

  // memsw first, then memory. The memcg whose limit was hit, or null when charged.
  Memcg* TryCounters(Memcg* memcg, Pages batch, bool swap_account) {
    PageCounter<M>* failed = nullptr;
    if (swap_account && !memcg->memsw.page_counter_try_charge(batch, &failed)) {
      return Memcg::FromMemsw(failed);
    }
    if (memcg->memory.page_counter_try_charge(batch, &failed)) return nullptr;
    if (swap_account) memcg->memsw.page_counter_uncharge(batch);
    return Memcg::FromMemory(failed);
  }
};

}  // namespace memsim

#endif  // MEMSIM_MEMCG_CHARGE_H_
