// The kernel image: one generation's code and data, composed for one machine, gate and set of knobs.
//
//   DataBundle, Bundle   name the types that belong together
//   CpuArea  the static per-CPU data, at constexpr offsets from the per-CPU base
//   Globals  the kernel's global variables the path reads; direct members of the image
//   Image    Globals (in ImageData) plus the code, one base class per source file of ours:
//            EventPath (events/), ChargePath (memcg/charge.h), UnchargePath, LimitPath (limits, reclaim,
//            OOM, drains), LruPath (lru/), FaultPath (page/)
//
// Every code part is a template over the bundle and reaches the others through self(). That is the
// whole wiring; there are no virtual calls and no pointers between parts.
#ifndef MEMSIM_MEMCG_IMAGE_H_
#define MEMSIM_MEMCG_IMAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "memsim/gate/gate.h"
#include "memsim/lru/pagevec.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/machine.h"
#include "memsim/memcg/memcg.h"
#include "memsim/memcg/mm.h"
#include "memsim/page/page.h"
#include "memsim/page/page_lists.h"

namespace memsim {

// Knobs at the kernel's constants: nothing is read at run time.
template <class K>
struct FixedKnobs {
  static constexpr Pages batch() { return K::kChargeBatch; }
  static constexpr bool charge_first() { return K::kChargeFirst; }
};

// Knobs that a user turned. They live in host memory and cost nothing on tracing and simulated; on
// native they cost a load, and the report says so.
struct DynamicKnobs {
  Pages batch_{32};
  bool charge_first_ = false;
  Pages batch() const { return batch_; }
  bool charge_first() const { return charge_first_; }
};

// The data of one kernel on one machine; the same whatever the gate and the knobs.
template <class Kernel_, class M_>
struct DataBundle {
  using K = Kernel_;
  using M = M_;
  using Memcg = typename K::template MemCgroup<M>;
  using Page = memsim::Page<M, Memcg>;
  using Stock = typename K::template Stock<M>;
};

template <class Kernel_, class M_, class Gate_, class Knobs_>
struct Bundle : DataBundle<Kernel_, M_> {
  using Data = DataBundle<Kernel_, M_>;
  using Gate = Gate_;
  using Knobs = Knobs_;
};

// What release_pages() and reclaim keep on their stack.
template <class M, class Page>
struct StackFrame {
  static constexpr absl::string_view kTypeName = "stack frame";
  ListHead<M> pages_to_free;
  typename M::template Cell<Page*> isolated[kSwapClusterMax];
  static constexpr auto Fields() {
    using Self = StackFrame;
    return std::array{
        MEMSIM_FIELD(Self, pages_to_free, kOwnCpu, "pages without users, to be freed"),
        MEMSIM_FIELD_ARRAY(Self, isolated, kOwnCpu, "pages that reclaim took off the LRU"),
    };
  }
};

template <class T>
struct CpuArea {
  using M = typename T::M;

  alignas(64) typename M::CpuHead head;
  alignas(64) typename T::Stock memcg_stock;
  alignas(64) Pagevec<M, typename T::Page> lru_add_pvec;
  alignas(64) PerCpuPages<M> pageset;
  alignas(64) CpuStats<M> stats;
  alignas(64) StackFrame<M, typename T::Page> stack;
  alignas(64) MmuGatherBatch<M, typename T::Page> gather;
  // Dynamically allocated per-CPU data (memcg statistics, reference counts) follows.
};

template <class M>
struct SoftLimitTree {
  static constexpr absl::string_view kTypeName = "struct mem_cgroup_tree_per_zone";
  RbNode<M> root;
  typename M::SpinLock lock;
  Unmodelled<4> pad;
  static constexpr auto Fields() {
    using Self = SoftLimitTree;
    return std::array{
        MEMSIM_FIELD(Self, root, kLock, "memcgs over their soft limit, by excess; lock"),
        MEMSIM_FIELD(Self, lock, kAnyCpu, "protects the tree"),
        MEMSIM_FIELD(Self, pad, kNone, "padding"),
    };
  }
};

template <class T>
struct Globals {
  static constexpr absl::string_view kTypeName = "kernel globals";
  using M = typename T::M;

  alignas(64) CgroupSubsys<M> memory_cgrp_subsys;
  typename M::template Cell<typename T::Memcg*> root_mem_cgroup;
  typename M::template Cell<uint32_t> do_swap_account;
  Unmodelled<4> pad_swap;
  typename M::template Cell<Zone<M>*> node_zones;
  typename M::template Cell<typename T::Page*> mem_map;
  Unmodelled<24> pad;
  typename M::template Atomic<uint32_t> percpu_charge_mutex;
  Unmodelled<60> pad_mutex;
  SoftLimitTree<M> soft_limit_tree[kMaxNrZones];

  static constexpr auto Fields() {
    using Self = Globals;
    return std::array{
        MEMSIM_FIELD(Self, memory_cgrp_subsys.callbacks, kNone, "the subsystem's callbacks"),
        MEMSIM_FIELD(Self, memory_cgrp_subsys.ever_answer, kSetup, "the indirect gate, sticky (ours)"),
        MEMSIM_FIELD(Self, memory_cgrp_subsys.disabled, kSetup, "the flag gate: non-zero is off"),
        MEMSIM_FIELD(Self, memory_cgrp_subsys.enabled, kSetup, "the atomic gate (ours)"),
        MEMSIM_FIELD(Self, memory_cgrp_subsys.answer, kSetup, "the indirect gate (ours)"),
        MEMSIM_FIELD(Self, memory_cgrp_subsys.never_enabled, kSetup, "the flag gate, sticky (ours)"),
        MEMSIM_FIELD(Self, memory_cgrp_subsys.ever_enabled, kSetup, "the atomic gate, sticky (ours)"),
        MEMSIM_FIELD(Self, root_mem_cgroup, kSetup, "the root memcg, never limited"),
        MEMSIM_FIELD(Self, do_swap_account, kSetup, "charge memory+swap as well?"),
        MEMSIM_FIELD(Self, pad_swap, kNone, "padding"),
        MEMSIM_FIELD(Self, node_zones, kSetup, "the zones of node 0"),
        MEMSIM_FIELD(Self, mem_map, kSetup, "the page array"),
        MEMSIM_FIELD(Self, pad, kNone, "padding"),
        MEMSIM_FIELD(Self, percpu_charge_mutex, kAnyCpu, "one drain of all stocks at a time"),
        MEMSIM_FIELD(Self, pad_mutex, kNone, "padding"),
        MEMSIM_FIELD_ARRAY(Self, soft_limit_tree, kLock, "one tree per zone"),
    };
  }
};

template <class T>
class Image;

// What every code part starts with: names and a way to the others.
#define MEMSIM_IMAGE_PART(T)                                                        \
  using K = typename T::K;                                                          \
  using M = typename T::M;                                                          \
  using Memcg = typename T::Memcg;                                                  \
  using Page = typename T::Page;                                                    \
  using Stock = typename T::Stock;                                                  \
  using Scope = typename M::Scope;                                                  \
  Image<T>& self() { return static_cast<Image<T>&>(*this); }

}  // namespace memsim

#endif  // MEMSIM_MEMCG_IMAGE_H_
