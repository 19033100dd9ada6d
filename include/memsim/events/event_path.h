// Per-CPU statistics and the rate-limited checks behind them.
//
// Mirrors   __mem_cgroup_count_vm_event(), mem_cgroup_charge_statistics(), memcg_check_events(),
//           mem_cgroup_event_ratelimit(), mem_cgroup_threshold(), mem_cgroup_update_tree();
//           linux v4.0, mm/memcontrol.c. From 4.3 the event count is inline in the fault, and
//           mem_cgroup_from_task() is a call (K::kEventInline)
// Units     pages and events; thresholds in bytes
// Threads   counters are per-CPU. A threshold pass reads usage without a lock: two CPUs may signal the
//           same crossing twice or, when usage moves back and forth, not at all
// Cost      event: a chase over five lines and one per-CPU add. Statistics: three per-CPU adds. Check:
//           two reads; every 129th page the threshold walk, every 1025th the soft-limit tree
// Left out  eventfd delivery (a signal is a counter), thresholds of the root memcg, soft-limit reclaim
//           by the page allocator (there is no global pressure here)
#ifndef MEMSIM_EVENTS_EVENT_PATH_H_
#define MEMSIM_EVENTS_EVENT_PATH_H_

#include <cstdint>

#include "memsim/internal/check.h"
#include "memsim/internal/compiler.h"
#include "memsim/memcg/image.h"

namespace memsim {

inline constexpr uint64_t kThresholdsEventsTarget = 128;
inline constexpr uint64_t kSoftlimitEventsTarget = 1024;
inline constexpr uint64_t kNumainfoEventsTarget = 1024;

template <class T>
class EventPath {
 public:
  MEMSIM_IMAGE_PART(T)

  // The inline wrapper in include/linux/memcontrol.h: its gate is paid by the fault.
  MEMSIM_INLINED void mem_cgroup_count_vm_event(MmStruct<M>* mm, MemcgEvent event) {
    if (!self().compiled_in()) return;
    if (!self().Enabled()) return;
    if constexpr (K::kEventInline) {
      CountVmEvent(mm, event);
    } else {
      mem_cgroup_count_vm_event__(mm, event);
    }
  }

  // __mem_cgroup_count_vm_event(): one PGFAULT in the memcg of the mm's owner.
  MEMSIM_OUT_OF_LINE void mem_cgroup_count_vm_event__(MmStruct<M>* mm, MemcgEvent event) {
    Scope scope(Fn::kCountVmEvent);
    M::Work(2);  // switch on the event: compare, branch
    CountVmEvent(mm, event);
  }

  // mem_cgroup_from_task(), where it is a call of its own.
  MEMSIM_OUT_OF_LINE Memcg* mem_cgroup_from_task(TaskStruct<M>* task) {
    Scope scope(Fn::kMemCgroupFromTask);
    return Chase(task);
  }

  // Under RCU: the memcg of a task.
  MEMSIM_INLINED static Memcg* TaskMemcg(TaskStruct<M>* task) { return Chase(task); }

  // Under RCU: the memcg of the mm's owner.
  MEMSIM_INLINED Memcg* OwnerMemcg(MmStruct<M>* mm) {
    M::Note("mm -> owner -> css_set -> memcg: four objects, four lines, each load needs the last");
    TaskStruct<M>* owner = mm->owner.load();
    if constexpr (K::kEventInline) {
      return mem_cgroup_from_task(owner);
    } else {
      return Chase(owner);
    }
  }

  // Counts `n` charged (or, negative, uncharged) pages. Interrupts are off.
  MEMSIM_OUT_OF_LINE void mem_cgroup_charge_statistics(Memcg* memcg, Page* page, Pages n) {
    Scope scope(Fn::kChargeStatistics);
    M::Work(8);  // branches of the PageAnon and THP tests, sign extension, sign test, stat reloaded
    const bool anon = page->PageAnon();
    MEMSIM_CHECK(!page->Test(kPgHead), "huge pages are left out");
    auto& stat = memcg->ThisCpuStat();
    stat.count[anon ? kStatRss : kStatCache].add(n.n);
    stat.events[n.n > 0 ? kPgpgin : kPgpgout].add(1);
    stat.nr_page_events.add(static_cast<uint64_t>(n.n > 0 ? n.n : -n.n));
  }

  // One event of `memcg` itself: limit hit, reclaim above high, OOM.
  void mem_cgroup_events(Memcg* memcg, MemcgEvent event) {
    memcg->ThisCpuStat().events[event].add(1);
  }

  // Is a threshold or soft-limit check due? Interrupts are off.
  MEMSIM_OUT_OF_LINE void memcg_check_events(Memcg* memcg, int zone) {
    Scope scope(Fn::kCheckEvents);
    M::Work(2);
    if (!mem_cgroup_event_ratelimit(memcg, kTargetThresh)) [[likely]] return;
    RunDueChecks(memcg, zone);
  }

