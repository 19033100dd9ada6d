// The LRU lists: per-CPU batch, per-zone and per-memcg lists, and the way off them.
//
// Mirrors   mem_cgroup_page_lruvec(), mem_cgroup_update_lru_size() (mm/memcontrol.c);
//           lru_cache_add_active_or_unevictable(), pagevec_lru_move_fn(), release_pages(),
//           lru_add_drain() (mm/swap.c); isolation and shrinking (mm/vmscan.c); linux v4.0
// Threads   lists and sizes are protected by zone->lru_lock; a batch belongs to its CPU
// Cost      one lock acquisition for fourteen pages on the way in, for up to 32 on the way out; the
//           lruvec look-up and the size update run once per page and direction
// Left out  unevictable, file and inactive placement, rotation, activation, pressure statistics beyond
//           the two counters
// Changed   an uncharged page is on the zone's own lists even while the controller is on; the kernel puts
//           it on root's. Its memory is not found by reclaim, which looks at memcgs' lists only
#ifndef MEMSIM_LRU_LRU_PATH_H_
#define MEMSIM_LRU_LRU_PATH_H_

#include <cstdint>

#include "memsim/internal/compiler.h"
#include "memsim/memcg/image.h"

namespace memsim {

template <class T>
class LruPath {
 public:
  MEMSIM_IMAGE_PART(T)

  // The lists `page` belongs on: its memcg's, or the zone's own if no memcg paid for it. So the answer does
  // not depend on when the controller was first turned on, and a page leaves the list it was put on. Two
  // gates' worth of work remains when it never was: the zone's address and the check that its back pointer
  // is right (it is repaired after memory hot-plug).
  MEMSIM_OUT_OF_LINE Lruvec<M>* mem_cgroup_page_lruvec(Page* page, Zone<M>* zone) {
    Scope scope(Fn::kPageLruvec);
    Lruvec<M>* lruvec;
    if (!self().EverEnabled()) {
      lruvec = &zone->lruvec;
      M::Work(1);
    } else if (Memcg* memcg = page->mem_cgroup.load(); memcg == nullptr) [[unlikely]] {
      lruvec = &zone->lruvec;
      M::Work(3);  // NULL test, address
    } else {
      M::Work(10);  // NULL test; node and zone out of the flags; address
      lruvec = &memcg->ZoneInfo(page->zone_number()).lruvec;
    }
    M::Work(1);
    if (lruvec->zone.load() != zone) [[unlikely]] lruvec->zone.store(zone);
    return lruvec;
  }

  // Keeps the length of a list; `n` may be negative. The lock is held. The zone's own lists are no special
  // case: their updates land in Zone::lru_size.
  MEMSIM_OUT_OF_LINE void mem_cgroup_update_lru_size(Lruvec<M>* lruvec, LruList list, int64_t n) {
    MEMSIM_KEEP_CALL();
    Scope scope(Fn::kUpdateLruSize);
    if (!self().EverEnabled()) return;
    M::Work(2);  // address of the size, sign test
    LruSize(lruvec, list).add(static_cast<uint64_t>(n));
  }

  // Queues a fresh page for the active list.
  MEMSIM_INLINED void lru_cache_add_active_or_unevictable(Page* page) {
    Scope scope(Fn::kLruCacheAdd);
    page->flags.set(FlagBit(kPgActive));
    auto& pvec = self().ThisCpuPagevec();
    page->get_page();
    M::Work(2);
    if (pvec.nr.load() == kPagevecSize) pagevec_lru_move_fn(pvec);
    const uint64_t nr = pvec.nr.load();
    pvec.pages[nr].store(page);
    pvec.nr.store(nr + 1);
  }

  // Moves a batch to the LRU lists and drops the batch's references.
  MEMSIM_OUT_OF_LINE void pagevec_lru_move_fn(Pagevec<M, Page>& pvec) {
    const typename M::PartGuard part(Part::kLruBatch);
    Scope scope(Fn::kPagevecLruMoveFn);
    const int nr = static_cast<int>(pvec.nr.load());
    {
      typename M::IrqGuard irq(IrqKind::kSaveRestore);
      LruLockRun locked;
      for (int i = 0; i < nr; ++i) {
        Page* page = pvec.pages[i].load();
        locked.SwitchTo(self().ZoneOf(page));
        Lruvec<M>* lruvec = MaybeMemcgLruvec(page, locked.zone());
        page->flags.set(FlagBit(kPgLru));
        MaybeUpdateLruSize(lruvec, kLruActiveAnon, 1);
        list_add(page->lru, lruvec->lists[kLruActiveAnon]);
        self().Stats().nr_lru_pages.add(1);
        lruvec->recent_scanned[0].add(1);
        lruvec->recent_rotated[0].add(1);
      }
    }
    release_pages(pvec.pages, nr);
    pvec.nr.store(0);
  }

