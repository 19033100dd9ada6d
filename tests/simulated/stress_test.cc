// Random programs on random small machines: whatever CPUs do to each other, a run that waits only where it
// must equals the strict order in everything it reports.
//
// MEMSIM_STRESS_SEEDS=first:count runs other seeds than the few that every build runs.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/arena.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/simulated.h"
#include "memsim/workload/random.h"
#include "tests/support/sim_result.h"

namespace memsim {
namespace {

constexpr uint64_t kStride = 4096;
constexpr uint64_t kMms = 3;

// One line: data with and without a lock next to it.
struct Board {
  static constexpr absl::string_view kTypeName = "board";

  Simulated::Cell<uint64_t> cell;
  Simulated::Racy<uint64_t> racy;
  Simulated::Atomic<uint64_t> atomic;
  Simulated::Cell<uint32_t> half;
  Simulated::SpinLock lock;
  Unmodelled<32> padding;

  static constexpr auto Fields() {
    using Self = Board;
    return std::array{
        MEMSIM_FIELD(Self, cell, kAnyCpu, "a word"),
        MEMSIM_FIELD(Self, racy, kRacy, "a word for several CPUs"),
        MEMSIM_FIELD(Self, atomic, kAnyCpu, "a word changed by LOCK instructions"),
        MEMSIM_FIELD(Self, half, kAnyCpu, "half a word"),
        MEMSIM_FIELD(Self, lock, kAnyCpu, "a lock in the same line"),
        MEMSIM_FIELD(Self, padding, kNone, "padding"),
    };
  }
};
static_assert(sizeof(Board) == kCacheLine);

// What the per-CPU area holds behind its head.
struct Own {
  Simulated::PerCpu<uint64_t> count;
  Simulated::Racy<uint64_t> seen_by_others;
};
constexpr uint64_t kOwnAt = 1024;

struct Scenario {
  MachineModel machine;
  int cpus = 2;
  int steps = 40;
  uint64_t boards = 4, pages = 4;
  RestKind rest = RestKind::kNone;
  SimOptions options;
  bool ticket_locks = false;
};

uint64_t Pick(Random& random, std::initializer_list<uint64_t> of) {
  return of.begin()[random.Below(of.size())];
}

// Caches so small that everything is evicted now and then, or none at all; every feature on or off.
Scenario RandomScenario(uint64_t seed) {
  Random random(seed);
  Scenario s;
  MachineModel& m = s.machine;
  m.sockets = static_cast<int>(Pick(random, {1, 1, 2, 4}));
  m.threads_per_core = static_cast<int>(Pick(random, {1, 2}));
  const int most = static_cast<int>(Pick(random, {3, 4, 6, 8, 16}));
  m.cores_per_socket = (most + m.sockets * m.threads_per_core - 1) / (m.sockets * m.threads_per_core);
  s.cpus = std::min(most, m.cpus());
  const auto cache = [&](uint64_t latency) {
    const uint64_t ways = Pick(random, {1, 2, 4, 8});
    return CacheModel{.bytes = Pick(random, {1, 2, 4}) * ways * kCacheLine,
                      .ways = static_cast<int>(ways), .latency = latency};
  };
  if (random.Below(8) != 0) m.l1 = cache(1200);
  if (m.l1.bytes != 0 && random.Below(4) != 0) m.l2 = cache(3600);
  if (random.Below(4) != 0) m.l3 = cache(9000);
  m.dram = Pick(random, {0, 60000});
  m.dram_remote = m.dram + Pick(random, {0, 50000});
  m.dram_line = Pick(random, {0, 2000, 9000});
  m.clear_page = Pick(random, {0, 5000, 100000});
  m.clear_lines = Pick(random, {64, 128});
  m.transfer_smt = Pick(random, {0, 3000});
  m.transfer_core = Pick(random, {0, 20000});
  m.transfer_socket = m.transfer_core + Pick(random, {0, 60000});
  m.rmw = Pick(random, {0, 6000});
  m.call = Pick(random, {0, 500});
  m.irq_save = Pick(random, {0, 9000});
  m.irq_disable = Pick(random, {0, 3000});
  m.lock_handoff = Pick(random, {0, 30000});
  m.ipi = Pick(random, {0, 500, 100000});
  m.tlb_shootdown = Pick(random, {0, 40000});
  m.store_forward = Pick(random, {0, 4000});
  m.adjacent_line = random.Below(2) == 0;
  m.timer_period = Pick(random, {0, 0, 100000});
  m.timer_cost = Pick(random, {100, 5000});
  for (uint64_t& ps : m.stage) ps = Pick(random, {0, 100, 20000});
  s.rest = static_cast<RestKind>(random.Below(3));
  s.boards = 1 + random.Below(8);
  s.pages = 1 + random.Below(16);
  s.steps = 10 + static_cast<int>(random.Below(60));
  s.options.line_detail = random.Below(2) == 0;
  s.options.sampler = random.Below(2) == 0 ? SamplerKind::kTimer : SamplerKind::kNmi;
  s.options.sample_period = Pick(random, {0, 3000, 70000});
  if (random.Below(4) == 0) s.options.muted = FnSet{}.With(Fn::kTryCharge).With(Fn::kDrainStock);
  s.ticket_locks = random.Below(2) == 0;
  return s;
}

// What the programs of one run share.
struct Shared {
  Board* boards;
  Board* pages;
  uint64_t mms[kMms];  // stand for address spaces
};

class Program {
 public:
  Program(const Scenario& scenario, Shared& shared, uint64_t seed, CpuId cpu)
      : scenario_(scenario), shared_(shared), random_(seed * 64 + static_cast<uint64_t>(cpu)) {}