 private:
  MEMSIM_INLINED void CountVmEvent(MmStruct<M>* mm, MemcgEvent event) {
    typename M::RcuGuard rcu;
    Memcg* memcg = OwnerMemcg(mm);
    M::Work(2);  // NULL tests
    if (memcg == nullptr) return;
    memcg->ThisCpuStat().events[event].add(1);
  }

  MEMSIM_INLINED static Memcg* Chase(TaskStruct<M>* task) {
    M::Work(2);  // NULL test of the owner
    if (task == nullptr) return nullptr;
    CssSet<M>* set = task->cgroups.load();
    return Memcg::FromCss(set->subsys_memory.load());
  }

  MEMSIM_INLINED static bool mem_cgroup_event_ratelimit(Memcg* memcg, EventTarget target) {
    auto& stat = memcg->ThisCpuStat();
    const uint64_t now = stat.nr_page_events.load();
    const uint64_t next = stat.targets[target].load();
    M::Work(2);  // subtract, branch
    if (static_cast<int64_t>(next - now) >= 0) return false;
    constexpr uint64_t kStep[kTargets] = {kThresholdsEventsTarget, kSoftlimitEventsTarget,
                                          kNumainfoEventsTarget};
    stat.targets[target].store(now + kStep[target]);
    return true;
  }

  MEMSIM_COLD void RunDueChecks(Memcg* memcg, int zone) {
    const bool softlimit = mem_cgroup_event_ratelimit(memcg, kTargetSoftlimit);
    const bool numainfo = K::kConfig.numa && mem_cgroup_event_ratelimit(memcg, kTargetNumainfo);
    mem_cgroup_threshold(memcg);
    if (softlimit) mem_cgroup_update_tree(memcg, zone);
    if (numainfo) memcg->numainfo_events.add(1);
  }

  MEMSIM_OUT_OF_LINE void mem_cgroup_threshold(Memcg* memcg) {
    Scope scope(Fn::kThreshold);
    for (Memcg* m = memcg; m != nullptr; m = m->Parent()) {
      Signal(m->thresholds, m->memory);
      if (self().globals.do_swap_account.load() != 0) Signal(m->memsw_thresholds, m->memsw);
    }
  }

  template <class Slot>
  static void Signal(const Slot& slot, const PageCounter<M>& counter) {
    typename M::RcuGuard rcu;
    ThresholdAry<M>* ary = slot.load();
    if (ary == nullptr) return;
    const uint64_t usage = static_cast<uint64_t>(Bytes(counter.usage()).n);
    const int size = static_cast<int>(ary->size.load());
    int i = ary->current_threshold.load();
    for (; i >= 0; --i) {
      if (ary->entries[i].threshold.load() <= usage) break;
      ary->entries[i].signals.add(1);
    }
    for (++i; i < size; ++i) {
      if (ary->entries[i].threshold.load() > usage) break;
      ary->entries[i].signals.add(1);
    }
    ary->current_threshold.store(i - 1);
  }

  // Keeps the tree of memcgs over their soft limit in order, for this memcg and all above it.
  MEMSIM_OUT_OF_LINE void mem_cgroup_update_tree(Memcg* memcg, int zone) {
    Scope scope(Fn::kUpdateTree);
    using Tree = RbAlgorithms<M>;
    SoftLimitTree<M>& tree = self().globals.soft_limit_tree[zone];
    for (Memcg* m = memcg; m != nullptr; m = m->Parent()) {
      typename Memcg::PerZone& mz = m->ZoneInfo(zone);
      const int64_t usage = m->memory.count.load();
      const int64_t soft_limit = m->soft_limit.load();
      const uint64_t excess = usage > soft_limit ? static_cast<uint64_t>(usage - soft_limit) : 0;
      if (excess == 0 && mz.on_tree.load() == 0) continue;
      const SpinGuard hold(tree.lock);
      if (mz.on_tree.load() != 0) {
        Tree::erase(&tree.root, &mz.tree_node);
        mz.on_tree.store(0);
      }
      mz.usage_in_excess.store(excess);
      if (excess == 0) continue;
      Tree::insert_equal_upper_bound(&tree.root, &mz.tree_node, ByExcess());
      mz.on_tree.store(1);
    }
  }

  struct ByExcess {
    static uint64_t Key(const RbNode<M>* node) {
      using PerZone = typename Memcg::PerZone;
      const auto* mz = reinterpret_cast<const PerZone*>(reinterpret_cast<const char*>(node) -
                                                        offsetof(PerZone, tree_node));
      return mz->usage_in_excess.load();
    }
    bool operator()(const RbNode<M>* a, const RbNode<M>* b) const {
      const uint64_t key_a = Key(a);
      const uint64_t key_b = Key(b);
      return key_a < key_b;
    }
  };
};

}  // namespace memsim

#endif  // MEMSIM_EVENTS_EVENT_PATH_H_