  // lru_add_drain(): empties this CPU's batch.
  void lru_add_drain() {
    auto& pvec = self().ThisCpuPagevec();
    if (pvec.nr.load() != 0) pagevec_lru_move_fn(pvec);
  }

  // Drops one reference of each page; pages without users leave the LRU, are uncharged as one list and
  // freed.
  MEMSIM_OUT_OF_LINE void release_pages(typename M::template Cell<Page*>* pages, int nr) {
    Scope scope(Fn::kReleasePages);
    ListHead<M>* free_list = &self().Stack().pages_to_free;
    LruLockRun locked;
    int lock_batch = 0;
    int freed = 0;
    for (int i = 0; i < nr; ++i) {
      Page* page = pages[i].load();
      if (locked.zone() != nullptr && ++lock_batch == kSwapClusterMax) locked.Drop();
      if (!page->put_page_testzero()) continue;
      if (page->Test(kPgLru)) {
        if (locked.SwitchTo(self().ZoneOf(page))) lock_batch = 0;
        TakeOffLru(page, locked.zone());
      }
      page->flags.store(page->flags.load() & ~FlagBit(kPgActive));
      if (freed++ == 0) list_init(*free_list);
      list_add(page->lru, *free_list);
    }
    locked.Drop();
    if (freed == 0) return;
    if (self().compiled_in()) self().mem_cgroup_uncharge_list(free_list);
    self().free_hot_cold_page_list(free_list);
  }

  // Reclaim: takes up to `want` pages off the tails of a memcg's lists in one zone and frees those that
  // nobody else needs. The pages freed.
  MEMSIM_COLD int shrink_lruvec(Memcg* memcg, int zone_index, int want) {
    Scope scope(Fn::kShrinkLruvec);
    lru_add_drain();
    auto& isolated = self().Stack().isolated;
    const int cap = want < kSwapClusterMax ? want : kSwapClusterMax;
    Zone<M>* zone = self().ZoneAt(zone_index);
    Lruvec<M>& lruvec = memcg->ZoneInfo(static_cast<int>(zone->number.load())).lruvec;
    int nr = 0;
    {
      const SpinGuard hold(zone->lru_lock);
      for (const LruList list : {kLruInactiveAnon, kLruActiveAnon}) {
        while (nr < cap) {
          ListHead<M>* tail = lruvec.lists[list].prev.load();
          if (tail == &lruvec.lists[list]) break;
          Page* page = Page::FromLru(tail);
          if (!page->get_page_unless_zero()) {
            // On its way out: whoever freed it waits for this lock to take it off. Try again later.
            break;
          }
          TakeOffLru(page, zone);
          isolated[nr++].store(page);
        }
      }
    }
    int freed = 0;
    for (int i = 0; i < nr; ++i) {
      Page* page = isolated[i].load();
      if (page->flags.test_and_set(FlagBit(kPgLocked))) {
        PutBack(page);
        continue;
      }
      const bool unmapped = self().try_to_unmap(page);
      page->flags.clear(FlagBit(kPgLocked));
      if (unmapped) {
        page->put_page_testzero();  // the mapping's reference; ours is still there
        ++freed;
      }
    }
    // Ours is the last reference unless the page was put back or was being unmapped elsewhere.
    if (nr > 0) release_pages(isolated, nr);
    return freed;
  }

 private:
  using LruLockRun = ZoneRun<M, &Zone<M>::lru_lock>;

  // With CONFIG_MEMCG=n the look-up is an inline function that gives the zone's lists.
  MEMSIM_INLINED Lruvec<M>* MaybeMemcgLruvec(Page* page, Zone<M>* zone) {
    return self().compiled_in() ? mem_cgroup_page_lruvec(page, zone) : &zone->lruvec;
  }
  MEMSIM_INLINED void MaybeUpdateLruSize(Lruvec<M>* lruvec, LruList list, int64_t n) {
    if (self().compiled_in()) mem_cgroup_update_lru_size(lruvec, list, n);
  }

  void TakeOffLru(Page* page, Zone<M>* zone) {
    Lruvec<M>* lruvec = MaybeMemcgLruvec(page, zone);
    page->flags.clear(FlagBit(kPgLru));
    MaybeUpdateLruSize(lruvec, kLruActiveAnon, -1);
    list_del(page->lru);
    self().Stats().nr_lru_pages.add(-1);
  }

  // An isolated page that could not be reclaimed returns to the head of its list.
  void PutBack(Page* page) {
    Zone<M>* zone = self().ZoneOf(page);
    const SpinGuard hold(zone->lru_lock);
    Lruvec<M>* lruvec = MaybeMemcgLruvec(page, zone);
    page->flags.set(FlagBit(kPgLru));
    MaybeUpdateLruSize(lruvec, kLruActiveAnon, 1);
    list_add(page->lru, lruvec->lists[kLruActiveAnon]);
    self().Stats().nr_lru_pages.add(1);
  }
};

}  // namespace memsim

#endif  // MEMSIM_LRU_LRU_PATH_H_
