// Per-CPU lists of free pages, the batch of zapped pages, and the per-CPU counters of the fault that are not
// the controller's.
//
// Mirrors   struct per_cpu_pages, vm_event_states, struct mmu_gather_batch; linux v4.0
// Threads   owned by its CPU
#ifndef MEMSIM_PAGE_PAGE_LISTS_H_
#define MEMSIM_PAGE_PAGE_LISTS_H_

#include <array>
#include <cstdint>

#include "memsim/lru/list.h"
#include "memsim/machine/field_table.h"
#include "memsim/memcg/css.h"

namespace memsim {

inline constexpr int kPcpBatch = 31;
inline constexpr int kPcpHigh = 6 * kPcpBatch;

template <class M>
struct PerCpuPages {
  static constexpr absl::string_view kTypeName = "struct per_cpu_pages";

  typename M::template Cell<uint64_t> count;
  ListHead<M> list;

  static constexpr auto Fields() {
    using Self = PerCpuPages;
    return std::array{
        MEMSIM_FIELD(Self, count, kOwnCpu, "pages on the list"),
        MEMSIM_FIELD(Self, list, kOwnCpu, "free pages, most recently freed first"),
    };
  }
};

// The pages of a teardown between zapping and freeing: a page of pointers less its header. The kernel
// allocates it for the task; here every CPU has one.
inline constexpr int kGatherBatch = 510;  // MAX_GATHER_BATCH

template <class M, class Page>
struct MmuGatherBatch {
  static constexpr absl::string_view kTypeName = "struct mmu_gather_batch";

  Unmodelled<8> next;
  typename M::template Cell<uint32_t> nr;
  Unmodelled<4> max;
  typename M::template Cell<Page*> pages[kGatherBatch];

  static constexpr auto Fields() {
    using Self = MmuGatherBatch;
    return std::array{
        MEMSIM_FIELD(Self, next, kNone, "next batch"),
        MEMSIM_FIELD(Self, nr, kOwnCpu, "pages in the batch"),
        MEMSIM_FIELD(Self, max, kNone, "size of the batch"),
        MEMSIM_FIELD_ARRAY(Self, pages, kOwnCpu, "zapped pages, to be freed"),
    };
  }
};

template <class M>
struct CpuStats {
  static constexpr absl::string_view kTypeName = "per-cpu counters";

  typename M::template PerCpu<TaskStruct<M>*> current_task;
  typename M::template PerCpu<uint64_t> pgfault;
  typename M::template PerCpu<int64_t> nr_anon_pages;
  typename M::template PerCpu<int64_t> nr_lru_pages;

  static constexpr auto Fields() {
    using Self = CpuStats;
    return std::array{
        MEMSIM_FIELD(Self, current_task, kOwnCpu, "the running task"),
        MEMSIM_FIELD(Self, pgfault, kOwnCpu, "vmstat: faults"),
        MEMSIM_FIELD(Self, nr_anon_pages, kOwnCpu, "vmstat: mapped anonymous pages"),
        MEMSIM_FIELD(Self, nr_lru_pages, kOwnCpu, "vmstat: pages on LRU lists"),
    };
  }
};

}  // namespace memsim

#endif  // MEMSIM_PAGE_PAGE_LISTS_H_
