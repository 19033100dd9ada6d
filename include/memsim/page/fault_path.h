// The fault around the charge: one write fault on an anonymous address, and the way back.
//
// This is the skeleton every generation shares: count the event, allocate, try, lock the page table,
// commit, queue for the LRU, install; on unmap gather, take off the LRU, uncharge, free. It is not the
// memory controller, so the reports keep it apart.
//
// Mirrors   handle_mm_fault(), do_anonymous_page(), zap_pte_range() (mm/memory.c);
//           get_page_from_freelist(), free_hot_cold_page_list() (mm/page_alloc.c);
//           page_add_new_anon_rmap(), try_to_unmap() (mm/rmap.c); linux v4.0
// Units     vpn: page number in the address space; a gather batch holds 510 pages
// Threads   entries under their table's lock; free lists under zone->lock, per-CPU lists by their CPU
// Errors    VM_FAULT_OOM when the charge was refused; nothing is mapped and nothing stays charged
// Left out  page-table pages and their charge, swap, watermarks; the first gather batch of a teardown, which
//           holds 8 pages on the stack. VMA look-up, mmap_lock, TLB are stages: time on simulated, no steps
// Changed   one per-CPU free list for all zones (the kernel: one per zone); fresh zones hand out pages
//           in address order
#ifndef MEMSIM_PAGE_FAULT_PATH_H_
#define MEMSIM_PAGE_FAULT_PATH_H_

#include <cstdint>

#include "memsim/internal/check.h"
#include "memsim/internal/compiler.h"
#include "memsim/memcg/image.h"

namespace memsim {

enum class FaultResult : uint8_t {
  kMapped,
  kAlreadyMapped,  // somebody else was faster
  kOom,            // the charge was refused
  kNoMemory,       // the machine has no free page
};

template <class T>
class FaultPath {
 public:
  MEMSIM_IMAGE_PART(T)

  MEMSIM_OUT_OF_LINE FaultResult handle_mm_fault(MmStruct<M>* mm, uint64_t vpn) {
    Scope scope(Fn::kHandleMmFault);
    Image<T>& k = self();
    M::EnterFault();
    M::MmapLock(&mm->accounting);
    k.Stats().pgfault.add(1);
    k.mem_cgroup_count_vm_event(mm, kPgfault);
    TaskStruct<M>* current = nullptr;
    if (k.compiled_in()) {
      M::Note("mem_cgroup_oom_enable() has no gate");
      current = k.Stats().current_task.load();
      current->memcg_oom_may_oom.store(1);
    }
    const FaultResult result = do_anonymous_page(mm, vpn);
    M::MmapLock(&mm->accounting);
    if (k.compiled_in()) {
      current->memcg_oom_may_oom.store(0);
      if (result == FaultResult::kOom) [[unlikely]] k.mem_cgroup_oom_synchronize();
      if constexpr (K::kHighOnReturn) {
        if (current->notify_resume.load() != 0) [[unlikely]] {
          current->notify_resume.store(0);
          k.mem_cgroup_handle_over_high(mm);
        }
      }
    }
    return result;
  }

  // Clears the entries of [vpn, vpn + n) and frees the pages in gather batches. The pages unmapped.
  MEMSIM_OUT_OF_LINE Pages zap_pte_range(MmStruct<M>* mm, uint64_t vpn, Pages n) {
    Scope scope(Fn::kZapPteRange);
    MmuGatherBatch<M, Page>& batch = self().Gather();
    int64_t unmapped = 0;
    batch.nr.store(0);
    const uint64_t end = vpn + static_cast<uint64_t>(n.n);
    while (vpn < end) {
      const uint64_t table_end = (vpn / kPtrsPerPte + 1) * kPtrsPerPte;
      const uint64_t stop = table_end < end ? table_end : end;
      {
        PageTable<M>& table = mm->TableOf(vpn);
        const SpinGuard hold(table.ptl);
        bool full = false;
        for (; vpn < stop && !full; ++vpn) {
          Page* page = ClearPte(table, vpn);
          if (page != nullptr) full = tlb_remove_page(batch, page);
        }
      }
      if (batch.nr.load() == kGatherBatch) unmapped += tlb_flush_mmu(mm, batch);
    }
    if (batch.nr.load() > 0) unmapped += tlb_flush_mmu(mm, batch);
    return Pages(unmapped);
  }

