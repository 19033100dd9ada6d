// An address space: the owner pointer that leads to the memcg, and the page table.
//
// Mirrors   struct mm_struct (owner at 0x340), page table pages with split locks; linux v4.0
// Shape     a page table of 512 entries has a lock of its own (the kernel keeps it in the table's
//           struct page)
// Units     an entry is page frame number + 1, or 0
// Threads   entries are protected by their table's lock; pgd is set up once
// Left out  VMAs and mmap_lock, upper levels of the table, the kernel's charge of table pages
// Assumed   the offset of pgd and the sizes
#ifndef MEMSIM_MEMCG_MM_H_
#define MEMSIM_MEMCG_MM_H_

#include <array>
#include <cstdint>

#include "memsim/machine/field_table.h"
#include "memsim/machine/machine.h"
#include "memsim/memcg/css.h"

namespace memsim {

inline constexpr int kPtrsPerPte = 512;

template <class M>
struct PageTable {
  static constexpr absl::string_view kTypeName = "page table";

  typename M::SpinLock ptl;
  Unmodelled<60> page;
  typename M::template Cell<uint32_t> pte[kPtrsPerPte];

  static constexpr auto Fields() {
    using Self = PageTable;
    return std::array{
        MEMSIM_FIELD(Self, ptl, kAnyCpu, "page table lock"),
        MEMSIM_FIELD(Self, page, kNone, "the table's struct page"),
        MEMSIM_FIELD_ARRAY(Self, pte, kLock, "entries; ptl"),
    };
  }
};

template <class M>
struct MmStruct {
  static constexpr absl::string_view kTypeName = "struct mm_struct";

  Unmodelled<0x40> mmap;
  typename M::template Cell<PageTable<M>*> pgd;
  Unmodelled<0x2f8> accounting;
  typename M::template Racy<TaskStruct<M>*> owner;
  Unmodelled<0x38> rest;

  static constexpr auto Fields() {
    using Self = MmStruct;
    return std::array{
        MEMSIM_FIELD(Self, mmap, kNone, "VMAs"),
        MEMSIM_FIELD(Self, pgd, kSetup, "page tables"),
        MEMSIM_FIELD(Self, accounting, kNone, "locks, counters, layout"),
        MEMSIM_FIELD(Self, owner, kSetup, "the task whose memcg pays"),
        MEMSIM_FIELD(Self, rest, kNone, "the rest"),
    };
  }

  PageTable<M>& TableOf(uint64_t vpn) { return pgd.load()[vpn / kPtrsPerPte]; }
};

}  // namespace memsim

#endif  // MEMSIM_MEMCG_MM_H_
