// struct page: one 64-byte line per 4 KiB page. The memory controller owns its last word.
//
// Mirrors   struct page, page flags, __SetPageUptodate(); linux v4.0, include/linux/mm_types.h and
//           include/linux/page-flags.h
// Shape     64 bytes, asserted field by field
// Threads   flags and _refcount are atomic; mapping and index are set before the page is visible to
//           others; lru belongs to whoever owns the list; mem_cgroup is written by commit and uncharge,
//           when nobody else holds the page
// Left out  compound pages, slab and buffer use, NUMA node number in the flags
// Changed   mapping points to the mm (the kernel: to its anon_vma); bit 0 says "anonymous" in both
#ifndef MEMSIM_PAGE_PAGE_H_
#define MEMSIM_PAGE_PAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "memsim/lru/list.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/machine.h"

namespace memsim {

enum PageFlag : int {
  kPgLocked = 0,
  kPgUptodate = 3,
  kPgLru = 5,
  kPgActive = 6,
  kPgHead = 14,
  kPgSwapCache = 16,
};
// The zone's number sits in the top bits of the flags.
inline constexpr int kZoneShift = 62;

constexpr uint64_t FlagBit(PageFlag flag) { return uint64_t{1} << flag; }

template <class M>
struct MmStruct;

// `Memcg` is the generation's struct mem_cgroup.
template <class M, class Memcg>
struct Page {
  static constexpr absl::string_view kTypeName = "struct page";

  typename M::template Atomic<uint64_t> flags;
  typename M::template Cell<MmStruct<M>*> mapping;
  typename M::template Cell<uint64_t> index;
  typename M::template Racy<int32_t> _mapcount;
  typename M::template Atomic<int32_t> _refcount;
  ListHead<M> lru;
  typename M::template Cell<uint64_t> private_;
  typename M::template Cell<Memcg*> mem_cgroup;

  static constexpr auto Fields() {
    using Self = Page;
    return std::array{
        MEMSIM_FIELD(Self, flags, kAnyCpu, "state bits and zone number"),
        MEMSIM_FIELD(Self, mapping, kSetup, "who maps it; bit 0: anonymous"),
        MEMSIM_FIELD(Self, index, kSetup, "page offset in the mm"),
        MEMSIM_FIELD(Self, _mapcount, kLock, "mappings - 1; page table lock"),
        MEMSIM_FIELD(Self, _refcount, kAnyCpu, "users of the page"),
        MEMSIM_FIELD(Self, lru, kLock, "links of the LRU or free list; lru_lock or owner"),
        MEMSIM_FIELD(Self, private_, kNone, "private data"),
        MEMSIM_FIELD(Self, mem_cgroup, kLock, "the memcg that paid; written while nobody else looks"),
    };
  }

  static Page* FromLru(ListHead<M>* node) {
    return reinterpret_cast<Page*>(reinterpret_cast<char*>(node) - offsetof(Page, lru));
  }

  // The setter that PageAnon() tests: pointer with bit 0 set.
  static MmStruct<M>* AnonMapping(MmStruct<M>* mm) {
    return reinterpret_cast<MmStruct<M>*>(reinterpret_cast<char*>(mm) + 1);
  }
  static bool IsAnon(MmStruct<M>* mapping) { return (reinterpret_cast<uintptr_t>(mapping) & 1) != 0; }
  static MmStruct<M>* MmOf(MmStruct<M>* mapping) {
    return reinterpret_cast<MmStruct<M>*>(reinterpret_cast<uintptr_t>(mapping) & ~uintptr_t{1});
  }

  bool PageAnon() const { return IsAnon(mapping.load()); }
  bool Test(PageFlag flag) const { return (flags.load() & FlagBit(flag)) != 0; }
  int zone_number() const { return static_cast<int>(flags.load() >> kZoneShift); }

  // Non-atomic set of a bit in the low half: the page is not visible to others yet.
  void SetPageUptodate() { flags.SetBit32(kPgUptodate); }

  void get_page() { _refcount.add(1); }
  // True when that was the last reference.
  bool put_page_testzero() { return _refcount.add_return(-1) == 0; }
  // Takes a reference unless the page is already on its way out.
  bool get_page_unless_zero() {
    int32_t seen = _refcount.load();
    while (seen != 0) {
      if (_refcount.cmpxchg(seen, seen + 1)) return true;
    }
    return false;
  }
};

}  // namespace memsim

#endif  // MEMSIM_PAGE_PAGE_H_
