// The per-CPU batch in front of the LRU lists: fourteen pages per acquisition of the LRU lock.
//
// Mirrors   struct pagevec; linux v4.0, include/linux/pagevec.h
// Shape     128 bytes, 14 page pointers
// Threads   owned by its CPU
#ifndef MEMSIM_LRU_PAGEVEC_H_
#define MEMSIM_LRU_PAGEVEC_H_

#include <array>
#include <cstdint>

#include "memsim/machine/field_table.h"
#include "memsim/machine/machine.h"

namespace memsim {

inline constexpr int kPagevecSize = 14;
inline constexpr int kSwapClusterMax = 32;  // pages of a reclaim batch, and under the LRU lock at a time

template <class M, class Page>
struct Pagevec {
  static constexpr absl::string_view kTypeName = "struct pagevec";

  typename M::template Cell<uint64_t> nr;
  Unmodelled<8> cold;
  typename M::template Cell<Page*> pages[kPagevecSize];

  static constexpr auto Fields() {
    using Self = Pagevec;
    return std::array{
        MEMSIM_FIELD(Self, nr, kOwnCpu, "pages in the batch"),
        MEMSIM_FIELD(Self, cold, kNone, "cache hint"),
        MEMSIM_FIELD_ARRAY(Self, pages, kOwnCpu, "the batch, one reference each"),
    };
  }
};

}  // namespace memsim

#endif  // MEMSIM_LRU_PAGEVEC_H_
