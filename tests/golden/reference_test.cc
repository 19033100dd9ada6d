// What the kernels' step lists say about the cost of a page, as exact counts. Each number stands
// with the reason for it; the golden files beside this test say everything else.
//
//   L   counters walked by one charge: the depth of the memcg, plus one for root
//   M   counters charged per page: memory, and memory+swap when swap accounting is on
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/session.h"

namespace memsim::support {
namespace {

constexpr Part kCharge = Part::kCharge;
constexpr Part kLruBatch = Part::kLruBatch;
constexpr Part kFree = Part::kFree;

struct Boot {
  int depth = 1;  // 0: the task is in root
  bool memsw = true;
  bool enabled = true;
  bool compiled_in = true;
};

std::unique_ptr<Session> OpenTracing(const Kernel& kernel, const Boot& boot) {
  SessionConfig config = ConfigOf(kernel, ChainPlan(boot.depth, Pages(4096)));
  config.plan.memsw = boot.memsw;
  config.enabled = boot.enabled;
  config.config.memcg = boot.compiled_in;
  return Open(kernel, MachineKind::kTracing, config);
}

// After two faults the per-CPU list of free pages is filled, the stock holds 30 pages, the first
// event check is done and the LRU batch is far from full: the third fault is the plain case.
constexpr int64_t kWarm = 2;
std::unique_ptr<Session> OpenWarm(const Kernel& kernel, const Boot& boot) {
  auto session = OpenTracing(kernel, boot);
  Execute(*session, {Fault(0, kWarm)});
  return session;
}

uint64_t CallsInAllParts(const TraceCounts& counts, Fn fn) {
  return counts.of(kCharge, fn).calls + counts.of(kLruBatch, fn).calls + counts.of(kFree, fn).calls;
}

uint64_t GatesOf(const TraceCounts& counts, Part part) {
  uint64_t gates = 0;
  for (const FnInfo& fn : kFunctions) gates += counts.of(part, fn.id).gates;
  return gates;
}

// Per-CPU data of the controller that `events` add to: field -> how often.
std::map<std::string, int> PerCpuAdds(const Session& session,
                                      const std::vector<TraceEvent>& events) {
  std::map<std::string, int> adds;
  for (const TraceEvent& event : events) {
    if (event.type != TraceEvent::Type::kAccess || event.access.kind != AccessKind::kAdd) continue;
    const std::string field = session.arena().Describe(event.offset);
    for (const absl::string_view mine : {".stat.", ".refcnt.", ".memcg_stock."}) {
      if (absl::StrContains(field, mine)) ++adds[field];
    }
  }
  return adds;
}

// Where in `events` a function is entered, or a page flag set without LOCK; -1 when never.
int IndexOfEnter(const std::vector<TraceEvent>& events, Fn fn) {
  const auto at = std::find_if(events.begin(), events.end(), [fn](const TraceEvent& e) {
    return e.type == TraceEvent::Type::kEnter && e.function == fn;
  });
  return at == events.end() ? -1 : static_cast<int>(at - events.begin());
}
int IndexOfSetPageUptodate(const Session& session, const std::vector<TraceEvent>& events) {
  for (size_t i = 0; i < events.size(); ++i) {
    const TraceEvent& e = events[i];
    if (e.type == TraceEvent::Type::kAccess && e.access.kind == AccessKind::kAdd &&
        e.access.size == 4 && absl::EndsWith(session.arena().Describe(e.offset), "].flags")) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// The generations with lockless page counters and a page->mem_cgroup: one row of the summary table.
class PageCounterKernelTest : public ::testing::TestWithParam<const char*> {
 protected:
  const Kernel& kernel() const { return KernelNamed(GetParam()); }
  // Cache lines that a gate of this kernel reads.
  uint64_t FlagLines() const { return kernel().default_gate == GateKind::kStaticKey ? 0 : 1; }
};
INSTANTIATE_TEST_SUITE_P(Kernels, PageCounterKernelTest,
                         ::testing::Values("v4.0", "v4.0-chargefirst", "v4.2", "v4.4"),
                         [](const auto& param) { return TestName(param.param); });

// A child faults and its stock has pages; a task in root faults.
// Expect no LOCK instruction in the controller: the stock is per-CPU data, the css reference count
// and the statistics are per-CPU adds, and root is never charged.
TEST_P(PageCounterKernelTest, StockHitTakesNoLockInstruction) {
  for (const int depth : {0, 1, 3}) {
    auto session = OpenWarm(kernel(), {.depth = depth});
    const TraceCounts counts = CountsOf(*session, {Fault(kWarm, 1)});
    EXPECT_EQ(counts.Memcg(kCharge).rmw, 0u) << "depth " << depth;
    EXPECT_EQ(counts.Memcg(kCharge).locks, 0u) << "depth " << depth;
  }
}

// A child faults and its stock has pages.
// Expect seven per-CPU increments: the event, the css reference taken and dropped (one field,
// twice), the stock, and three statistics (RSS, PGPGIN, nr_page_events).
TEST_P(PageCounterKernelTest, ChildStockHitMakesSevenPerCpuIncrements) {
  auto session = OpenWarm(kernel(), {.depth = 1});
  const auto adds = PerCpuAdds(*session, EventsOf(*session, {Fault(kWarm, 1)}));
  const std::map<std::string, int> expected = {
      {absl::StrCat("cpu0.level1.stat.events[", kPgfault, "]"), 1},
      {"cpu0.level1.refcnt.count", 2},
      {"cpu0.memcg_stock.nr_pages", 1},
      {absl::StrCat("cpu0.level1.stat.count[", kStatRss, "]"), 1},
      {absl::StrCat("cpu0.level1.stat.events[", kPgpgin, "]"), 1},
      {"cpu0.level1.stat.nr_page_events", 1},
  };
  EXPECT_EQ(adds, expected);
}

// A task in root faults.
// Expect four per-CPU increments: event, RSS, PGPGIN, nr_page_events. Root has CSS_NO_REF and no
// stock.
TEST_P(PageCounterKernelTest, RootFaultMakesFourPerCpuIncrements) {
  auto session = OpenWarm(kernel(), {.depth = 0});
  const auto adds = PerCpuAdds(*session, EventsOf(*session, {Fault(kWarm, 1)}));
  const std::map<std::string, int> expected = {
      {absl::StrCat("cpu0.root.stat.events[", kPgfault, "]"), 1},
      {absl::StrCat("cpu0.root.stat.count[", kStatRss, "]"), 1},
      {absl::StrCat("cpu0.root.stat.events[", kPgpgin, "]"), 1},
      {"cpu0.root.stat.nr_page_events", 1},
  };
  EXPECT_EQ(adds, expected);
}

// One fault, child or root; and the unmap of one gather batch.
// Expect one section with interrupts off for each: around statistics and event check of the commit,
// and of uncharge_batch().
TEST_P(PageCounterKernelTest, OneIrqOffSectionPerFaultAndPerUnchargeBatch) {
  for (const int depth : {0, 1}) {
    auto session = OpenWarm(kernel(), {.depth = depth});
    EXPECT_EQ(CountsOf(*session, {Fault(kWarm, 1)}).Memcg(kCharge).irq_off, 1u);
    Execute(*session, {Fault(kWarm + 1, 510 - kWarm - 1)});
    EXPECT_EQ(CountsOf(*session, {Unmap(0, 510)}).Memcg(kFree).irq_off, 1u);
  }
}

// A child's stock is empty; swap accounting is on.
// Expect memory+swap to be charged first, then memory, each from the memcg up to root.
TEST_P(PageCounterKernelTest, MissChargesMemswBeforeMemoryAndUpwards) {
  auto session = OpenTracing(kernel(), {.depth = 2});
  std::vector<std::string> locked;
  for (const TraceEvent& e : EventsOf(*session, {Fault(0, 1)})) {
    if (e.type == TraceEvent::Type::kAccess && e.access.kind == AccessKind::kRmw &&
        e.function == Fn::kPageCounterTryCharge) {
      locked.push_back(session->arena().Describe(e.offset));
    }
  }
  const std::vector<std::string> expected = {
      "memcg level2.memsw.count",  "memcg level1.memsw.count",  "memcg root.memsw.count",
      "memcg level2.memory.count", "memcg level1.memory.count", "memcg root.memory.count",
  };
  EXPECT_EQ(locked, expected);
}

// depth x swap accounting
class AmortisedTest : public ::testing::TestWithParam<std::tuple<const char*, int, bool>> {
 protected:
  const Kernel& kernel() const { return KernelNamed(std::get<0>(GetParam())); }
  Boot boot() const { return {.depth = std::get<1>(GetParam()), .memsw = std::get<2>(GetParam())}; }
  // L * M
  uint64_t counters() const {
    return static_cast<uint64_t>(boot().depth + 1) * (boot().memsw ? 2 : 1);
  }
};
INSTANTIATE_TEST_SUITE_P(
    Kernels, AmortisedTest,
    ::testing::Combine(::testing::Values("v4.0", "v4.0-chargefirst", "v4.2", "v4.4"),
                       ::testing::Values(1, 2, 3, 4), ::testing::Bool()),
    [](const auto& param) {
      return TestName(absl::StrCat(std::get<0>(param.param), "_depth", std::get<1>(param.param),
                                   std::get<2>(param.param) ? "_memsw" : ""));
    });

// 100 batches of 32 pages are faulted in, then 6 gather batches of 510 pages are unmapped.
// Expect L*M LOCK instructions per batch: L*M/32 per page on the way in, L*M/510 on the way out.
// The only others are the NUMA tail's: one with the first event check (targets start at 0), then
// one per 1032 events, the first multiple of the 129 events between two checks that is above 1024.
TEST_P(AmortisedTest, LockInstructionsPerPage) {
  constexpr uint64_t kFaults = 3200;
  constexpr uint64_t kGathers = 6;
  constexpr uint64_t kNumaTails = 1 + (kFaults - 1) / 1032;
  auto session = OpenTracing(kernel(), boot());

  const TraceCounts in = CountsOf(*session, {Fault(0, kFaults)});
  EXPECT_EQ(in.of(kCharge, Fn::kPageCounterTryCharge).rmw, counters() * (kFaults / 32));
  EXPECT_EQ(in.of(kCharge, Fn::kCheckEvents).rmw, kNumaTails);
  EXPECT_EQ(in.Memcg(kCharge).rmw, counters() * (kFaults / 32) + kNumaTails);
  EXPECT_EQ(in.Memcg(kLruBatch).rmw, 0u);

  const TraceCounts out = CountsOf(*session, {Unmap(0, 510 * kGathers)});
  EXPECT_EQ(out.of(kFree, Fn::kPageCounterCancel).rmw, counters() * kGathers);
  EXPECT_EQ(out.Memcg(kFree).rmw - out.of(kFree, Fn::kCheckEvents).rmw, counters() * kGathers);
  EXPECT_EQ(out.Memcg(kLruBatch).rmw, 0u);
}

// A task in root faults 3200 pages and unmaps them.
// Expect no LOCK instruction but the NUMA tail's.
TEST_P(PageCounterKernelTest, RootNeverTouchesACounter) {
  auto session = OpenTracing(kernel(), {.depth = 0});
  const TraceCounts counts = CountsOf(*session, {Fault(0, 3200), Unmap(0, 3200)});
  for (const Part part : {kCharge, kLruBatch, kFree}) {
    EXPECT_EQ(counts.Memcg(part).rmw, counts.of(part, Fn::kCheckEvents).rmw);
  }
  EXPECT_EQ(CallsInAllParts(counts, Fn::kPageCounterTryCharge), 0u);
  EXPECT_EQ(CallsInAllParts(counts, Fn::kPageCounterUncharge), 0u);
}

// The controller is disabled at boot, or enabled; 140 faults are ten LRU batches; 510 pages are one
// gather batch.
// Expect five gates per page on the way in: inline in handle_mm_fault(), try_charge, commit_charge,
// and from the LRU batch page_lruvec and update_lru_size. Expect two per page on the way out (the
// last two again) and one per batch (uncharge_list). Enabled, the same gates are asked.
TEST_P(PageCounterKernelTest, FiveGatesPerPageInTwoPerPageOut) {
  for (const bool enabled : {false, true}) {
    auto session = OpenWarm(kernel(), {.enabled = enabled});
    const TraceCounts in = CountsOf(*session, {Fault(kWarm, 140)});
    EXPECT_EQ(in.operations[static_cast<size_t>(kLruBatch)], 10u);
    EXPECT_EQ(GatesOf(in, kCharge), 3u * 140);
    EXPECT_EQ(GatesOf(in, kLruBatch), 2u * 140);
    EXPECT_EQ(in.of(kCharge, Fn::kHandleMmFault).gates, 140u);

    Execute(*session, {Fault(kWarm + 140, 600)});
    const TraceCounts out = CountsOf(*session, {Unmap(0, 510)});
    EXPECT_EQ(GatesOf(out, kFree), 2u * 510 + 1);
  }
}

// The controller is disabled at boot; 1400 pages are faulted in and unmapped.
// Expect the four functions of the published profile and no others once or more per page: those
// that are out of line, called per page and ask the gate themselves. The lruvec look-up and the LRU
// size run twice per page. mem_cgroup_uncharge_list() is left too, but once per gather batch.
TEST_P(PageCounterKernelTest, FourFunctionsRemainWhenDisabled) {
  constexpr uint64_t kPages = 1400;
  auto session = OpenTracing(kernel(), {.enabled = false});
  const TraceCounts counts = CountsOf(*session, {Fault(0, kPages), Unmap(0, kPages)});
  const std::map<Fn, uint64_t> expected = {
      {Fn::kPageLruvec, 2 * kPages},     {Fn::kUpdateLruSize, 2 * kPages},
      {Fn::kMemCgroupTryCharge, kPages}, {Fn::kMemCgroupCommitCharge, kPages},
      {Fn::kMemCgroupUnchargeList, 3},  // 510 + 510 + 380 pages
  };
  for (const FnInfo& fn : kFunctions) {
    if (!IsMemcg(fn.id)) continue;
    const auto it = expected.find(fn.id);
    EXPECT_EQ(CallsInAllParts(counts, fn.id), it == expected.end() ? 0 : it->second) << fn.name;
  }
}

// The controller is disabled at boot.
// Expect two distinct lines: the flag's, and the zone's with the back pointer that page_lruvec
// checks after its gate. A static key has no flag: one line less wherever there is a gate.
TEST_P(PageCounterKernelTest, DisabledTouchesTheFlagAndTheZone) {
  auto session = OpenWarm(kernel(), {.enabled = false});
  const TraceCounts counts = CountsOf(*session, {Fault(kWarm, 13)});  // the last one moves a batch
  EXPECT_EQ(counts.lines[static_cast<size_t>(kCharge)], 13 * FlagLines());  // one fault: the flag
  EXPECT_EQ(counts.lines[static_cast<size_t>(kLruBatch)], 1 + FlagLines());
}

// One fault of a child and of a task in root, stock hit; then the fault that moves the LRU batch.
// Expect about 17 distinct lines for a child and about 14 for root: with the page's own line 13 and
// 10 for the charge (11 where the longer statistics of 4.2 straddle one more), and 4 for the LRU
// batch (nodeinfo, list heads, zone with reclaim statistics, list sizes). With a static key one less.
TEST_P(PageCounterKernelTest, DistinctLinesOfOneFault) {
  const bool longer_statistics = absl::string_view(GetParam()) >= "v4.2";
  for (const auto& [depth, lines] :
       std::map<int, uint64_t>{{1, 12}, {0, longer_statistics ? 10 : 9}}) {
    auto session = OpenWarm(kernel(), {.depth = depth});
    const TraceCounts counts = CountsOf(*session, {Fault(kWarm, 1)});
    EXPECT_EQ(counts.lines[static_cast<size_t>(kCharge)], lines - 1 + FlagLines()) << "depth " << depth;
    EXPECT_EQ(counts.page_lines[static_cast<size_t>(kCharge)], 1u) << "depth " << depth;
    Execute(*session, {Fault(kWarm + 1, 11)});
    const TraceCounts batch = CountsOf(*session, {Fault(kWarm + 12, 1)});
    EXPECT_EQ(batch.lines[static_cast<size_t>(kLruBatch)], 3 + FlagLines()) << "depth " << depth;
  }
}

// CONFIG_MEMCG=n.
// Expect no call, no gate and no access of the controller in any part of a page's life.
TEST_P(PageCounterKernelTest, CompiledOutLeavesNothing) {
  auto session = OpenTracing(kernel(), {.compiled_in = false});
  const TraceCounts counts = CountsOf(*session, {Fault(0, 600), Unmap(0, 600)});
  for (const Part part : {kCharge, kLruBatch, kFree}) {
    EXPECT_EQ(counts.Memcg(part).calls, 0u);
    EXPECT_EQ(counts.Memcg(part).instructions, 0u);
    EXPECT_EQ(GatesOf(counts, part), 0u);
  }
}

// The memory controller is off, but not compiled out.
// Expect mem_cgroup_oom_enable() and _disable() all the same: two stores to the task per fault that
// no gate guards.
TEST_P(PageCounterKernelTest, OomEnableHasNoGate) {
  auto session = OpenWarm(kernel(), {.enabled = false});
  int stores = 0;
  for (const TraceEvent& e : EventsOf(*session, {Fault(kWarm, 1)})) {
    if (e.type != TraceEvent::Type::kAccess || e.access.kind != AccessKind::kStore) continue;
    stores += session->arena().Describe(e.offset) == "task 0.memcg_oom_may_oom";
  }
  EXPECT_EQ(stores, 2);
}

// One fault; the chargefirst patch of 4.2 moves one call ahead of one flag.
// Expect SetPageUptodate before the charge in 4.0 and after it from chargefirst on.
TEST(ChargeOrderTest, ChargefirstChargesBeforeSetPageUptodate) {
  for (const auto& [name, charge_first] : std::map<std::string, bool>{
           {"v4.0", false}, {"v4.0-chargefirst", true}, {"v4.2", true}, {"v4.4", true}}) {
    auto session = OpenWarm(KernelNamed(name), {});
    const auto events = EventsOf(*session, {Fault(kWarm, 1)});
    const int charge = IndexOfEnter(events, Fn::kMemCgroupTryCharge);
    const int uptodate = IndexOfSetPageUptodate(*session, events);
    ASSERT_GE(charge, 0) << name;
    ASSERT_GE(uptodate, 0) << name;
    EXPECT_EQ(charge < uptodate, charge_first) << name;
  }
}

// One fault. From 4.3 on struct mem_cgroup is in the header, so the event is counted inline.
// Expect a call of __mem_cgroup_count_vm_event up to 4.2; in 4.4 no such call, but the same per-CPU
// add made by handle_mm_fault() itself.
TEST(EventPlacementTest, EventIsACallUpTo42AndInlineIn44) {
  for (const auto& [name, is_inline] : std::map<std::string, bool>{
           {"v4.0", false}, {"v4.0-chargefirst", false}, {"v4.2", false}, {"v4.4", true}}) {
    auto session = OpenWarm(KernelNamed(name), {});
    const auto events = EventsOf(*session, {Fault(kWarm, 1)});
    EXPECT_EQ(IndexOfEnter(events, Fn::kCountVmEvent) >= 0, !is_inline) << name;
    const std::string field = absl::StrCat("cpu0.level1.stat.events[", kPgfault, "]");
    for (const TraceEvent& e : events) {
      if (e.type != TraceEvent::Type::kAccess || e.access.kind != AccessKind::kAdd) continue;
      if (session->arena().Describe(e.offset) != field) continue;
      EXPECT_EQ(e.function, is_inline ? Fn::kHandleMmFault : Fn::kCountVmEvent) << name;
    }
  }
}

}  // namespace
}  // namespace memsim::support
