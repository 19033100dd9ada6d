#include "lib/measure/calibrate/core.h"

#include <cstdint>

#include "lib/measure/calibrate/slices.h"
#include "memsim/internal/compiler.h"

namespace memsim::calibrate {

namespace {

struct alignas(64) Line {
  uint64_t value;
};

constexpr int kBlocks = 16;
constexpr int kBlockInstructions = 12;
// The charge path of a page has about so many instructions for each of its calls.
constexpr int kCalledBlocks = 2;
// And about so many for each of its LOCK instructions.
constexpr int kBlocksOfAnRmw = 4;

// Blocks of straight-line code. `line` holds its own address first, so that the second load depends on the
// first, and then numbers that are not zero.
template <int kTimes>
MEMSIM_INLINED uint64_t KernelLike(uint64_t* line, uint64_t sum) {
#if defined(__x86_64__)
  uint64_t a, b, c;
  asm volatile(
      ".rept %c[times]\n\t"
      "movq (%[line]), %[a]\n\t"
      "movq 8(%[a]), %[b]\n\t"
      "testq %[b], %[b]\n\t"
      "jz 9f\n\t"
      "addq %[b], %[sum]\n\t"
      "movq %[sum], 16(%[line])\n\t"
      "movq 24(%[line]), %[c]\n\t"
      "leaq 1(%[b], %[sum]), %[sum]\n\t"
      "cmpq %[a], %[c]\n\t"
      "je 9f\n\t"
      "movq %[c], 32(%[line])\n\t"
      "addq %[c], %[sum]\n\t"
      ".endr\n"
      "9:"
      : [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [sum] "+&r"(sum)
      : [line] "r"(line), [times] "i"(kTimes)
      : "memory", "cc");
#else
  Repeat<kTimes>([&]() __attribute__((always_inline)) {
    volatile uint64_t* a = reinterpret_cast<volatile uint64_t*>(static_cast<volatile uint64_t*>(line)[0]);
    const uint64_t b = a[1];
    if (b == 0) return;
    sum += b;
    static_cast<volatile uint64_t*>(line)[2] = sum;
    const uint64_t c = static_cast<volatile uint64_t*>(line)[3];
    sum += b + 1;
    if (c == reinterpret_cast<uint64_t>(a)) return;
    static_cast<volatile uint64_t*>(line)[4] = c;
    sum += c;
  });
#endif
  return sum;
}

struct alignas(64) KernelLine {
  uint64_t words[8] = {reinterpret_cast<uint64_t>(words), 1, 0, 3};
};

MEMSIM_OUT_OF_LINE void Empty() { MEMSIM_KEEP_CALL(); }

MEMSIM_OUT_OF_LINE uint64_t Called(uint64_t* line, uint64_t sum) {
  MEMSIM_KEEP_CALL();
  return KernelLike<kCalledBlocks>(line, sum);
}

}  // namespace

double ClockGhz() {
  constexpr int kLoops = 16384;
  constexpr int kAdds = 64;
  return 1 / SlicesNs(static_cast<double>(kLoops) * kAdds, [] {
    // Both in registers the compiler knows nothing about: newer cores drop an addition of a constant.
    uint64_t x = 1, one = 1;
    for (int i = 0; i < kLoops; ++i) {
      Repeat<kAdds>([&]() __attribute__((always_inline)) {
        asm volatile("" : "+r"(x), "+r"(one));
        x += one;
      });
    }
    asm volatile("" : "+r"(x));
  });
}

double InstructionNs() {
  constexpr int kLoops = 8192;
  KernelLine line;
  return SlicesNs(static_cast<double>(kLoops) * kBlocks * kBlockInstructions, [&] {
    uint64_t sum = 0;
    for (int i = 0; i < kLoops; ++i) sum = KernelLike<kBlocks>(line.words, sum);
    asm volatile("" : "+r"(sum));
  });
}

double RmwNs() {
  constexpr int kLoops = 4096;
  constexpr int kTimes = kBlocks / kBlocksOfAnRmw;
  struct {
    KernelLine line;
    Line counters[2] = {};
  } memory;
  // The same code in both, and an addition to memory: with LOCK, and without.
  const auto with = [&memory] {
    uint64_t sum = 0;
    for (int i = 0; i < kLoops; ++i) {
      Repeat<kTimes>([&]() __attribute__((always_inline)) {
        sum = KernelLike<kBlocksOfAnRmw>(memory.line.words, sum);
        sum += __atomic_fetch_add(&memory.counters[sum & 1].value, 1, __ATOMIC_SEQ_CST);
      });
    }
    asm volatile("" : "+r"(sum));
  };
  const auto without = [&memory] {
    uint64_t sum = 0;
    for (int i = 0; i < kLoops; ++i) {
      Repeat<kTimes>([&]() __attribute__((always_inline)) {
        sum = KernelLike<kBlocksOfAnRmw>(memory.line.words, sum);
        uint64_t* value = &memory.counters[sum & 1].value;
        const uint64_t before = *value;
        *value = before + 1;
        MEMSIM_BARRIER();
        sum += before;
      });
    }
    asm volatile("" : "+r"(sum));
  };
  return SlicesDifferenceNs(static_cast<double>(kLoops) * kTimes, with, without);
}

double CallNs() {
  constexpr int kLoops = 8192;
  constexpr int kCalls = kBlocks / kCalledBlocks;
  KernelLine line;
  const auto with = [&line] {
    uint64_t sum = 0;
    for (int i = 0; i < kLoops; ++i) {
      Repeat<kCalls>([&]() __attribute__((always_inline)) { sum = Called(line.words, sum); });
    }
    asm volatile("" : "+r"(sum));
  };
  const auto without = [&line] {
    uint64_t sum = 0;
    for (int i = 0; i < kLoops; ++i) {
      Repeat<kCalls>([&]() __attribute__((always_inline)) {
        sum = KernelLike<kCalledBlocks>(line.words, sum);
      });
    }
    asm volatile("" : "+r"(sum));
  };
  return SlicesDifferenceNs(static_cast<double>(kLoops) * kCalls, with, without);
}

double EmptyCallNs() {
  constexpr int kLoops = 16384;
  constexpr int kCalls = 16;
  const auto with = [] {
    for (int i = 0; i < kLoops; ++i) Repeat<kCalls>([]() __attribute__((always_inline)) { Empty(); });
  };
  const auto without = [] {
    for (int i = 0; i < kLoops; ++i) MEMSIM_BARRIER();
  };
  return SlicesDifferenceNs(static_cast<double>(kLoops) * kCalls, with, without);
}

}  // namespace memsim::calibrate
