// For codegen_test: mechanisms of the native machine, and the same written by hand on plain
// structures. Mechanisms that are functions of their own are found in paths.cc. Nobody runs any of
// this; the test reads its machine code.
#include <cstddef>
#include <cstdint>

#include "memsim/internal/check.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/native.h"
#include "memsim/memcg/css.h"
#include "memsim/memcg/memcg.h"
#include "memsim/page/page.h"
#include "memsim/stock/one_slot_stock.h"
#include "models/kernels/v4_0.h"

namespace {

using M = memsim::Native<memsim::V4_0::kConfig>;
using Memcg = memsim::V4_0::MemCgroup<M>;
using Stock = memsim::V4_0::Stock<M>;

// The plain structures, with the same layout.
struct PlainMemcg;
struct PlainCounter {
  int64_t count;
  int64_t limit;
  PlainCounter* parent;
  int64_t watermark;
  int64_t failcnt;
};
struct PlainStock {
  PlainMemcg* cached;
  uint32_t nr_pages;
  char work[36];
  uint64_t flags;
};
struct PlainCss {
  char before_ref[0x18];
  uint64_t ref_ptr;
  char before_flags[0x54];
  uint32_t flags;
};
struct PlainMemcg {
  PlainCss css;
  char before_stat[offsetof(Memcg, stat) - sizeof(PlainCss)];
  uint64_t stat;
};
struct PlainCssSet {
  char before[0x70];
  PlainMemcg* subsys_memory;
};
struct PlainTask {
  char before[0xca0];
  PlainCssSet* cgroups;
};
struct PlainMm {
  char before[0x340];
  PlainTask* owner;
};
struct PlainPage {
  uint64_t flags;
  uintptr_t mapping;
};
struct PlainStat {
  int64_t count[6];
  uint64_t events[8];
  uint64_t nr_page_events;
  uint64_t targets[3];
};

void PlainThisCpuAdd(int64_t* where, int64_t n) {
  asm volatile("addq %1, %0" : "+m"(*where) : "re"(n) : "cc");
}
PlainStat* PlainThisCpuStat(PlainMemcg* memcg) {
  return reinterpret_cast<PlainStat*>(memsim::native::this_cpu + memcg->stat);
}

}  // namespace

// As in a member function, the first argument is an object.
#define MEMSIM_PAIR extern "C" MEMSIM_OUT_OF_LINE __attribute__((nonnull(1)))

// ---- consume_stock()

MEMSIM_PAIR bool mechanism_consume_stock(Stock* stock, Memcg* memcg, int64_t n) {
  return stock->consume_stock(memcg, memsim::Pages(n), memsim::Pages(32));
}
MEMSIM_PAIR bool plain_consume_stock(PlainStock* stock, PlainMemcg* memcg, int64_t n) {
  if (n > 32) return false;
  if (stock->cached != memcg || stock->nr_pages < static_cast<uint32_t>(n)) return false;
  stock->nr_pages -= static_cast<uint32_t>(n);
  return true;
}

// ---- page_counter_cancel(), page_counter_uncharge(), page_counter_try_charge(): the mechanisms
// are in paths.cc

MEMSIM_PAIR void plain_page_counter_cancel(PlainCounter* counter, int64_t n) {
  const int64_t now = __atomic_sub_fetch(&counter->count, n, __ATOMIC_SEQ_CST);
  MEMSIM_CHECK(now >= 0, "no more pages are uncharged than were charged");
}
MEMSIM_PAIR void plain_page_counter_uncharge(PlainCounter* counter, int64_t n) {
  for (PlainCounter* c = counter; c != nullptr; c = c->parent) plain_page_counter_cancel(c, n);
}
MEMSIM_PAIR bool plain_page_counter_try_charge(PlainCounter* counter, int64_t n,
                                               PlainCounter** fail) {
  for (PlainCounter* c = counter; c != nullptr; c = c->parent) {
    const int64_t now = __atomic_add_fetch(&c->count, n, __ATOMIC_SEQ_CST);
    if (now > c->limit) {
      __atomic_fetch_sub(&c->count, n, __ATOMIC_SEQ_CST);
      c->failcnt++;
      *fail = c;
      for (PlainCounter* below = counter; below != c; below = below->parent) {
        plain_page_counter_cancel(below, n);
      }
      return false;
    }
    if (now > c->watermark) c->watermark = now;
  }
  return true;
}

// ---- css_tryget_online()

MEMSIM_PAIR void mechanism_css_tryget(memsim::Css<M>* css) { css->css_tryget_online(); }
MEMSIM_PAIR void plain_css_tryget(PlainCss* css) {
  if ((css->flags & 1) != 0) return;
  PlainThisCpuAdd(reinterpret_cast<int64_t*>(memsim::native::this_cpu + css->ref_ptr), 1);
}

// ---- __mem_cgroup_count_vm_event(): the mechanism is in paths.cc

MEMSIM_PAIR void plain_count_vm_event(PlainMm* mm, int event) {
  PlainTask* owner = mm->owner;
  if (owner == nullptr) return;
  PlainMemcg* memcg = owner->cgroups->subsys_memory;
  if (memcg == nullptr) return;
  PlainThisCpuAdd(reinterpret_cast<int64_t*>(&PlainThisCpuStat(memcg)->events[event]), 1);
}

// ---- mem_cgroup_charge_statistics(): the mechanism is in paths.cc

MEMSIM_PAIR void plain_charge_statistics(PlainMemcg* memcg, PlainPage* page, int64_t n) {
  const bool anon = (page->mapping & 1) != 0;
  if ((page->flags & uint64_t{1} << memsim::kPgHead) != 0) __builtin_trap();
  PlainStat* stat = PlainThisCpuStat(memcg);
  PlainThisCpuAdd(&stat->count[anon ? 1 : 0], n);
  PlainThisCpuAdd(reinterpret_cast<int64_t*>(&stat->events[n > 0 ? 0 : 1]), 1);
  PlainThisCpuAdd(reinterpret_cast<int64_t*>(&stat->nr_page_events), n > 0 ? n : -n);
}
