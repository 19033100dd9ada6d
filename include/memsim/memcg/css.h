// The reference-counted head of every cgroup, and the way from a task to it.
//
// A fault finds its memcg by a chase over separately allocated objects, each on a line of its own:
//   mm_struct.owner -> task_struct.cgroups -> css_set.subsys[memory] -> cgroup_subsys_state
//
// Mirrors   struct cgroup_subsys_state, struct percpu_ref, struct css_set, css_tryget_online(),
//           css_put(), css_get_many(), css_put_many(); linux v4.0, include/linux/cgroup.h and
//           percpu-refcount.h. Offsets of the ref pointer (0x18), the flags (0x74), owner (0x340),
//           cgroups (0xca0) and the memory slot (0x70) are read off the annotated 4.0 disassembly
// Threads   the reference count is per-CPU; the chase is read under RCU, written by a move
// Cost      child: one per-CPU add. Root: a load and a test (CSS_NO_REF)
// Left out  going offline: a css lives as long as its world, so tryget never fails, and the count
//           stays in per-CPU mode
// Assumed   sizes and the other offsets of task_struct and css_set
#ifndef MEMSIM_MEMCG_CSS_H_
#define MEMSIM_MEMCG_CSS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "memsim/internal/compiler.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/machine.h"

namespace memsim {

inline constexpr uint32_t kCssNoRef = 1;

template <class M>
struct Css {
  static constexpr absl::string_view kTypeName = "struct cgroup_subsys_state";

  Unmodelled<0x10> cgroup_ss;
  Unmodelled<8> ref_count;
  typename M::template Cell<uint64_t> ref_ptr;  // offset of the per-CPU count; low bits: mode
  Unmodelled<0x28> ref_rest;
  typename M::template Cell<Css*> parent;
  Unmodelled<0x24> links;
  typename M::template Cell<uint32_t> flags;
  Unmodelled<0x38> rest;

  static constexpr auto Fields() {
    using Self = Css;
    return std::array{
        MEMSIM_FIELD(Self, cgroup_ss, kNone, "cgroup, subsystem"),
        MEMSIM_FIELD(Self, ref_count, kNone, "the count once it left per-CPU mode"),
        MEMSIM_FIELD(Self, ref_ptr, kSetup, "where the per-CPU reference count is"),
        MEMSIM_FIELD(Self, ref_rest, kNone, "release, confirm, rcu"),
        MEMSIM_FIELD(Self, parent, kSetup, "css of the parent cgroup"),
        MEMSIM_FIELD(Self, links, kNone, "siblings, children, id"),
        MEMSIM_FIELD(Self, flags, kSetup, "CSS_NO_REF: root is not counted"),
        MEMSIM_FIELD(Self, rest, kNone, "serial number, rcu, destroy work"),
    };
  }

  bool no_ref() const {
    M::Work(1);
    return (flags.load() & kCssNoRef) != 0;
  }

  // The one inline function both directions share; `n` may be negative.
  MEMSIM_INLINED void AddReferences(int64_t n) {
    if (no_ref()) return;
    const uint64_t where = ref_ptr.load();
    M::Work(2);  // test of the mode bits, branch
    ThisCpuCount(where).add(n);
  }
  MEMSIM_INLINED bool css_tryget_online() {
    typename M::Scope scope(Fn::kCssTrygetOnline);
    typename M::RcuGuard rcu;
    AddReferences(1);
    return true;
  }
  MEMSIM_INLINED void css_put() {
    typename M::Scope scope(Fn::kCssPut);
    AddReferences(-1);
  }
  void css_get_many(int64_t n) { AddReferences(n); }
  void css_put_many(int64_t n) { AddReferences(-n); }

  using PerCpuCount = typename M::template PerCpu<int64_t>;
  static PerCpuCount& ThisCpuCount(uint64_t offset) {
    return *reinterpret_cast<PerCpuCount*>(M::this_cpu_area() + offset);
  }
};

template <class M>
struct CssSet {
  static constexpr absl::string_view kTypeName = "struct css_set";

  Unmodelled<0x70> links;
  typename M::template Racy<Css<M>*> subsys_memory;
  Unmodelled<0x108> rest;

  static constexpr auto Fields() {
    using Self = CssSet;
    return std::array{
        MEMSIM_FIELD(Self, links, kNone, "reference count, lists, other subsystems"),
        MEMSIM_FIELD(Self, subsys_memory, kSetup, "the memory controller's css"),
        MEMSIM_FIELD(Self, rest, kNone, "other subsystems, lists"),
    };
  }
};

template <class M>
struct TaskStruct {
  static constexpr absl::string_view kTypeName = "struct task_struct";

  Unmodelled<0xca0> scheduler_signals;
  typename M::template Racy<CssSet<M>*> cgroups;
  Unmodelled<0x58> lists;
  typename M::template Cell<Css<M>*> memcg_oom_memcg;
  typename M::template Cell<uint32_t> memcg_oom_may_oom;
  typename M::template Cell<uint32_t> memcg_nr_pages_over_high;
  typename M::template Cell<uint32_t> notify_resume;
  typename M::template Cell<uint32_t> oom_kills;
  Unmodelled<0x28> rest;  // to the end of the line

  static constexpr auto Fields() {
    using Self = TaskStruct;
    return std::array{
        MEMSIM_FIELD(Self, scheduler_signals, kNone, "scheduler, memory, signals"),
        MEMSIM_FIELD(Self, cgroups, kRacy, "its css_set; a move replaces it (RCU)"),
        MEMSIM_FIELD(Self, lists, kNone, "cgroup and robust lists"),
        MEMSIM_FIELD(Self, memcg_oom_memcg, kOwnCpu, "whose limit this fault hit"),
        MEMSIM_FIELD(Self, memcg_oom_may_oom, kOwnCpu, "set for the length of a user fault"),
        MEMSIM_FIELD(Self, memcg_nr_pages_over_high, kOwnCpu, "excess over high, left for the exit path"),
        MEMSIM_FIELD(Self, notify_resume, kOwnCpu, "TIF_NOTIFY_RESUME"),
        MEMSIM_FIELD(Self, oom_kills, kOwnCpu, "faults that ended in OOM (ours)"),
        MEMSIM_FIELD(Self, rest, kNone, "the rest"),
    };
  }
};

}  // namespace memsim

#endif  // MEMSIM_MEMCG_CSS_H_
