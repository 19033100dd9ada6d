// The stages of a fault outside the model: what a machine file gives a number for.
#ifndef MEMSIM_MACHINE_STAGE_H_
#define MEMSIM_MACHINE_STAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace memsim {

// Parts of a fault (and of the way back) that are not the controller and touch no modelled structure.
enum class Stage : uint8_t {
  kException,  // entry and exit of the page-fault exception
  kVmaLookup,  // find_vma(), mmap lock taken and released
  kPageTable,  // walk and allocation of the tables, amortised
  kAllocPage,  // what the page allocator does around its lists
  kRmap,       // anon_vma preparation
  kUser,       // the user's loop between two faults
  kUnmapPage,  // zap and rmap removal of one page
  kTlbFlush,   // of one gather batch, on the CPU itself
  kFreePage,   // what freeing does around the lists, per page
  kCount,
};
inline constexpr size_t kStageCount = static_cast<size_t>(Stage::kCount);

struct StageInfo {
  Stage stage;
  absl::string_view name;     // field name in the machine file
  absl::string_view purpose;
};
inline constexpr std::array<StageInfo, kStageCount> kStages = {{
    {Stage::kException, "exception", "entry and exit of the page-fault exception"},
    {Stage::kVmaLookup, "vma_lookup", "find_vma(), besides the mmap lock"},
    {Stage::kPageTable, "page_table", "walk and allocation of page tables"},
    {Stage::kAllocPage, "alloc_page", "the page allocator around its lists"},
    {Stage::kRmap, "rmap", "anon_vma_prepare() and the rmap around its fields"},
    {Stage::kUser, "user", "the user's loop between two faults"},
    {Stage::kUnmapPage, "unmap_page", "zap and rmap removal of one page"},
    {Stage::kTlbFlush, "tlb_flush", "local TLB flush of one gather batch"},
    {Stage::kFreePage, "free_page", "freeing a page around the lists"},
}};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_STAGE_H_
