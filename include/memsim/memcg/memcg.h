// struct mem_cgroup and what hangs off it: per-CPU statistics, per-zone LRU lists, thresholds.
//
// Mirrors   struct mem_cgroup, mem_cgroup_stat_cpu, mem_cgroup_per_zone, mem_cgroup_thresholds;
//           linux v4.0, mm/memcontrol.c. memory at 176, memsw at 216, kmem at 256 by field order;
//           the per-zone zone pointer at 112
// Shape     memory.count and memory.limit lie in line 2, memory.parent and memory.watermark share
//           line 3 with memsw.count; asserted below
// Units     pages, except thresholds (bytes)
// Threads   see each field's writer
// Left out  non-hierarchical mode, kmem charges, going offline, moving charges, socket accounting
// Assumed   offsets behind soft_limit (by field order, without debug options)
#ifndef MEMSIM_MEMCG_MEMCG_H_
#define MEMSIM_MEMCG_MEMCG_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "memsim/counter/page_counter.h"
#include "memsim/events/events.h"
#include "memsim/lru/list.h"
#include "memsim/machine/field_table.h"
#include "memsim/memcg/css.h"

namespace memsim {

// What differs between the generations' struct mem_cgroup that share this layout.
struct MemcgShape {
  int stats = 6;             // MEM_CGROUP_STAT_NSTATS
  size_t events_file = 0;    // bytes more before thresholds_lock
  size_t kmem_numa = 304;    // bytes between stat and numainfo_events
  size_t cgwb_events = 28;   // bytes between numainfo_events and nodeinfo
};

// Allocated per CPU with 8-byte alignment, so one memcg's statistics may straddle lines.
template <class M, int kStats>
struct MemCgroupStatCpu {
  static constexpr absl::string_view kTypeName = "struct mem_cgroup_stat_cpu";

  typename M::template PerCpu<int64_t> count[kStats];
  typename M::template PerCpu<uint64_t> events[kMemcgEvents];
  typename M::template PerCpu<uint64_t> nr_page_events;
  typename M::template PerCpu<uint64_t> targets[kTargets];

  static constexpr auto Fields() {
    using Self = MemCgroupStatCpu;
    return std::array{
        MEMSIM_FIELD_ARRAY(Self, count, kOwnCpu, "pages by kind: CACHE, RSS, RSS_HUGE, ..."),
        MEMSIM_FIELD_ARRAY(Self, events, kOwnCpu, "events: PGPGIN, PGPGOUT, PGFAULT, ..."),
        MEMSIM_FIELD(Self, nr_page_events, kOwnCpu, "pages in and out, for the rate limits"),
        MEMSIM_FIELD_ARRAY(Self, targets, kOwnCpu, "next check: thresholds, soft limit, numainfo"),
    };
  }
};

inline constexpr int kNrLruLists = 5;
inline constexpr int kMaxNrZones = 4;
inline constexpr int kZoneDma32 = 1;
inline constexpr int kZoneNormal = 2;
enum LruList : int { kLruInactiveAnon = 0, kLruActiveAnon = 1 };

template <class M>
struct Zone;

template <class M>
struct Lruvec {
  ListHead<M> lists[kNrLruLists];
  typename M::template Cell<uint64_t> recent_rotated[2];
  typename M::template Cell<uint64_t> recent_scanned[2];
  typename M::template Racy<Zone<M>*> zone;
};
static_assert(kNrLruLists * 16 + 32 == 112, "zone at 112, as in the annotated disassembly");

template <class M>
struct MemCgroupPerZone {
  static constexpr absl::string_view kTypeName = "struct mem_cgroup_per_zone";

  Lruvec<M> lruvec;
  typename M::template Cell<uint64_t> lru_size[kNrLruLists];
  typename M::template Atomic<uint64_t> iter_position;
  Unmodelled<13 * 16 - 8> iter;
  RbNode<M> tree_node;
  typename M::template Cell<uint64_t> usage_in_excess;
  typename M::template Racy<uint64_t> on_tree;
  typename M::template Cell<void*> memcg;

