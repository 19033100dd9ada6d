// The image put together: globals, the code parts, and the few ways to reach data from code.
#ifndef MEMSIM_MEMCG_KERNEL_IMAGE_H_
#define MEMSIM_MEMCG_KERNEL_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memsim/events/event_path.h"
#include "memsim/internal/compiler.h"
#include "memsim/lru/lru_path.h"
#include "memsim/memcg/charge.h"
#include "memsim/memcg/image.h"
#include "memsim/memcg/limits.h"
#include "memsim/memcg/uncharge.h"
#include "memsim/page/fault_path.h"

namespace memsim {

// What does not depend on gate and knobs: the modelled globals and the ways to data.
template <class T>
class ImageData {
 public:
  using M = typename T::M;
  using Memcg = typename T::Memcg;
  using Page = typename T::Page;
  using Area = CpuArea<T>;

  // The modelled globals, reached without loading a pointer first.
  Globals<T> globals;

  // Host side: set up with the world, never modelled.
  std::byte* area0 = nullptr;
  uint64_t area_stride = 0;
  int cpu_count = 0;
  int zone_count = 0;
  std::vector<Memcg*> memcgs;  // by index, root first

  Area& AreaOf(CpuId cpu) {
    return *reinterpret_cast<Area*>(area0 + static_cast<uint64_t>(cpu) * area_stride);
  }
  typename T::Stock& StockOf(CpuId cpu) { return AreaOf(cpu).memcg_stock; }

  // Per-CPU data of the current CPU. Stats() is for this_cpu operations; the others take the address
  // first, as the kernel's get_cpu_var() does.
  static CpuStats<M>& Stats() { return reinterpret_cast<Area*>(M::this_cpu_area())->stats; }
  static typename T::Stock& ThisCpuStock() {
    return reinterpret_cast<Area*>(M::this_cpu_ptr())->memcg_stock;
  }
  static Pagevec<M, Page>& ThisCpuPagevec() {
    return reinterpret_cast<Area*>(M::this_cpu_ptr())->lru_add_pvec;
  }
  static PerCpuPages<M>& ThisCpuPageset() {
    return reinterpret_cast<Area*>(M::this_cpu_ptr())->pageset;
  }
  // Of the task that runs on this CPU: addresses it has in a register.
  static StackFrame<M, Page>& Stack() { return reinterpret_cast<Area*>(M::this_cpu_area())->stack; }
  static MmuGatherBatch<M, Page>& Gather() {
    return reinterpret_cast<Area*>(M::this_cpu_area())->gather;
  }

  Zone<M>* ZoneAt(int index) {
    return globals.node_zones.load() + (kZoneNormal + 1 - zone_count + index);
  }
  MEMSIM_INLINED Zone<M>* ZoneOf(Page* page) {
    Zone<M>* zones = globals.node_zones.load();
    return zones + page->zone_number();
  }
  Page* PageAt(uint32_t pfn) { return globals.mem_map.load() + pfn; }
  uint32_t PfnOf(const Page* page) {
    return static_cast<uint32_t>(page - globals.mem_map.load());
  }
};

template <class T>
class Image : public ImageData<typename T::Data>,
              public EventPath<T>,
              public ChargePath<T>,
              public UnchargePath<T>,
              public LimitPath<T>,
              public LruPath<T>,
              public FaultPath<T> {
 public:
  using M = typename T::M;

  [[no_unique_address]] typename T::Gate gate;
  [[no_unique_address]] typename T::Knobs knobs;

  // !mem_cgroup_disabled(): is the controller on now? For try_charge and the PGFAULT count alone; who asks
  // which question, and why, is in gate.h.
  MEMSIM_INLINED bool Enabled() const {
    const bool on = gate.Open(this->globals.memory_cgrp_subsys);
    MEMSIM_LOADS_IN_ORDER();  // the switch before EverEnabled()
    return on;
  }
  // Was the controller ever on in this world? While it was not, no page and no memcg is charged.
  MEMSIM_INLINED bool EverEnabled() const { return gate.OpenEver(this->globals.memory_cgrp_subsys); }
  // CONFIG_MEMCG
  MEMSIM_INLINED bool compiled_in() const { return gate.compiled_in(); }

  // Gives back the current CPU's LRU batch and stock.
  MEMSIM_COLD void DrainCpu() {
    this->lru_add_drain();
    this->ThisCpuStock().drain_stock(this->Give());
  }
};

}  // namespace memsim

#endif  // MEMSIM_MEMCG_KERNEL_IMAGE_H_
