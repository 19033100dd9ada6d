// Per-CPU stock with one owner: most charges touch no line that another CPU writes.
//
// Mirrors   struct memcg_stock_pcp, consume_stock(), refill_stock(), drain_stock(),
//           drain_local_stock(); linux v4.0, mm/memcontrol.c
// Shape     56 bytes per CPU; one cached memcg
// Units     pages. There is no upper cap: repeated refills may hold more than one batch (as in 4.0)
// Threads   owned by its CPU. cached, nr_pages and flags are also read by a draining CPU, which may
//           act on values that are stale by one operation: it then asks for a drain in vain, or leaves
//           up to one refill behind
// Cost      hit: one line. Refill for another memcg: a drain, one LOCK instruction per level and counter
// Errors    a miss is a return value
// Left out  CPU hotplug
#ifndef MEMSIM_STOCK_ONE_SLOT_STOCK_H_
#define MEMSIM_STOCK_ONE_SLOT_STOCK_H_

#include <array>
#include <cstdint>

#include "memsim/internal/compiler.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/machine.h"
#include "memsim/units.h"

namespace memsim {

// Contract of a stock:
//   - consume_stock() takes all `n` pages or none; it touches no page counter.
//   - refill_stock() takes over pages the caller has already charged; the stock now owes them back.
//   - after drain_stock() the counters hold exactly what callers hold.
//   - AnySlot() tells a draining CPU, without a lock, whose pages the stock holds; `flags` is its note
//     that a drain is on its way.
// `Give` returns a drained memcg's pages to its counters and drops their references.
template <class M, class Memcg>
struct OneSlotStock {
  static constexpr absl::string_view kTypeName = "struct memcg_stock_pcp";
  static constexpr uint64_t kFlushingCachedCharge = 1;

  typename M::template Racy<Memcg*> cached;
  typename M::template Racy<uint32_t> nr_pages;
  Unmodelled<36> work;
  typename M::template Atomic<uint64_t> flags;

  static constexpr auto Fields() {
    using Self = OneSlotStock;
    return std::array{
        MEMSIM_FIELD(Self, cached, kOwnCpu, "whose pages these are; read by a draining CPU"),
        MEMSIM_FIELD(Self, nr_pages, kOwnCpu, "charged pages nobody uses yet; read by a draining CPU"),
        MEMSIM_FIELD(Self, work, kNone, "work item of the drain"),
        MEMSIM_FIELD(Self, flags, kAnyCpu, "FLUSHING_CACHED_CHARGE: a drain is on its way"),
    };
  }

  [[nodiscard]] MEMSIM_INLINED bool consume_stock(Memcg* memcg, Pages n, Pages batch) {
    typename M::Scope scope(Fn::kConsumeStock);
    M::Work(2);  // compare with the batch, branch
    if (n > batch) return false;
    typename M::PreemptGuard preempt;
    M::Work(3);  // two branches, the answer
    if (cached.load() != memcg) return false;
    if (nr_pages.load() < static_cast<uint32_t>(n.n)) return false;
    nr_pages.add(static_cast<uint32_t>(-n.n));
    return true;
  }

  // Calls visit(memcg, pages) for each slot that holds pages, until it says true.
  template <class Visit>
  bool AnySlot(Visit visit) const {
    Memcg* memcg = cached.load();
    if (memcg == nullptr) return false;
    const Pages held(nr_pages.load());
    return held.n != 0 && visit(memcg, held);
  }

  template <class Give>
  MEMSIM_OUT_OF_LINE void drain_stock(Give give) {
    typename M::Scope scope(Fn::kDrainStock);
    Memcg* old = cached.load();
    const Pages held(nr_pages.load());
    M::Work(1);
    if (held.n != 0) {
      give(old, held);
      nr_pages.store(0);
    }
    cached.store(nullptr);
  }

  template <class Give>
  MEMSIM_OUT_OF_LINE void refill_stock(Memcg* memcg, Pages n, Give give) {
    typename M::Scope scope(Fn::kRefillStock);
    typename M::PreemptGuard preempt;
    M::Work(1);
    if (cached.load() != memcg) {
      drain_stock(give);
      cached.store(memcg);
    }
    nr_pages.add(static_cast<uint32_t>(n.n));
  }
};

}  // namespace memsim

#endif  // MEMSIM_STOCK_ONE_SLOT_STOCK_H_
