#include "tests/oracle/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace memsim::oracle {

namespace {

constexpr int kUnmapped = -2;
constexpr int64_t kLruBatch = 14;  // pages of one pagevec

// Sums `field` of a memcg and all below it.
int64_t Below(const Ledger& ledger, size_t memcg, int64_t LedgerRow::*field) {
  int64_t sum = 0;
  for (size_t i = 0; i < ledger.memcgs.size(); ++i) {
    size_t at = i;
    while (at != memcg && at != 0) at = static_cast<size_t>(ledger.memcgs[at].parent);
    if (at != memcg) continue;
    if (i == 0) continue;  // root itself is never charged
    sum += ledger.memcgs[i].*field;
  }
  return sum;
}

int64_t Sum(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t value : values) sum += value;
  return sum;
}

}  // namespace

MemcgSpec Memcg(std::string name, int parent, const Limits& limits) {
  return {.name = std::move(name),
          .parent = parent,
          .max = limits.max,
          .memsw_max = limits.memsw_max,
          .high = limits.high,
          .soft = limits.soft,
          .thresholds = limits.thresholds};
}

ExecResult Execute(Session& session, const std::vector<Operations>& per_cpu) {
  std::vector<VectorStream> streams;
  streams.reserve(per_cpu.size());
  std::vector<OperationStream*> pointers;
  for (const Operations& operations : per_cpu) {
    streams.emplace_back(operations);
    pointers.push_back(&streams.back());
  }
  return session.Execute(pointers);
}

Operation Fault(int mm, uint64_t vpn, int64_t pages) {
  return {.kind = OpKind::kFault, .mm = mm, .vpn = vpn, .pages = Pages(pages)};
}
Operation Unmap(int mm, uint64_t vpn, int64_t pages) {
  return {.kind = OpKind::kUnmap,
          .phase = Phase::kUncharge,
          .mm = mm,
          .vpn = vpn,
          .pages = Pages(pages)};
}
Operation Move(int mm, int memcg) { return {.kind = OpKind::kMove, .mm = mm, .memcg = memcg}; }
Operation Exit(int mm) { return {.kind = OpKind::kExit, .phase = Phase::kUncharge, .mm = mm}; }

Operations RandomOperations(Random& random, const WorldPlan& plan, const std::vector<int>& mms,
                            int count) {
  Operations operations;
  for (int i = 0; i < count; ++i) {
    const int mm = mms[random.Below(mms.size())];
    const uint64_t size = static_cast<uint64_t>(plan.mms[static_cast<size_t>(mm)].size.n);
    const uint64_t kind = random.Below(100);
    const uint64_t longest = random.Below(20) == 0 ? size : 48;
    const uint64_t vpn = random.Below(size);
    const int64_t pages =
        static_cast<int64_t>(std::min<uint64_t>(1 + random.Below(longest), size - vpn));
    const int memcg = static_cast<int>(random.Below(plan.memcgs.size()));
    if (kind < 55) {
      operations.push_back(Fault(mm, vpn, pages));
    } else if (kind < 82) {
      operations.push_back(Unmap(mm, vpn, pages));
    } else if (kind < 97) {
      operations.push_back(Move(mm, memcg));
    } else {
      operations.push_back(Exit(mm));
    }
  }
  return operations;
}

SessionConfig DefaultConfig(const Kernel& kernel, WorldPlan plan) {
  SessionConfig config;
  config.plan = std::move(plan);
  config.gate = kernel.default_gate;
  config.config = kernel.build;
  return config;
}

std::unique_ptr<Session> Open(const Kernel& kernel, MachineKind machine,
                              const SessionConfig& config) {
  auto session = kernel.Open(machine, config);
  if (!session.ok()) {
    ADD_FAILURE() << session.status();
    return nullptr;
  }
  return *std::move(session);
}

Oracle::Oracle(const WorldPlan& plan, bool charging) : plan_(plan), charging_(charging) {
  ledger_.free_pages = plan.memory.n;
  for (const MemcgSpec& memcg : plan.memcgs) {
    LedgerRow row;
    row.name = memcg.name;
    row.parent = memcg.parent;
    ledger_.memcgs.push_back(row);
  }
  for (const MmSpec& mm : plan.mms) {
    owner_.push_back(mm.memcg);
    payer_.emplace_back(static_cast<size_t>(mm.size.n), kUnmapped);
    ledger_.mapped.push_back(0);
  }
}

