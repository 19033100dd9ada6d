// Lockless hierarchical counter of pages: one LOCK instruction per level and charge.
//
// Mirrors   struct page_counter, page_counter_try_charge(), page_counter_uncharge(),
//           page_counter_cancel(); linux v4.0, include/linux/page_counter.h and mm/page_counter.c
// Shape     40 bytes; the hot count shares its line with the read-mostly limit
// Units     pages
// Threads   any; count is atomic. A charge that goes over the limit is visible for a moment before it
//           is taken back, so a neighbour may be refused although it would fit: the error is at most
//           the charges in flight, batch x CPUs
// Cost      per level: one LOCK instruction, loads of limit, watermark and parent
// Errors    false and the failing counter when a level would exceed its limit; nothing stays charged.
//           More uncharges than charges is a broken invariant and is checked
#ifndef MEMSIM_COUNTER_PAGE_COUNTER_H_
#define MEMSIM_COUNTER_PAGE_COUNTER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "memsim/internal/check.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/machine.h"
#include "memsim/units.h"

namespace memsim {

// PAGE_COUNTER_MAX on 64 bits: no limit.
inline constexpr Pages kNoLimit{INT64_MAX / kPageSize};

template <class M>
struct PageCounter {
  static constexpr absl::string_view kTypeName = "struct page_counter";

  typename M::template Atomic<int64_t> count;
  typename M::template Racy<int64_t> limit;
  typename M::template Cell<PageCounter*> parent;
  typename M::template Racy<int64_t> watermark;
  typename M::template Racy<int64_t> failcnt;

  static constexpr auto Fields() {
    using Self = PageCounter;
    return std::array{
        MEMSIM_FIELD(Self, count, kAnyCpu, "pages charged"),
        MEMSIM_FIELD(Self, limit, kSetup, "most pages that may be charged"),
        MEMSIM_FIELD(Self, parent, kSetup, "the next level up"),
        MEMSIM_FIELD(Self, watermark, kRacy, "highest count seen; a race may miss a peak"),
        MEMSIM_FIELD(Self, failcnt, kRacy, "refused charges; a race may lose one"),
    };
  }

  void Init(PageCounter* up) {
    limit.store(kNoLimit.n);
    parent.store(up);
  }
  Pages usage() const { return Pages(count.load()); }

  // Charges `n` pages to this counter and its parents. False: `*fail` would exceed its limit, and
  // nothing is charged. Considers no reclaim; that is the caller's business.
  [[nodiscard]] MEMSIM_OUT_OF_LINE bool page_counter_try_charge(Pages n, PageCounter** fail) {
    typename M::Scope scope(Fn::kPageCounterTryCharge);
    for (PageCounter* c = this; c != nullptr; c = c->parent.load()) {
      const int64_t now = c->count.add_return(n.n);
      M::Work(4);  // argument set-up, two compares and branches
      if (now > c->limit.load()) {
        c->count.add(-n.n);
        c->failcnt.add(1);
        *fail = c;
        for (PageCounter* below = this; below != c; below = below->parent.load()) {
          below->page_counter_cancel(n);
        }
        return false;
      }
      // Racy on purpose: two CPUs may store in either order, the lower peak may win.
      if (now > c->watermark.load()) c->watermark.store(now);
    }
    return true;
  }

  // Takes `n` pages off this counter and its parents.
  MEMSIM_OUT_OF_LINE void page_counter_uncharge(Pages n) {
    typename M::Scope scope(Fn::kPageCounterUncharge);
    for (PageCounter* c = this; c != nullptr; c = c->parent.load()) c->page_counter_cancel(n);
  }

  // Takes `n` pages off this one level.
  MEMSIM_OUT_OF_LINE void page_counter_cancel(Pages n) {
    typename M::Scope scope(Fn::kPageCounterCancel);
    const int64_t now = count.add_return(-n.n);
    M::Work(3);  // negate, test, branch
    MEMSIM_CHECK(now >= 0, "no more pages are uncharged than were charged");
  }
};

}  // namespace memsim

#endif  // MEMSIM_COUNTER_PAGE_COUNTER_H_
