// Interrupts that one CPU sends another, seen from the system calls that have to wait for them.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "lib/measure/calibrate/pairs.h"
#include "lib/measure/calibrate/slices.h"
#include "lib/measure/calibrate/together.h"
#include "memsim/units.h"

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace memsim::calibrate {

namespace {

constexpr int kCalls = 100;

// The other thread of the process: it runs in user space, or it sleeps and its CPU forgets the process.
class Other {
 public:
  void Run() {
    for (;;) {
      switch (wanted_.load()) {
        case kSpin: SpinUntil([this] { seen_.store(true); return wanted_.load() != kSpin; }); break;
        case kSleep: wanted_.wait(kSleep); break;
        case kEnd: return;
      }
    }
  }
  void Spin() {
    seen_.store(false);
    Want(kSpin);
    SpinUntil([this] { return seen_.load(); });
  }
  void Sleep() {
    Want(kSleep);
    // Nothing tells when it sleeps; this is long for falling asleep and short for a measurement.
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  void End() { Want(kEnd); }

 private:
  enum Wanted : int { kSleep, kSpin, kEnd };
  void Want(Wanted wanted) {
    wanted_.store(wanted);
    wanted_.notify_one();
  }
  std::atomic<int> wanted_{kSleep};
  std::atomic<bool> seen_{false};
};

// What one call takes longer while the other thread runs.
template <class Call>
std::optional<double> LongerNs(CpuPair pair, Call call) {
  Other other;
  double ns = 0;
  const auto timed = [&] {
    const auto calls = [&] {
      for (int i = 0; i < kCalls; ++i) call();
    };
    std::vector<double> differences;
    for (int s = 0; s <= kSlices; ++s) {
      other.Sleep();
      const double alone = Slice(kCalls, calls);
      other.Spin();
      if (s > 0) differences.push_back(Slice(kCalls, calls) - alone);
    }
    other.End();
    ns = Median(std::move(differences));
  };
  if (!Together({pair.a, pair.b}, {timed, [&] { other.Run(); }})) return std::nullopt;
  return ns;
}

}  // namespace

std::optional<double> IpiNs(CpuPair pair) {
#if defined(__linux__) && defined(SYS_membarrier)
  // MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED and MEMBARRIER_CMD_PRIVATE_EXPEDITED of linux/membarrier.h,
  // which old headers do not have.
  constexpr int kRegister = 1 << 4;
  constexpr int kBarrier = 1 << 3;
  if (syscall(SYS_membarrier, kRegister, 0, 0) != 0) return std::nullopt;
  return LongerNs(pair, [] { syscall(SYS_membarrier, kBarrier, 0, 0); });
#else
  static_cast<void>(pair);
  return std::nullopt;
#endif
}

std::optional<double> ShootdownNs(CpuPair pair) {
  void* page = mmap(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return std::nullopt;
  const auto ns = LongerNs(pair, [page] {
    *static_cast<volatile char*>(page) = 1;  // else there is nothing to flush
    madvise(page, kPageSize, MADV_DONTNEED);
  });
  munmap(page, kPageSize);
  return ns;
}

}  // namespace memsim::calibrate