CpuResult Oracle::Run(const Operations& operations) {
  CpuResult result;
  for (const Operation& op : operations) {
    CpuResult::PerPhase& phase = result.phase[static_cast<size_t>(op.phase)];
    switch (op.kind) {
      case OpKind::kFault:
        for (int64_t i = 0; i < op.pages.n; ++i) {
          FaultPage(op.mm, op.vpn + static_cast<uint64_t>(i), phase, result);
        }
        break;
      case OpKind::kUnmap:
        phase.pages += UnmapRange(op.mm, op.vpn, op.pages.n);
        break;
      case OpKind::kMove:
        owner_[static_cast<size_t>(op.mm)] = op.memcg;
        break;
      case OpKind::kExit:
        phase.pages += UnmapRange(op.mm, 0, plan_.mms[static_cast<size_t>(op.mm)].size.n);
        break;
    }
  }
  return result;
}

void Oracle::FaultPage(int mm, uint64_t vpn, CpuResult::PerPhase& phase, CpuResult& result) {
  const int owner = owner_[static_cast<size_t>(mm)];
  // The event belongs to the attempt, whatever comes of it.
  if (charging_) ++ledger_.memcgs[static_cast<size_t>(owner)].events[kPgfault];
  int& payer = payer_[static_cast<size_t>(mm)][vpn];
  if (ledger_.free_pages == 0) {  // the page is allocated before anybody looks at the entry
    ++result.no_memory;
    return;
  }
  if (payer != kUnmapped) {
    ++result.already_mapped;
    return;
  }
  ++phase.pages;
  payer = charging_ ? owner : kNobody;
  --ledger_.free_pages;
  ++ledger_.mapped[static_cast<size_t>(mm)];
  Account(payer, 1);
}

int64_t Oracle::UnmapRange(int mm, uint64_t vpn, int64_t pages) {
  int64_t unmapped = 0;
  for (int64_t i = 0; i < pages; ++i, ++vpn) {
    int& payer = payer_[static_cast<size_t>(mm)][vpn];
    if (payer == kUnmapped) continue;
    Account(payer, -1);
    payer = kUnmapped;
    ++ledger_.free_pages;
    --ledger_.mapped[static_cast<size_t>(mm)];
    ++unmapped;
  }
  return unmapped;
}

void Oracle::Account(int memcg, int sign) {
  if (memcg == kNobody) return;
  LedgerRow& row = ledger_.memcgs[static_cast<size_t>(memcg)];
  row.held += sign;
  row.lru += sign;
  row.rss += sign;
  ++row.events[sign > 0 ? kPgpgin : kPgpgout];
  if (memcg == 0) return;  // root is not charged and not counted
  row.references += sign;
  // Up to and including the root's counters, which carry what the children charge.
  for (size_t at = static_cast<size_t>(memcg);;
       at = static_cast<size_t>(ledger_.memcgs[at].parent)) {
    ledger_.memcgs[at].memory += sign;
    if (plan_.memsw) ledger_.memcgs[at].memsw += sign;
    if (at == 0) break;
  }
}

void ExpectLedger(const Ledger& expected, const Ledger& actual) {
  ASSERT_EQ(expected.memcgs.size(), actual.memcgs.size());
  for (size_t i = 0; i < expected.memcgs.size(); ++i) {
    const LedgerRow& want = expected.memcgs[i];
    const LedgerRow& have = actual.memcgs[i];
    SCOPED_TRACE(absl::StrCat("memcg ", want.name));
    EXPECT_EQ(want.memory, have.memory);
    EXPECT_EQ(want.memsw, have.memsw);
    EXPECT_EQ(want.references, have.references);
    EXPECT_EQ(want.held, have.held);
    EXPECT_EQ(want.lru, have.lru);
    EXPECT_EQ(want.rss, have.rss);
    EXPECT_EQ(want.stock, have.stock);
    EXPECT_EQ(want.failcnt, have.failcnt);
    EXPECT_GE(have.watermark, have.memory);
    for (int e = 0; e < kMemcgEvents; ++e)
      EXPECT_EQ(want.events[e], have.events[e]) << "event " << e;
  }
  EXPECT_EQ(expected.mapped, actual.mapped);
  EXPECT_EQ(expected.free_pages, actual.free_pages);
}

void ExpectResult(const CpuResult& expected, const CpuResult& actual) {
  for (size_t p = 0; p < kPhaseCount; ++p) {
    EXPECT_EQ(expected.phase[p].pages, actual.phase[p].pages) << "phase " << p;
  }
  EXPECT_EQ(expected.oom, actual.oom);
  EXPECT_EQ(expected.no_memory, actual.no_memory);
  EXPECT_EQ(expected.already_mapped, actual.already_mapped);
}

