// The scheduler of the simulated machine by itself: small programs on a few modelled words.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "memsim/machine/arena.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/simulated.h"
#include "tests/support/sim_result.h"

namespace memsim {
namespace {

constexpr uint64_t kStride = 4096;
constexpr int kMostCpus = 64;

// Two words and two locks in a line each, and a lock for every CPU.
struct Shared {
  static constexpr absl::string_view kTypeName = "shared";

  Simulated::Cell<uint64_t> x;
  Unmodelled<56> pad_x;
  Simulated::Cell<uint64_t> y;
  Unmodelled<56> pad_y;
  Simulated::SpinLock first;
  Unmodelled<60> pad_first;
  Simulated::SpinLock second;
  Unmodelled<60> pad_second;
  Simulated::SpinLock ring[kMostCpus];

  static constexpr auto Fields() {
    using Self = Shared;
    return std::array{
        MEMSIM_FIELD(Self, x, kAnyCpu, "a word"),
        MEMSIM_FIELD(Self, pad_x, kNone, "padding"),
        MEMSIM_FIELD(Self, y, kAnyCpu, "another word"),
        MEMSIM_FIELD(Self, pad_y, kNone, "padding"),
        MEMSIM_FIELD(Self, first, kAnyCpu, "a lock"),
        MEMSIM_FIELD(Self, pad_first, kNone, "padding"),
        MEMSIM_FIELD(Self, second, kAnyCpu, "another lock"),
        MEMSIM_FIELD(Self, pad_second, kNone, "padding"),
        MEMSIM_FIELD_ARRAY(Self, ring, kAnyCpu, "a lock for every CPU"),
    };
  }
};

using Program = std::function<void(CpuId cpu, Shared& shared)>;

MachineModel Machine(int cpus) {
  MachineModel machine;
  machine.cores_per_socket = cpus;
  machine.l1 = {.bytes = 32 << 10, .ways = 8, .latency = 1200};
  machine.l2 = {.bytes = 256 << 10, .ways = 8, .latency = 3600};
  machine.l3 = {.bytes = 8 << 20, .ways = 16, .latency = 9000};
  machine.dram = 60000;
  machine.transfer_core = 20000;
  machine.rmw = 6000;
  machine.lock_handoff = 30000;
  machine.ipi = 1000000;
  return machine;
}

// Runs `program` on all CPUs as a session does: in strict order, or again and again with the lines
// in conflict added to the ordered set until no access is out of order.
SimResult RunProgram(const Program& program, bool strict, uint64_t seed, int cpus = 2) {
  const MachineModel machine = Machine(cpus);
  OrderedSet ordered;
  for (int run = 1;; ++run) {
    Arena arena(1 << 20);
    auto* shared = arena.New<Shared>("shared", 1, 64);
    std::byte* area = arena.base() + arena.Reserve(static_cast<uint64_t>(cpus) * kStride, kStride);
    for (CpuId cpu = 0; cpu < cpus; ++cpu) {
      reinterpret_cast<native::CpuHead*>(area + static_cast<uint64_t>(cpu) * kStride)->cpu = cpu;
    }
    Mailboxes mailboxes(cpus);
    SimSpec spec;
    spec.machine = &machine;
    spec.cpus = cpus;
    spec.seed = seed;
    spec.strict = strict;
    spec.arena = &arena;
    spec.area0 = area;
    spec.area_stride = kStride;
    spec.mailboxes = &mailboxes;
    spec.program = [&](CpuId cpu) { program(cpu, *shared); };
    SimRun sim = RunSimulation(spec, ordered);
    if (sim.violations.empty()) {
      sim.result.runs = run;
      return sim.result;
    }
    ordered.insert(sim.violations.begin(), sim.violations.end());
  }
}

void ExpectStrictOrder(const Program& program) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const SimResult strict = RunProgram(program, true, seed);
    const SimResult ahead = RunProgram(program, false, seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    support::ExpectSame(strict, ahead);
  }
}

// CPU 0 runs ahead and reads a line that both share; then CPU 1, earlier in simulated time, reads
// the same line and writes it. Expect the order violation to be found although another read came
// after the one in conflict: the run equals the strict order.
TEST(SimContextTest, LaterReadIsNotForgotten) {
  ExpectStrictOrder([](CpuId cpu, Shared& shared) {
    static_cast<void>(shared.x.load());
    if (cpu == 0) {
      Simulated::Work(3000);
      static_cast<void>(shared.x.load());
    } else {
      Simulated::Work(1000);
      static_cast<void>(shared.x.load());
      shared.x.store(7);
    }
  });
}

// Both CPUs read and write two lines without any lock. Expect the strict order.
TEST(SimContextTest, UnlockedTrafficEqualsTheStrictOrder) {
  ExpectStrictOrder([](CpuId cpu, Shared& shared) {
    for (int i = 0; i < 200; ++i) {
      if ((i * 7 + cpu * 3) % 5 == 0) shared.x.store(shared.y.load() + 1);
      if ((i * 5 + cpu) % 7 == 0) shared.y.add(shared.x.load());
      static_cast<void>(shared.x.load());
      Simulated::Work(1 + (i * 13 + cpu * 11) % 40);
    }
  });
}

// Both CPUs add under a lock. Expect the strict order, and no update lost.
TEST(SimContextTest, LockedTrafficEqualsTheStrictOrder) {
  uint64_t last = 0;
  ExpectStrictOrder([&](CpuId, Shared& shared) {
    for (int i = 0; i < 50; ++i) {
      const SpinGuard hold(shared.first);
      const uint64_t seen = shared.x.load();
      Simulated::Work(5);
      shared.x.store(seen + 1);
      last = seen + 1;
    }
  });
  EXPECT_EQ(100u, last);
}

// Work that one CPU asks of the other, and work it puts off for itself. Expect it to run once, on
// the CPU it was meant for, not before it was asked for, after the CPU's own program at the latest.
TEST(SimContextTest, DeferredWorkRunsOnItsCpu) {
  static std::vector<CpuId> ran_on;
  ran_on.clear();
  const DeferredWork note = {[](void*) { ran_on.push_back(Simulated::cpu()); }, nullptr};
  const SimResult result = RunProgram(
      [&](CpuId cpu, Shared& shared) {
        if (cpu != 0) return;
        Simulated::RunOn(1, note);
        EXPECT_TRUE(ran_on.empty());
        Simulated::After(1000, note);
        shared.x.store(1);
      },
      true, 1);
  EXPECT_EQ("", result.deadlock);
  EXPECT_EQ(ran_on, (std::vector<CpuId>{1, 0}));
  EXPECT_GE(result.cpus[0].clock, 1000000u) << "1000 ns in ps";
}

// CPU 0 asks for work early, CPU 1 polls late. Expect the poll to see the request, whichever of the
// two the scheduler happened to run first.
TEST(SimContextTest, PollSeesEarlierRequests) {
  static int ran, seen;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RunProgram(
        [](CpuId cpu, Shared&) {
          if (cpu == 0) {
            ran = 0;
            Simulated::Work(10);
            Simulated::RunOn(1, {[](void*) { ++ran; }, nullptr});
          } else {
            Simulated::Work(8000);
            simulated::Poll();
            seen = ran;
          }
        },
        false, seed);
    EXPECT_EQ(1, ran);
    EXPECT_EQ(1, seen);
  }
}