  static constexpr auto Fields() {
    using Self = MemCgroupPerZone;
    return std::array{
        MEMSIM_FIELD_ARRAY(Self, lruvec.lists, kLock, "LRU lists; zone->lru_lock"),
        MEMSIM_FIELD_ARRAY(Self, lruvec.recent_rotated, kLock, "reclaim statistics; lru_lock"),
        MEMSIM_FIELD_ARRAY(Self, lruvec.recent_scanned, kLock, "reclaim statistics; lru_lock"),
        MEMSIM_FIELD(Self, lruvec.zone, kSetup, "the zone; repaired after hot-plug"),
        MEMSIM_FIELD_ARRAY(Self, lru_size, kLock, "pages on each list; lru_lock"),
        MEMSIM_FIELD(Self, iter_position, kAnyCpu, "where the shared reclaim walk goes on"),
        MEMSIM_FIELD(Self, iter, kNone, "the same for other priorities"),
        MEMSIM_FIELD(Self, tree_node, kLock, "soft-limit tree; tree lock"),
        MEMSIM_FIELD(Self, usage_in_excess, kLock, "key in the tree; tree lock"),
        MEMSIM_FIELD(Self, on_tree, kLock, "is it in the tree? tree lock, read without"),
        MEMSIM_FIELD(Self, memcg, kSetup, "back pointer"),
    };
  }
};

// One zone of the machine: free pages, the LRU lock, and the lists of pages that no memcg paid for.
template <class M>
struct Zone {
  static constexpr absl::string_view kTypeName = "struct zone";

  typename M::SpinLock lock;
  typename M::template Cell<uint32_t> free_count;
  ListHead<M> free_list;
  typename M::template Cell<uint64_t> next_unused;
  typename M::template Cell<uint64_t> end_unused;
  Unmodelled<24> free_area;
  typename M::SpinLock lru_lock;
  typename M::template Cell<uint32_t> number;
  Lruvec<M> lruvec;
  // Where size updates for the zone's own lists land; nobody reads it. It lies behind the lists as in
  // MemCgroupPerZone, so that mem_cgroup_update_lru_size() need not know whose lists it is given.
  typename M::template Cell<uint64_t> lru_size[kNrLruLists];
  Unmodelled<24> pad;  // no two zones share a line

  static constexpr auto Fields() {
    using Self = Zone;
    return std::array{
        MEMSIM_FIELD(Self, lock, kAnyCpu, "protects the free list"),
        MEMSIM_FIELD(Self, free_count, kLock, "pages on the free list; lock"),
        MEMSIM_FIELD(Self, free_list, kLock, "free pages; lock"),
        MEMSIM_FIELD(Self, next_unused, kLock, "first page that was never used (ours); lock"),
        MEMSIM_FIELD(Self, end_unused, kSetup, "end of the zone (ours)"),
        MEMSIM_FIELD(Self, free_area, kNone, "the other orders"),
        MEMSIM_FIELD(Self, lru_lock, kAnyCpu, "protects the LRU lists of all memcgs in the zone"),
        MEMSIM_FIELD(Self, number, kSetup, "zone number"),
        MEMSIM_FIELD(Self, lruvec, kLock, "lists of pages that no memcg paid for; lru_lock"),
        MEMSIM_FIELD_ARRAY(Self, lru_size, kLock, "where their size updates land; nobody reads it"),
        MEMSIM_FIELD(Self, pad, kNone, "padding"),
    };
  }
};

// The length of one list of `lruvec`, be it a memcg's or a zone's own.
template <class M>
MEMSIM_INLINED typename M::template Cell<uint64_t>& LruSize(Lruvec<M>* lruvec, LruList list) {
  using PerZone = MemCgroupPerZone<M>;
  constexpr size_t kDistance = offsetof(PerZone, lru_size) - offsetof(PerZone, lruvec);
  static_assert(offsetof(Zone<M>, lru_size) - offsetof(Zone<M>, lruvec) == kDistance);
  static_assert(sizeof(Zone<M>) % kCacheLine == 0);
  using Size = typename M::template Cell<uint64_t>;
  return reinterpret_cast<Size*>(reinterpret_cast<char*>(lruvec) + kDistance)[list];
}

// Holds one of a zone's locks over a run of pages of the same zone.
template <class M, typename M::SpinLock Zone<M>::*kLock>
class ZoneRun {
 public:
  ZoneRun() = default;
  MEMSIM_INLINED ~ZoneRun() noexcept(false) { Drop(); }  // see SpinGuard
  ZoneRun(const ZoneRun&) = delete;
  ZoneRun& operator=(const ZoneRun&) = delete;

  // True when the lock had to be taken.
  MEMSIM_INLINED bool SwitchTo(Zone<M>* zone) {
    if (zone_ == zone) return false;
    Drop();
    (zone->*kLock).Lock();
    zone_ = zone;
    return true;
  }
  MEMSIM_INLINED void Drop() {
    if (zone_ != nullptr) (zone_->*kLock).Unlock();
    zone_ = nullptr;
  }
  Zone<M>* zone() const { return zone_; }

