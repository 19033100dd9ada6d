// The uncharge: freed pages are collected by memcg and returned in one go.
//
// Mirrors   mem_cgroup_uncharge_list(), uncharge_list(), uncharge_batch(), memcg_oom_recover();
//           linux v4.0, mm/memcontrol.c
// Units     pages; a list holds at most one gather batch (510 pages)
// Threads   the caller holds the last reference of every page on the list
// Cost      per page: a walk over the page's own line. Per memcg on the list: one LOCK instruction per
//           level and counter, one section with interrupts off. The pages go straight back to the
//           counters, never into the stock
// Left out  huge pages, swap, waking OOM waiters (nobody sleeps here)
#ifndef MEMSIM_MEMCG_UNCHARGE_H_
#define MEMSIM_MEMCG_UNCHARGE_H_

#include <cstdint>

#include "memsim/internal/compiler.h"
#include "memsim/memcg/image.h"

namespace memsim {

template <class T>
class UnchargePath {
 public:
  MEMSIM_IMAGE_PART(T)

  MEMSIM_OUT_OF_LINE void mem_cgroup_uncharge_list(ListHead<M>* pages) {
    MEMSIM_KEEP_CALL();
    Scope scope(Fn::kMemCgroupUnchargeList);
    if (!self().EverEnabled()) return;
    M::Work(1);
    if (!list_empty(*pages)) uncharge_list(pages);
  }

  // Returns `n` pages to the counters and drops their references: what a drained stock and a cancelled
  // charge have in common.
  void ReturnCharge(Memcg* memcg, Pages n) {
    memcg->memory.page_counter_uncharge(n);
    if (self().globals.do_swap_account.load() != 0) memcg->memsw.page_counter_uncharge(n);
    memcg->css.css_put_many(n.n);
  }

  // ReturnCharge as the stock wants it.
  auto Give() {
    return [this](Memcg* memcg, Pages n) { ReturnCharge(memcg, n); };
  }

 private:
  // Pages of one memcg, seen one after the other on a list.
  struct Gathered {
    Memcg* memcg = nullptr;
    Pages anon{0};
    Pages file{0};
    int zone = 0;
    Pages pages() const { return anon + file; }
  };

  MEMSIM_OUT_OF_LINE void uncharge_list(ListHead<M>* list) {
    Scope scope(Fn::kUnchargeList);
    Gathered gathered;
    Page* page = nullptr;
    for (ListHead<M>* next = list->next.load(); next != list;) {
      page = Page::FromLru(next);
      next = page->lru.next.load();
      // Address of the page; NULL, owner and end tests, two each; branches of the THP and PageAnon tests;
      // two counts.
      M::Work(15);
      Memcg* memcg = page->mem_cgroup.load();
      if (memcg == nullptr) continue;  // faulted in while the controller was off
      if (memcg != gathered.memcg) {
        if (gathered.memcg != nullptr) uncharge_batch(gathered);
        gathered = Gathered{};
        gathered.memcg = memcg;
      }
      MEMSIM_CHECK(!page->Test(kPgHead), "huge pages are left out");
      Pages& kind = page->PageAnon() ? gathered.anon : gathered.file;
      kind = kind + Pages(1);
      page->mem_cgroup.store(nullptr);
    }
    if (gathered.memcg == nullptr) return;
    gathered.zone = page->zone_number();
    uncharge_batch(gathered);
  }

  MEMSIM_OUT_OF_LINE void uncharge_batch(const Gathered& gathered) {
    Scope scope(Fn::kUnchargeBatch);
    Image<T>& k = self();
    Memcg* memcg = gathered.memcg;
    const Pages n = gathered.pages();
    M::Work(4);
    const bool root = memcg == k.globals.root_mem_cgroup.load();
    if (!root) {
      memcg->memory.page_counter_uncharge(n);
      if (k.globals.do_swap_account.load() != 0) memcg->memsw.page_counter_uncharge(n);
      memcg_oom_recover(memcg);
    }
    {
      typename M::IrqGuard irq(IrqKind::kSaveRestore);
      auto& stat = memcg->ThisCpuStat();
      stat.count[kStatRss].add(-gathered.anon.n);
      stat.count[kStatCache].add(-gathered.file.n);
      stat.count[kStatRssHuge].add(0);
      stat.events[kPgpgout].add(static_cast<uint64_t>(n.n));
      stat.nr_page_events.add(static_cast<uint64_t>(n.n));
      k.memcg_check_events(memcg, gathered.zone);
    }
    if (!root) memcg->css.css_put_many(n.n);
  }

  MEMSIM_INLINED void memcg_oom_recover(Memcg* memcg) {
    Scope scope(Fn::kOomRecover);
    M::Work(1);
    asm volatile("" : : "r"(memcg->under_oom.load()));
  }
};

}  // namespace memsim

#endif  // MEMSIM_MEMCG_UNCHARGE_H_