  // Reclaim: clears the entry that maps `page`, if there still is one. The page is locked.
  bool try_to_unmap(Page* page) {
    MmStruct<M>* mm = Page::MmOf(page->mapping.load());
    const uint64_t vpn = page->index.load();
    PageTable<M>& table = mm->TableOf(vpn);
    const SpinGuard hold(table.ptl);
    if (table.pte[vpn % kPtrsPerPte].load() != self().PfnOf(page) + 1) return false;
    ClearPte(table, vpn);
    return true;
  }

  // Puts a list of uncharged pages on this CPU's free list.
  MEMSIM_OUT_OF_LINE void free_hot_cold_page_list(ListHead<M>* list) {
    Scope scope(Fn::kFreePages);
    PerCpuPages<M>& pcp = self().ThisCpuPageset();
    for (ListHead<M>* next = list->next.load(); next != list;) {
      Page* page = Page::FromLru(next);
      next = page->lru.next.load();
      free_page(page, pcp);
    }
  }

 private:
  MEMSIM_INLINED FaultResult do_anonymous_page(MmStruct<M>* mm, uint64_t vpn) {
    Scope scope(Fn::kDoAnonymousPage);
    Image<T>& k = self();
    Page* page = alloc_page();
    if (page == nullptr) [[unlikely]] return FaultResult::kNoMemory;
    M::ClearPage();
    // The order is the whole difference of the 2015 chargefirst patch.
    Memcg* memcg = nullptr;
    if (!k.knobs.charge_first()) page->SetPageUptodate();
    if (k.compiled_in()) {
      if (k.mem_cgroup_try_charge(page, mm, &memcg) != 0) [[unlikely]] {
        free_page(page, k.ThisCpuPageset());
        return FaultResult::kOom;
      }
    }
    if (k.knobs.charge_first()) page->SetPageUptodate();

    PageTable<M>& table = mm->TableOf(vpn);
    const SpinGuard hold(table.ptl);
    auto& pte = table.pte[vpn % kPtrsPerPte];
    if (pte.load() != 0) [[unlikely]] {
      if (k.compiled_in()) k.mem_cgroup_cancel_charge(memcg);
      free_page(page, k.ThisCpuPageset());
      return FaultResult::kAlreadyMapped;
    }
    page_add_new_anon_rmap(page, mm, vpn);
    if (k.compiled_in()) k.mem_cgroup_commit_charge(page, memcg);
    k.lru_cache_add_active_or_unevictable(page);
    pte.store(self().PfnOf(page) + 1);
    return FaultResult::kMapped;
  }

  MEMSIM_INLINED void page_add_new_anon_rmap(Page* page, MmStruct<M>* mm, uint64_t vpn) {
    Scope scope(Fn::kAddNewAnonRmap);
    M::OnStage(Stage::kRmap);
    page->_mapcount.store(0);
    self().Stats().nr_anon_pages.add(1);
    page->mapping.store(Page::AnonMapping(mm));
    page->index.store(vpn);
  }

  // Under the table's lock: the page that was mapped at `vpn`, or null.
  MEMSIM_INLINED Page* ClearPte(PageTable<M>& table, uint64_t vpn) {
    auto& pte = table.pte[vpn % kPtrsPerPte];
    const uint32_t entry = pte.load();
    if (entry == 0) return nullptr;
    M::OnStage(Stage::kUnmapPage);
    pte.store(0);
    Page* page = self().PageAt(entry - 1);
    page->_mapcount.add(-1);
    self().Stats().nr_anon_pages.add(-1);
    return page;
  }

  // True when the batch is full.
  MEMSIM_INLINED bool tlb_remove_page(MmuGatherBatch<M, Page>& batch, Page* page) {
    const uint32_t nr = batch.nr.load();
    batch.pages[nr].store(page);
    batch.nr.store(nr + 1);
    M::Work(2);  // is there room
    return nr + 1 == kGatherBatch;
  }

