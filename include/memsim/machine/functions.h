// The kernel functions that the models mirror: the one list of their names.
//
// A C++ function that mirrors a kernel function bears the kernel's name, because users compare our
// profiles with `perf report`. A leading "__" is reserved in C++, so __mem_cgroup_count_vm_event is
// written mem_cgroup_count_vm_event__ here and printed under its kernel name.
//
// Units     pushes: registers saved by the prologue
// Source    pushes of mem_cgroup_try_charge: five registers are saved before the flag is tested in the
//           annotated 4.0 disassembly (M. Gorman, 20150519151302.GG2462@suse.de). Pushes of the other
//           functions of the 2015 profile, and the instructions their Work() counts: what gcc 12.2 -O2 makes
//           of functions of the same shape, counted by single steps; a kernel of 2015 had an older compiler
// Assumed   the other pushes
#ifndef MEMSIM_MACHINE_FUNCTIONS_H_
#define MEMSIM_MACHINE_FUNCTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace memsim {

enum class Fn : uint8_t {
  // mm/memcontrol.c, in the order of the published 2015 profile
  kCountVmEvent,
  kPageLruvec,
  kMemCgroupCommitCharge,
  kUnchargeList,
  kUpdateLruSize,
  kGetMemCgroupFromMm,
  kMemCgroupTryCharge,
  kCheckEvents,
  kChargeStatistics,
  kCommitCharge,
  kTryCharge,
  // mm/memcontrol.c, the rest
  kConsumeStock,
  kRefillStock,
  kDrainStock,
  kDrainAllStock,
  kDrainLocalStock,
  kCssTrygetOnline,
  kCssPut,
  kCancelCharge,
  kUnchargeBatch,
  kMemCgroupUnchargeList,
  kThreshold,
  kUpdateTree,
  kReclaim,
  kOom,
  kOomRecover,
  kHandleOverHigh,
  kMemCgroupFromTask,
  // mm/page_counter.c
  kPageCounterTryCharge,
  kPageCounterUncharge,
  kPageCounterCancel,
  // around the controller
  kHandleMmFault,
  kDoAnonymousPage,
  kAllocPage,
  kAddNewAnonRmap,
  kLruCacheAdd,
  kPagevecLruMoveFn,
  kZapPteRange,
  kReleasePages,
  kFreePages,
  kShrinkLruvec,
  kCount,
};

inline constexpr size_t kFnCount = static_cast<size_t>(Fn::kCount);

// Whose cost a function is.
enum class FnGroup : uint8_t {
  kMemcg,    // mm/memcontrol.c
  kCounter,  // mm/page_counter.c
  kRest,     // the fault around it
};

struct FnInfo {
  Fn id;
  absl::string_view name;    // the kernel's
  absl::string_view source;  // file in the kernel tree
  FnGroup group;
  uint8_t pushes;
  absl::string_view purpose;  // one clause, for `memsim explain`
};

