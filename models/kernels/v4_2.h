// Linux v4.2: an ablation of v4.0-chargefirst. On the anonymous path data moved, and locks queue:
//   * DIRTY joined the statistics, so events and targets sit 8 bytes further on
//   * x86 has queued spinlocks
//   * nocpu_base and oom_wakeups are gone, writeback fields came in: the tail of struct mem_cgroup
//
// Mirrors   linux v4.2.8, mm/memcontrol.c
// Assumed   the size of the writeback domain (208 bytes)
#ifndef MEMSIM_MODELS_KERNELS_V4_2_H_
#define MEMSIM_MODELS_KERNELS_V4_2_H_

#include "models/kernels/v4_0_chargefirst.h"

namespace memsim {

struct V4_2 : V4_0ChargeFirst {
  static constexpr absl::string_view kName = "v4.2";
  static constexpr absl::string_view kSource = "linux v4.2, mm/memcontrol.c";
  static constexpr absl::string_view kStory = "v4.0-chargefirst with dirty-page statistics";
  static constexpr BuildConfig kConfig = [] {
    BuildConfig config = V4_0ChargeFirst::kConfig;
    config.ticket_locks = false;
    return config;
  }();
  static constexpr MemcgShape kShape = {.stats = 7, .kmem_numa = 160, .cgwb_events = 28 + 208};

  template <class M>
  using MemCgroup = memsim::MemCgroup<M, kShape>;
  template <class M>
  using Stock = OneSlotStock<M, MemCgroup<M>>;
};

}  // namespace memsim

#endif  // MEMSIM_MODELS_KERNELS_V4_2_H_