 private:
  Zone<M>* zone_ = nullptr;
};

template <class M>
struct MemCgroupPerNode {
  static constexpr absl::string_view kTypeName = "struct mem_cgroup_per_node";

  MemCgroupPerZone<M> zoneinfo[kMaxNrZones];

  static constexpr auto Fields() {
    using Self = MemCgroupPerNode;
    return std::array{MEMSIM_FIELD_ARRAY(Self, zoneinfo, kLock, "one per zone")};
  }
};

// A sorted array of thresholds with the highest one below usage remembered.
template <class M>
struct ThresholdAry {
  static constexpr absl::string_view kTypeName = "struct mem_cgroup_threshold_ary";
  static constexpr int kMax = 7;

  typename M::template Racy<int32_t> current_threshold;
  typename M::template Cell<uint32_t> size;
  struct Entry {
    typename M::template Racy<uint64_t> signals;  // kernel: the eventfd
    typename M::template Cell<uint64_t> threshold;
  };
  Entry entries[kMax];

  static constexpr auto Fields() {
    using Self = ThresholdAry;
    return std::array{
        MEMSIM_FIELD(Self, current_threshold, kRacy, "the last one crossed; may lag a race"),
        MEMSIM_FIELD(Self, size, kSetup, "entries in use"),
        MEMSIM_FIELD_ARRAY(Self, entries, kRacy, "threshold in bytes and its notifications"),
    };
  }
};

template <class M, MemcgShape kShape>
struct MemCgroup {
  static constexpr absl::string_view kTypeName = "struct mem_cgroup";
  using Counter = PageCounter<M>;
  using StatCpu = MemCgroupStatCpu<M, kShape.stats>;
  using PerZone = MemCgroupPerZone<M>;

  Css<M> css;
  Counter memory;
  Counter memsw;
  Unmodelled<40> kmem;
  typename M::template Racy<int64_t> low;
  typename M::template Racy<int64_t> high;
  typename M::template Racy<int64_t> soft_limit;
  Unmodelled<112> vmpressure;
  Unmodelled<8> initialized;
  typename M::template Racy<int32_t> under_oom;
  Unmodelled<12 + kShape.events_file> oom;
  Unmodelled<40> thresholds_lock;
  typename M::template Racy<ThresholdAry<M>*> thresholds;
  Unmodelled<8> thresholds_spare;
  typename M::template Racy<ThresholdAry<M>*> memsw_thresholds;
  Unmodelled<8> memsw_thresholds_spare;
  Unmodelled<48> oom_notify_move;
  typename M::template Cell<uint64_t> stat;  // per-CPU offset of StatCpu
  Unmodelled<kShape.kmem_numa> kmem_numa;
  typename M::template Atomic<int32_t> numainfo_events;
  Unmodelled<kShape.cgwb_events> event_list;
  typename M::template Cell<MemCgroupPerNode<M>*> nodeinfo[1];