inline constexpr std::array<FnInfo, kFnCount> kFunctions = {{
    {Fn::kCountVmEvent, "__mem_cgroup_count_vm_event", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "count one PGFAULT in the memcg of the mm's owner"},
    {Fn::kPageLruvec, "mem_cgroup_page_lruvec", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "find the LRU lists a page belongs on"},
    {Fn::kMemCgroupCommitCharge, "mem_cgroup_commit_charge", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "tie the page to the memcg that paid"},
    {Fn::kUnchargeList, "uncharge_list", "mm/memcontrol.c", FnGroup::kMemcg, 6,
     "collect the freed pages of one memcg"},
    {Fn::kUpdateLruSize, "mem_cgroup_update_lru_size", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "keep the length of the LRU list"},
    {Fn::kGetMemCgroupFromMm, "get_mem_cgroup_from_mm", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "find the memcg and take a reference"},
    {Fn::kMemCgroupTryCharge, "mem_cgroup_try_charge", "mm/memcontrol.c", FnGroup::kMemcg, 5,
     "charge a page before it is mapped"},
    {Fn::kCheckEvents, "memcg_check_events", "mm/memcontrol.c", FnGroup::kMemcg, 1,
     "is a threshold or soft-limit check due?"},
    {Fn::kChargeStatistics, "mem_cgroup_charge_statistics", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "count the page in the per-CPU statistics"},
    {Fn::kCommitCharge, "commit_charge", "mm/memcontrol.c", FnGroup::kMemcg, 3,
     "write page->mem_cgroup"},
    {Fn::kTryCharge, "try_charge", "mm/memcontrol.c", FnGroup::kMemcg, 6,
     "take pages from the stock or the counters"},
    {Fn::kConsumeStock, "consume_stock", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "take a page from this CPU's stock"},
    {Fn::kRefillStock, "refill_stock", "mm/memcontrol.c", FnGroup::kMemcg, 3,
     "put the rest of the batch into the stock"},
    {Fn::kDrainStock, "drain_stock", "mm/memcontrol.c", FnGroup::kMemcg, 2,
     "give a stock back to the counters"},
    {Fn::kDrainAllStock, "drain_all_stock", "mm/memcontrol.c", FnGroup::kMemcg, 6,
     "ask every CPU to drain its stock"},
    {Fn::kDrainLocalStock, "drain_local_stock", "mm/memcontrol.c", FnGroup::kMemcg, 1,
     "drain this CPU's stock on request"},
    {Fn::kCssTrygetOnline, "css_tryget_online", "include/linux/cgroup.h", FnGroup::kMemcg, 0,
     "take a reference unless the css goes away"},
    {Fn::kCssPut, "css_put", "include/linux/cgroup.h", FnGroup::kMemcg, 0, "drop the reference"},
    {Fn::kCancelCharge, "cancel_charge", "mm/memcontrol.c", FnGroup::kMemcg, 2,
     "give back a charge that was not committed"},
    {Fn::kUnchargeBatch, "uncharge_batch", "mm/memcontrol.c", FnGroup::kMemcg, 6,
     "return the collected charge to the counters"},
    {Fn::kMemCgroupUnchargeList, "mem_cgroup_uncharge_list", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "uncharge a list of pages"},
    {Fn::kThreshold, "mem_cgroup_threshold", "mm/memcontrol.c", FnGroup::kMemcg, 3,
     "compare usage with the registered thresholds"},
    {Fn::kUpdateTree, "mem_cgroup_update_tree", "mm/memcontrol.c", FnGroup::kMemcg, 6,
     "keep the soft-limit tree in order"},
    {Fn::kReclaim, "try_to_free_mem_cgroup_pages", "mm/vmscan.c", FnGroup::kMemcg, 6,
     "reclaim pages from the memcg's LRU tails"},
    {Fn::kOom, "mem_cgroup_oom", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "remember that the task ran into the limit"},
    {Fn::kOomRecover, "memcg_oom_recover", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "wake tasks that wait for memory"},
    {Fn::kHandleOverHigh, "mem_cgroup_handle_over_high", "mm/memcontrol.c", FnGroup::kMemcg, 2,
     "reclaim the excess over high on the way to user space"},
    {Fn::kMemCgroupFromTask, "mem_cgroup_from_task", "mm/memcontrol.c", FnGroup::kMemcg, 0,
     "follow the task to its memcg"},
    {Fn::kPageCounterTryCharge, "page_counter_try_charge", "mm/page_counter.c", FnGroup::kCounter, 4,
     "charge a counter and all its parents"},
    {Fn::kPageCounterUncharge, "page_counter_uncharge", "mm/page_counter.c", FnGroup::kCounter, 2,
     "uncharge a counter and all its parents"},
    {Fn::kPageCounterCancel, "page_counter_cancel", "mm/page_counter.c", FnGroup::kCounter, 0,
     "take pages off one counter"},
    {Fn::kHandleMmFault, "handle_mm_fault", "mm/memory.c", FnGroup::kRest, 6,
     "enter the fault on an address of this mm"},
    {Fn::kDoAnonymousPage, "do_anonymous_page", "mm/memory.c", FnGroup::kRest, 6,
     "give the address a zeroed page"},
    {Fn::kAllocPage, "get_page_from_freelist", "mm/page_alloc.c", FnGroup::kRest, 6,
     "take a page from this CPU's free list"},
    {Fn::kAddNewAnonRmap, "page_add_new_anon_rmap", "mm/rmap.c", FnGroup::kRest, 2,
     "record who maps the page"},
    {Fn::kLruCacheAdd, "lru_cache_add_active_or_unevictable", "mm/swap.c", FnGroup::kRest, 2,
     "queue the page for the LRU list"},
    {Fn::kPagevecLruMoveFn, "pagevec_lru_move_fn", "mm/swap.c", FnGroup::kRest, 6,
     "move a full batch to the LRU lists"},
    {Fn::kZapPteRange, "zap_pte_range", "mm/memory.c", FnGroup::kRest, 6,
     "clear the page table entries of a range"},
    {Fn::kReleasePages, "release_pages", "mm/swap.c", FnGroup::kRest, 6,
     "drop the references of a batch of pages"},
    {Fn::kFreePages, "free_hot_cold_page_list", "mm/page_alloc.c", FnGroup::kRest, 3,
     "put freed pages on this CPU's free list"},
    {Fn::kShrinkLruvec, "shrink_lruvec", "mm/vmscan.c", FnGroup::kRest, 6,
     "take pages off one LRU tail and free them"},
}};

consteval bool FunctionsInOrder() {
  for (size_t i = 0; i < kFnCount; ++i) {
    if (kFunctions[i].id != static_cast<Fn>(i)) return false;
  }
  return true;
}
static_assert(FunctionsInOrder(), "kFunctions is indexed by Fn");

constexpr const FnInfo& Info(Fn fn) { return kFunctions[static_cast<size_t>(fn)]; }

// Does the function belong to the memory controller?
constexpr bool IsMemcg(Fn fn) { return Info(fn).group != FnGroup::kRest; }

// A set of functions, usable as part of a build configuration.
struct FnSet {
  uint64_t bits = 0;
  constexpr bool operator==(const FnSet&) const = default;
  constexpr bool Has(Fn fn) const { return (bits >> static_cast<unsigned>(fn)) & 1; }
  constexpr FnSet With(Fn fn) const { return {bits | uint64_t{1} << static_cast<unsigned>(fn)}; }
};
static_assert(kFnCount <= 64);

}  // namespace memsim

#endif  // MEMSIM_MACHINE_FUNCTIONS_H_
