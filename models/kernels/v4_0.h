// Linux v4.0: lockless page counters, one-slot stock, page->mem_cgroup; charge after SetPageUptodate.
//
// Mirrors   linux v4.0, mm/memcontrol.c, mm/page_counter.c, mm/memory.c, mm/swap.c
// Assumed   that the compiler inlined consume_stock(), css_tryget_online() and css_put() and the
//           helpers of the fault (none of them shows in the published 4.0 profiles); CONFIG_PREEMPT=n
#ifndef MEMSIM_MODELS_KERNELS_V4_0_H_
#define MEMSIM_MODELS_KERNELS_V4_0_H_

#include "memsim/gate/gate.h"
#include "memsim/machine/build_config.h"
#include "memsim/memcg/memcg.h"
#include "memsim/stock/one_slot_stock.h"

namespace memsim {

struct V4_0 {
  static constexpr absl::string_view kName = "v4.0";
  static constexpr absl::string_view kSource = "linux v4.0, mm/memcontrol.c";
  static constexpr absl::string_view kStory =
      "lockless page counters, stock of 32, uncharge from page lists";

  static constexpr BuildConfig kConfig = {
      .inlined = FnSet()
                     .With(Fn::kConsumeStock)
                     .With(Fn::kCssTrygetOnline)
                     .With(Fn::kCssPut)
                     .With(Fn::kOomRecover)
                     .With(Fn::kDoAnonymousPage)
                     .With(Fn::kAllocPage)
                     .With(Fn::kAddNewAnonRmap)
                     .With(Fn::kLruCacheAdd)};
  static constexpr GateKind kDefaultGate = GateKind::kFlag;
  static constexpr Pages kChargeBatch{32};
  static constexpr bool kChargeFirst = false;      // charge, then __SetPageUptodate()?
  static constexpr bool kEventInline = false;      // PGFAULT is counted inside the fault?
  static constexpr bool kHighOnReturn = false;     // excess over high waits for the way to user space?
  static constexpr bool kSwapTestInside = false;   // do_swap_account is only read for swap-cache pages?
  static constexpr MemcgShape kShape = {};

  template <class M>
  using MemCgroup = memsim::MemCgroup<M, kShape>;
  template <class M>
  using Stock = OneSlotStock<M, MemCgroup<M>>;
};

}  // namespace memsim

#endif  // MEMSIM_MODELS_KERNELS_V4_0_H_