  void Run() {
    for (int step = 0; step < scenario_.steps;) {
      if (random_.Below(2) == 0) simulated::Poll();
      const size_t phase = random_.Below(3);
      const uint64_t mm = random_.Below(kMms);
      simulated::BeginOperation(random_.Below(3) == 0 ? Part::kFree : Part::kCharge, phase,
                                &shared_.mms[mm]);
      const Simulated::Scope scope(random_.Below(2) == 0 ? Fn::kHandleMmFault : Fn::kZapPteRange);
      for (uint64_t n = 1 + random_.Below(8); n > 0; --n, ++step) Step(2);
      if (random_.Below(6) == 0) Simulated::FlushTlb(&shared_.mms[mm]);
      simulated::EndOperation(phase);
    }
  }

 private:
  Board& AnyBoard() {
    return random_.Below(3) == 0 ? shared_.pages[random_.Below(scenario_.pages)]
                                 : shared_.boards[random_.Below(scenario_.boards)];
  }
  // Sections nest up to `depth`; boards with a lock that is held come in ascending order, so nothing hangs.
  void Step(uint64_t depth) {
    switch (random_.Below(depth > 0 ? 17 : 11)) {
      case 0: sum_ += AnyBoard().cell.load(); break;
      case 1: AnyBoard().cell.store(sum_); break;
      case 2: AnyBoard().racy.store(AnyRacy() + 1); break;
      case 3: AnyBoard().racy.add(sum_ & 3); break;
      case 4: sum_ += AnyBoard().atomic.add_return(1); break;
      case 5: AnyBoard().half.store(static_cast<uint32_t>(sum_)); break;
      case 6: Simulated::Work(static_cast<int>(1 + random_.Below(sum_ % 2 == 0 ? 20 : 200))); break;
      case 7: Percpu(); break;
      case 8: Simulated::ClearPage(); break;
      case 9: Simulated::OnStage(static_cast<Stage>(random_.Below(kStageCount))); break;
      case 10: Simulated::MmapLock(&AnyBoard().racy); break;
      case 11: Deferred(); break;
      case 12: {
        const Simulated::IrqGuard irq(random_.Below(2) == 0 ? IrqKind::kSaveRestore
                                                            : IrqKind::kDisableEnable);
        Steps(depth);
        break;
      }
      case 13: {
        constexpr Fn kFns[] = {Fn::kTryCharge, Fn::kDrainStock, Fn::kPageCounterTryCharge, Fn::kReclaim};
        const Simulated::Scope scope(kFns[random_.Below(4)]);
        Steps(depth);
        break;
      }
      case 14: {
        const Simulated::PartGuard part(Part::kLruBatch);
        Steps(depth);
        break;
      }
      case 15:
      case 16: Locked(depth); break;
    }
  }
  void Steps(uint64_t depth) {
    for (uint64_t n = random_.Below(4); n > 0; --n) Step(depth - 1);
  }
  uint64_t AnyRacy() { return AnyBoard().racy.load(); }
  void Percpu() {
    auto& own = *reinterpret_cast<Own*>(Simulated::this_cpu_ptr() + kOwnAt);
    own.count.add(1);
    own.seen_by_others.store(sum_);
    const uint64_t other = random_.Below(static_cast<uint64_t>(scenario_.cpus));
    std::byte* area0 =
        Simulated::this_cpu_area() - static_cast<uint64_t>(Simulated::cpu()) * kStride;
    sum_ += reinterpret_cast<Own*>(area0 + other * kStride + kOwnAt)->seen_by_others.load();
  }
  void Deferred() {
    static constexpr auto kCount = [](void* board) {
      const Simulated::Scope scope(Fn::kDrainLocalStock);
      auto* b = static_cast<Board*>(board);
      b->racy.add(1);
      const SpinGuard hold(b->lock);
      b->cell.store(b->cell.load() + static_cast<uint64_t>(Simulated::cpu()));
    };
    if (locked_ != 0) return;
    const DeferredWork work = {+kCount, &AnyBoard()};
    if (random_.Below(3) == 0) {
      Simulated::After(random_.Below(200), work);
    } else {
      Simulated::RunOn(static_cast<CpuId>(random_.Below(static_cast<uint64_t>(scenario_.cpus))), work);
    }
  }
  void Locked(uint64_t depth) {
    if (locked_ >= scenario_.boards) return;
    const uint64_t at = locked_ + random_.Below(scenario_.boards - locked_);
    const uint64_t outer = std::exchange(locked_, at + 1);
    Board& board = shared_.boards[at];
    if (random_.Below(4) == 0) {
      if (board.lock.TryLock()) {
        board.cell.add(1);
        board.lock.Unlock();
      }
    } else {
      const SpinGuard hold(board.lock);
      board.cell.add(sum_ & 1);
      Steps(depth);
    }
    locked_ = outer;
  }