// Two CPUs take two locks in opposite order. Expect the run to end and to name who waits for which
// lock and who holds it.
TEST(SimContextTest, DeadlockNamesLocksAndHolders) {
  const Program crossed = [](CpuId cpu, Shared& shared) {
    auto& mine = cpu == 0 ? shared.first : shared.second;
    auto& other = cpu == 0 ? shared.second : shared.first;
    const SpinGuard hold(mine);
    Simulated::Work(1000);
    const SpinGuard hold_other(other);
  };
  for (const bool strict : {true, false}) {
    EXPECT_EQ(
        "cpu 0 waits for shared.second held by cpu 1; cpu 1 waits for shared.first held by cpu 0",
        RunProgram(crossed, strict, 1).deadlock);
  }
}

// 64 CPUs hold a lock each and want their neighbour's. Expect the run to end, in whatever order it is
// executed, and to name all 64 waits and their holders.
TEST(SimContextTest, DeadlockOf64CpusIsReported) {
  const Program ring = [](CpuId cpu, Shared& shared) {
    const SpinGuard hold(shared.ring[cpu]);
    for (int i = 0; i < 200; ++i) {
      Simulated::Work(50);
      shared.x.add(1);
    }
    const SpinGuard hold_next(shared.ring[(cpu + 1) % kMostCpus]);
  };
  for (const bool strict : {true, false}) {
    const SimResult result = RunProgram(ring, strict, 1, kMostCpus);
    for (int cpu = 0; cpu < kMostCpus; ++cpu) {
      const int next = (cpu + 1) % kMostCpus;
      const std::string wait =
          absl::StrCat("cpu ", cpu, " waits for shared.ring[", next, "] held by cpu ", next);
      EXPECT_TRUE(absl::StrContains(result.deadlock, wait)) << result.deadlock;
    }
  }
}

// One CPU returns without giving its lock back. Expect the other one's wait to be reported.
TEST(SimContextTest, LockThatIsNeverReleasedIsReported) {
  const SimResult result = RunProgram(
      [](CpuId cpu, Shared& shared) {
        if (cpu == 1) Simulated::Work(5000);
        shared.first.Lock();
      },
      true, 1);
  EXPECT_EQ("cpu 1 waits for shared.first held by cpu 0", result.deadlock);
}

}  // namespace
}  // namespace memsim