// Why (batch - 1) x CPUs although the stock has no upper cap: a stock is refilled only after it
// missed, with the `batch - n` pages that a charge of `n` leaves over. It missed because it holds
// another memcg's pages, which are drained first, or fewer than `n`, so it then holds at most n - 1
// + batch - n. More would need a second charge between the miss and the refill of the first: an
// interrupt that charges, or a task that slept in reclaim and woke up on another CPU. Neither
// exists here.
void ExpectConsistent(const WorldPlan& plan, const Ledger& ledger, const Circumstances& how) {
  // Pages that are unmapped but sit in another CPU's LRU batch, which holds the last reference.
  const int64_t limbo = how.shared_mms && !how.drained ? kLruBatch * plan.cpus : 0;
  int64_t stock = 0;
  int64_t held = 0;
  for (size_t i = 0; i < ledger.memcgs.size(); ++i) {
    const LedgerRow& row = ledger.memcgs[i];
    const MemcgSpec& spec = plan.memcgs[i];
    SCOPED_TRACE(absl::StrCat("memcg ", row.name));
    stock += row.stock;
    held += row.held;
    EXPECT_GE(row.memory, 0);
    EXPECT_GE(row.memsw, 0);
    if (spec.max >= 0) {
      EXPECT_LE(row.memory, spec.max);
      EXPECT_LE(row.watermark, spec.max);
    }
    if (plan.memsw && spec.memsw_max >= 0) {
      EXPECT_LE(row.memsw, spec.memsw_max);
    }
    const int64_t owed = Below(ledger, i, &LedgerRow::held) + Below(ledger, i, &LedgerRow::stock);
    EXPECT_GE(row.memory, owed);
    EXPECT_LE(row.memory, owed + limbo);
    EXPECT_EQ(plan.memsw ? row.memory : 0, row.memsw);
    if (i == 0) {
      EXPECT_EQ(0, row.references);
    } else {
      EXPECT_GE(row.references, row.held + row.stock);
      EXPECT_LE(row.references, row.held + row.stock + limbo);
    }
    if (how.drained) {
      EXPECT_EQ(0, row.stock);
      EXPECT_EQ(row.held, row.lru);
      EXPECT_EQ(row.held, row.rss);
      EXPECT_EQ(row.held, row.events[kPgpgin] - row.events[kPgpgout]);
    }
  }
  EXPECT_LE(stock, (how.batch.n - 1) * plan.cpus);
  const int64_t mapped = Sum(ledger.mapped);
  if (how.charging) {
    EXPECT_EQ(mapped, held);
  }
  EXPECT_LE(mapped + ledger.free_pages, plan.memory.n);
  EXPECT_GE(mapped + ledger.free_pages, plan.memory.n - limbo);
}

void ExpectEmpty(const WorldPlan& plan, const Ledger& ledger) {
  EXPECT_EQ(plan.memory.n, ledger.free_pages);
  for (const LedgerRow& row : ledger.memcgs) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(0, row.memory);
    EXPECT_EQ(0, row.memsw);
    EXPECT_EQ(0, row.references);
    EXPECT_EQ(0, row.held);
    EXPECT_EQ(0, row.lru);
    EXPECT_EQ(0, row.rss);
    EXPECT_EQ(row.events[kPgpgin], row.events[kPgpgout]);
  }
}

void ExpectFaultsCounted(const Ledger& ledger, const CpuResult& total) {
  int64_t counted = 0;
  int64_t oom = 0;
  int64_t charged = 0;
  for (const LedgerRow& row : ledger.memcgs) {
    counted += row.events[kPgfault];
    oom += row.events[kMemcgOom];
    charged += row.events[kPgpgin];
  }
  const int64_t mapped = total.phase[static_cast<size_t>(Phase::kCharge)].pages;
  EXPECT_EQ(counted, mapped + total.oom + total.no_memory + total.already_mapped);
  EXPECT_EQ(charged, mapped);
  EXPECT_EQ(oom, total.oom);
}

void Add(CpuResult& sum, const CpuResult& more) {
  for (size_t p = 0; p < kPhaseCount; ++p) sum.phase[p].pages += more.phase[p].pages;
  sum.oom += more.oom;
  sum.no_memory += more.no_memory;
  sum.already_mapped += more.already_mapped;
}

}  // namespace memsim::oracle