  const Scenario& scenario_;
  Shared& shared_;
  Random random_;
  uint64_t sum_ = 0;
  uint64_t locked_ = 0;  // boards below this index may not be locked
};

SimResult Simulate(const Scenario& s, uint64_t seed, bool strict, int* runs) {
  OrderedSet ordered;
  for (*runs = 1;; ++*runs) {
    Arena arena(1 << 20);
    Shared shared = {};
    shared.boards = arena.New<Board>("board", s.boards, 64);
    shared.pages = arena.New<Board>("page", s.pages, 64);
    const uint64_t cpus = static_cast<uint64_t>(s.cpus);
    std::byte* area = arena.base() + arena.Reserve(cpus * kStride, kStride);
    for (uint64_t cpu = 0; cpu < cpus; ++cpu) {
      reinterpret_cast<native::CpuHead*>(area + cpu * kStride)->cpu = static_cast<CpuId>(cpu);
    }
    Mailboxes mailboxes(s.cpus);
    SimSpec spec;
    spec.machine = &s.machine;
    spec.cpus = s.cpus;
    spec.seed = seed;
    spec.strict = strict;
    spec.rest = s.rest;
    spec.options = s.options;
    spec.config.ticket_locks = s.ticket_locks;
    spec.arena = &arena;
    spec.area0 = area;
    spec.area_stride = kStride;
    spec.pages_begin = arena.OffsetOf(shared.pages);
    spec.pages_end = spec.pages_begin + s.pages * sizeof(Board);
    spec.mailboxes = &mailboxes;
    spec.program = [&](CpuId cpu) { Program(s, shared, seed, cpu).Run(); };
    SimRun sim = RunSimulation(spec, ordered);
    if (sim.violations.empty()) return sim.result;
    ordered.insert(sim.violations.begin(), sim.violations.end());
    if (*runs == 200) {
      ADD_FAILURE() << "does not come to an end";
      return sim.result;
    }
  }
}

// Some thousand lines of program in all, 3 to 16 CPUs, one to four sockets, with and without siblings.
// Expect the strict order in every number, and that it was not for want of running ahead.
TEST(SimStressTest, RandomProgramsEqualTheStrictOrder) {
  unsigned long long first = 1, count = MEMSIM_SANITIZED ? 40 : 300;
  if (const char* seeds = std::getenv("MEMSIM_STRESS_SEEDS"); seeds != nullptr) {
    ASSERT_EQ(2, std::sscanf(seeds, "%llu:%llu", &first, &count));
  }
  int failed = 0, repeated = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Scenario scenario = RandomScenario(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    int runs = 0;
    const SimResult strict = Simulate(scenario, seed, true, &runs);
    EXPECT_EQ(1, runs);
    const SimResult ahead = Simulate(scenario, seed, false, &runs);
    repeated += runs > 1;
    if (strict.hash != ahead.hash || support::HashOf(strict) != support::HashOf(ahead)) {
      if (failed < 3) support::ExpectSame(strict, ahead);
      ADD_FAILURE() << "differs";
      if (++failed == 20) break;
    }
  }
  EXPECT_GT(repeated, 0);
}

}  // namespace
}  // namespace memsim