  // The pages freed.
  int64_t tlb_flush_mmu(MmStruct<M>* mm, MmuGatherBatch<M, Page>& batch) {
    const int nr = static_cast<int>(batch.nr.load());
    M::FlushTlb(mm);
    free_pages_and_swap_cache(batch.pages, nr);
    batch.nr.store(0);
    return nr;
  }

  void free_pages_and_swap_cache(typename M::template Cell<Page*>* pages, int nr) {
    self().lru_add_drain();
    for (int i = 0; i < nr; ++i) {
      M::Work(2);
      MEMSIM_CHECK(!pages[i].load()->Test(kPgSwapCache), "swap is left out");
    }
    self().release_pages(pages, nr);
  }

  // A page with one reference and clean flags from this CPU's list, or null.
  MEMSIM_INLINED Page* alloc_page() {
    Scope scope(Fn::kAllocPage);
    M::OnStage(Stage::kAllocPage);
    PerCpuPages<M>& pcp = self().ThisCpuPageset();
    if (pcp.count.load() == 0) [[unlikely]] {
      if (!rmqueue_bulk(pcp)) return nullptr;
    }
    ListHead<M>* first = pcp.list.next.load();
    list_del(*first);
    pcp.count.add(static_cast<uint64_t>(-1));
    Page* page = Page::FromLru(first);
    page->_refcount.store(1);
    return page;
  }

  void free_page(Page* page, PerCpuPages<M>& pcp) {
    M::OnStage(Stage::kFreePage);
    page->mapping.store(nullptr);
    const uint64_t zone_bits = page->flags.load() >> kZoneShift << kZoneShift;
    page->flags.store(zone_bits);
    page->_refcount.store(0);
    list_add(page->lru, pcp.list);
    pcp.count.add(1);
    if (pcp.count.load() > kPcpHigh) [[unlikely]] free_pcppages_bulk(pcp);
  }

  // Fetches a batch from the zones, highest zone first.
  MEMSIM_COLD bool rmqueue_bulk(PerCpuPages<M>& pcp) {
    int taken = 0;
    for (int z = self().zone_count - 1; z >= 0 && taken == 0; --z) {
      Zone<M>* zone = self().ZoneAt(z);
      const SpinGuard hold(zone->lock);
      for (; taken < kPcpBatch; ++taken) {
        Page* page = nullptr;
        const uint64_t unused = zone->next_unused.load();
        if (zone->free_count.load() != 0) {
          ListHead<M>* first = zone->free_list.next.load();
          list_del(*first);
          zone->free_count.add(static_cast<uint32_t>(-1));
          page = Page::FromLru(first);
        } else if (unused < zone->end_unused.load()) {
          zone->next_unused.store(unused + 1);
          page = self().PageAt(static_cast<uint32_t>(unused));
          page->flags.store(uint64_t{zone->number.load()} << kZoneShift);
        } else {
          break;
        }
        // Behind the head, so that pages are used in the order in which they were taken.
        ListHead<M>* tail = pcp.list.prev.load();
        list_add(page->lru, *tail);
      }
    }
    pcp.count.add(static_cast<uint64_t>(taken));
    return taken != 0;
  }

  // Returns the longest-unused batch to the zones.
  MEMSIM_COLD void free_pcppages_bulk(PerCpuPages<M>& pcp) {
    ZoneRun<M, &Zone<M>::lock> locked;
    for (int i = 0; i < kPcpBatch; ++i) {
      ListHead<M>* last = pcp.list.prev.load();
      list_del(*last);
      Page* page = Page::FromLru(last);
      Zone<M>* zone = self().ZoneOf(page);
      locked.SwitchTo(zone);
      list_add(page->lru, zone->free_list);
      zone->free_count.add(1);
    }
    pcp.count.add(static_cast<uint64_t>(-kPcpBatch));
  }
};

}  // namespace memsim

#endif  // MEMSIM_PAGE_FAULT_PATH_H_
