// Linux v4.4: the PGFAULT count is inline in the fault (since 4.3), excess over high waits for the way
// to user space, and the gate became a static key.
//
// Mirrors   linux v4.4, mm/memcontrol.c and include/linux/memcontrol.h
// Left out  the forced charge of dying tasks (4.4 charges them over the limit)
// Assumed   the size of the writeback domain (208 bytes); that mem_cgroup_from_task() stays a call where
//           get_mem_cgroup_from_mm() uses it, as it is one where the fault does
#ifndef MEMSIM_MODELS_KERNELS_V4_4_H_
#define MEMSIM_MODELS_KERNELS_V4_4_H_

#include "models/kernels/v4_2.h"

namespace memsim {

struct V4_4 : V4_2 {
  static constexpr absl::string_view kName = "v4.4";
  static constexpr absl::string_view kSource = "linux v4.4, mm/memcontrol.c";
  static constexpr absl::string_view kStory =
      "PGFAULT counted inline, high reclaim on return to user space";
  static constexpr GateKind kDefaultGate = GateKind::kStaticKey;
  static constexpr bool kEventInline = true;
  static constexpr bool kHighOnReturn = true;
  static constexpr bool kSwapTestInside = true;
  static constexpr MemcgShape kShape = {
      .stats = 7, .events_file = 8, .kmem_numa = 152, .cgwb_events = 28 + 208};

  template <class M>
  using MemCgroup = memsim::MemCgroup<M, kShape>;
  template <class M>
  using Stock = OneSlotStock<M, MemCgroup<M>>;
};

}  // namespace memsim

#endif  // MEMSIM_MODELS_KERNELS_V4_4_H_
