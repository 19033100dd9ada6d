#include "lib/measure/calibrate/pairs.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "lib/measure/calibrate/core.h"
#include "lib/measure/calibrate/memory.h"
#include "lib/measure/calibrate/slices.h"
#include "lib/measure/calibrate/together.h"
#include "memsim/machine/native.h"
#include "memsim/units.h"

namespace memsim::calibrate {

namespace {

constexpr int kPairSlices = 101;
constexpr int kTurns = 100;  // of each thread in a slice

// Medians of slices of the steady clock, for body() that does `operations`.
template <class Body>
double SteadySlicesNs(double operations, Body body) {
  std::vector<double> times;
  for (int s = 0; s < kPairSlices; ++s) {
    const uint64_t begin = native::NowNs();
    body();
    times.push_back(static_cast<double>(native::NowNs() - begin) / operations);
  }
  return Median(std::move(times));
}

// Two lines of neighbours away on either side, which some CPUs fetch in pairs.
struct alignas(256) Shared {
  std::atomic<uint32_t> turn{0};
};

// next and owner in one line, as the kernel's ticket lock has them.
struct alignas(256) TicketLock {
  std::atomic<uint32_t> next{0};
  std::atomic<uint32_t> owner{0};

  // Adds to *waited when another holds it.
  uint32_t Lock(int* waited) {
    const uint32_t ticket = next.fetch_add(1);
    if (owner.load(std::memory_order_acquire) == ticket) return ticket;
    ++*waited;
    SpinUntil([&] { return owner.load(std::memory_order_acquire) == ticket; });
    return ticket;
  }
  void Unlock(uint32_t ticket) { owner.store(ticket + 1, std::memory_order_release); }
};

Distance DistanceOf(const HostCpu& a, const HostCpu& b) {
  if (a.package != b.package) return Distance::kSocket;
  return a.core == b.core ? Distance::kSmt : Distance::kCore;
}

}  // namespace

std::vector<CpuPair> PairsOf(const Topology& topology, Distance distance, size_t most) {
  std::vector<CpuPair> all;
  for (size_t a = 0; a < topology.cpus.size(); ++a) {
    for (size_t b = a + 1; b < topology.cpus.size(); ++b) {
      if (DistanceOf(topology.cpus[a], topology.cpus[b]) != distance) continue;
      all.push_back({topology.cpus[a].cpu, topology.cpus[b].cpu});
    }
  }
  if (all.size() <= most) return all;
  std::vector<CpuPair> some;
  for (size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

std::optional<double> TransferNs(CpuPair pair) {
  Shared line;
  double ns = 0;
  constexpr uint32_t kAll = kPairSlices * kTurns;
  const auto ping = [&] {
    uint32_t turn = 0;
    ns = SteadySlicesNs(2 * kTurns, [&] {
      for (int i = 0; i < kTurns; ++i, turn += 2) {
        line.turn.store(turn + 1, std::memory_order_release);
        SpinUntil([&] { return line.turn.load(std::memory_order_acquire) == turn + 2; });
      }
    });
  };
  const auto pong = [&] {
    for (uint32_t turn = 0; turn < 2 * kAll; turn += 2) {
      SpinUntil([&] { return line.turn.load(std::memory_order_acquire) == turn + 1; });
      line.turn.store(turn + 2, std::memory_order_release);
    }
  };
  if (!Together({pair.a, pair.b}, {ping, pong})) return std::nullopt;
  return ns;
}

std::optional<double> LockHandoffNs(CpuPair pair) {
  TicketLock lock;
  std::atomic<bool> done{false};
  std::vector<double> times;
  // Whoever releases asks again at once, behind the one who waits: the two alternate. Not while one of
  // them is not running; such a slice says nothing about a hand-off.
  const auto timed = [&] {
    for (int s = 0; s < 10 * kPairSlices && times.size() < kPairSlices; ++s) {
      int waited = 0;
      const uint64_t begin = native::NowNs();
      for (int i = 0; i < kTurns; ++i) lock.Unlock(lock.Lock(&waited));
      const double ns = static_cast<double>(native::NowNs() - begin);
      if (waited >= kTurns * 9 / 10) times.push_back(ns / (2 * kTurns));
    }
    done.store(true);
  };
  const auto other = [&] {
    int waited = 0;
    while (!done.load(std::memory_order_relaxed)) lock.Unlock(lock.Lock(&waited));
  };
  if (!Together({pair.a, pair.b}, {timed, other}) || times.empty()) return std::nullopt;
  return Median(std::move(times));
}

std::optional<double> SharedInstructionNs(CpuPair pair) {
  double ns = 0;
  std::atomic<bool> done{false};
  const auto timed = [&] {
    ns = InstructionNs();
    done.store(true);
  };
  const auto other = [&] {
    while (!done.load()) InstructionNs();
  };
  if (!Together({pair.a, pair.b}, {timed, other})) return std::nullopt;
  return ns;
}

std::optional<double> LinesPerNs(const std::vector<int>& cpus, absl::Span<std::byte> memory) {
  constexpr int kPages = 256;                // between two looks at the clock
  constexpr uint64_t kTogether = 10'000'000;  // ns
  const size_t part = memory.size() / cpus.size() / kPageSize * kPageSize;
  if (part == 0) return std::nullopt;
  std::vector<double> rates(cpus.size());
  std::vector<std::function<void()>> bodies;
  for (size_t i = 0; i < cpus.size(); ++i) {
    bodies.push_back([&, i] {
      Clears clears(memory.data() + i * part, part);
      double pages = 0;
      const uint64_t cpu_begin = native::ThreadCpuNs();
      for (const uint64_t begin = native::NowNs(); native::NowNs() - begin < kTogether; pages += kPages) {
        clears.Clear(kPages);
      }
      rates[i] = pages / static_cast<double>(native::ThreadCpuNs() - cpu_begin);
    });
  }
  if (!Together(cpus, bodies)) return std::nullopt;
  double lines = 0;
  for (const double rate : rates) lines += rate * (kPageSize / kCacheLine);
  return lines;
}

}  // namespace memsim::calibrate