  static constexpr auto Fields() {
    using Self = MemCgroup;
    return std::array{
        MEMSIM_FIELD(Self, css.cgroup_ss, kNone, "cgroup, subsystem"),
        MEMSIM_FIELD(Self, css.ref_count, kNone, "the count once it left per-CPU mode"),
        MEMSIM_FIELD(Self, css.ref_ptr, kSetup, "where the per-CPU reference count is"),
        MEMSIM_FIELD(Self, css.ref_rest, kNone, "release, confirm, rcu"),
        MEMSIM_FIELD(Self, css.parent, kSetup, "css of the parent cgroup"),
        MEMSIM_FIELD(Self, css.links, kNone, "siblings, children, id"),
        MEMSIM_FIELD(Self, css.flags, kSetup, "CSS_NO_REF: root is not counted"),
        MEMSIM_FIELD(Self, css.rest, kNone, "serial number, rcu, destroy work"),
        MEMSIM_FIELD(Self, memory.count, kAnyCpu, "pages charged"),
        MEMSIM_FIELD(Self, memory.limit, kSetup, "memory.limit_in_bytes, in pages"),
        MEMSIM_FIELD(Self, memory.parent, kSetup, "counter of the parent memcg"),
        MEMSIM_FIELD(Self, memory.watermark, kRacy, "highest count; a race may miss a peak"),
        MEMSIM_FIELD(Self, memory.failcnt, kRacy, "refused charges; a race may lose one"),
        MEMSIM_FIELD(Self, memsw.count, kAnyCpu, "pages of memory and swap charged"),
        MEMSIM_FIELD(Self, memsw.limit, kSetup, "memory.memsw.limit_in_bytes, in pages"),
        MEMSIM_FIELD(Self, memsw.parent, kSetup, "counter of the parent memcg"),
        MEMSIM_FIELD(Self, memsw.watermark, kRacy, "highest count; a race may miss a peak"),
        MEMSIM_FIELD(Self, memsw.failcnt, kRacy, "refused charges; a race may lose one"),
        MEMSIM_FIELD(Self, kmem, kNone, "kernel memory counter"),
        MEMSIM_FIELD(Self, low, kSetup, "protected from reclaim below this"),
        MEMSIM_FIELD(Self, high, kSetup, "reclaim above this, never refuse"),
        MEMSIM_FIELD(Self, soft_limit, kSetup, "first to be reclaimed above this"),
        MEMSIM_FIELD(Self, vmpressure, kNone, "pressure notification"),
        MEMSIM_FIELD(Self, initialized, kNone, "initialized, use_hierarchy, oom_lock"),
        MEMSIM_FIELD(Self, under_oom, kRacy, "somebody waits for memory"),
        MEMSIM_FIELD(Self, oom, kNone, "oom_wakeups, swappiness, events_file"),
        MEMSIM_FIELD(Self, thresholds_lock, kNone, "mutex"),
        MEMSIM_FIELD(Self, thresholds, kSetup, "memory thresholds, or NULL"),
        MEMSIM_FIELD(Self, thresholds_spare, kNone, "spare array"),
        MEMSIM_FIELD(Self, memsw_thresholds, kSetup, "memory+swap thresholds, or NULL"),
        MEMSIM_FIELD(Self, memsw_thresholds_spare, kNone, "spare array"),
        MEMSIM_FIELD(Self, oom_notify_move, kNone, "oom_notify, charge moving"),
        MEMSIM_FIELD(Self, stat, kSetup, "where the per-CPU statistics are"),
        MEMSIM_FIELD(Self, kmem_numa, kNone, "nocpu_base, tcp_mem, kmem, NUMA scan"),
        MEMSIM_FIELD(Self, numainfo_events, kAnyCpu, "events since the last NUMA scan"),
        MEMSIM_FIELD(Self, event_list, kNone, "writeback domain, event list"),
        MEMSIM_FIELD_ARRAY(Self, nodeinfo, kSetup, "per-node LRU state"),
    };
  }

  static_assert(sizeof(Css<M>) == 176 && sizeof(Counter) == 40);

  static MemCgroup* FromCss(Css<M>* css) { return reinterpret_cast<MemCgroup*>(css); }
  static MemCgroup* FromMemory(Counter* memory) {
    return reinterpret_cast<MemCgroup*>(reinterpret_cast<char*>(memory) -
                                        offsetof(MemCgroup, memory));
  }
  static MemCgroup* FromMemsw(Counter* memsw) {
    return reinterpret_cast<MemCgroup*>(reinterpret_cast<char*>(memsw) -
                                        offsetof(MemCgroup, memsw));
  }

  // parent_mem_cgroup()
  MemCgroup* Parent() const {
    Counter* up = memory.parent.load();
    return up == nullptr ? nullptr : FromMemory(up);
  }
  // mem_cgroup_is_descendant(): is this memcg `ancestor` or below it?
  bool IsDescendantOf(const MemCgroup* ancestor) const {
    for (const MemCgroup* m = this; m != nullptr; m = m->Parent()) {
      if (m == ancestor) return true;
    }
    return false;
  }

  // This CPU's statistics. The offset is loaded from the memcg each time, as the kernel does.
  StatCpu& ThisCpuStat() {
    return *reinterpret_cast<StatCpu*>(M::this_cpu_area() + stat.load());
  }
  PerZone& ZoneInfo(int zone) { return nodeinfo[0].load()->zoneinfo[zone]; }

  // mem_cgroup_margin(): pages that may still be charged.
  Pages Margin(bool swap_account) const {
    const int64_t used = memory.count.load();
    const int64_t limit = memory.limit.load();
    int64_t margin = used < limit ? limit - used : 0;
    if (swap_account) {
      const int64_t used_sw = memsw.count.load();
      const int64_t limit_sw = memsw.limit.load();
      const int64_t margin_sw = used_sw < limit_sw ? limit_sw - used_sw : 0;
      if (margin_sw < margin) margin = margin_sw;
    }
    return Pages(margin);
  }
};

}  // namespace memsim

#endif  // MEMSIM_MEMCG_MEMCG_H_
