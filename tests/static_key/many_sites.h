// 1 024 sites of one key, in 128 functions that stay out of line: what the torture runs through.
#ifndef MEMSIM_TESTS_STATIC_KEY_MANY_SITES_H_
#define MEMSIM_TESTS_STATIC_KEY_MANY_SITES_H_

#include <array>
#include <cstddef>
#include <utility>

#include "memsim/static_key/static_key.h"

#if defined(TORTURE_LIBRARY) || defined(TORTURE_PROGRAM)
DECLARE_STATIC_KEY_FALSE(torture_key);
#else
inline DEFINE_STATIC_KEY_FALSE(torture_key);
#endif

namespace many_sites {

inline constexpr int kFunctions = 128;
inline constexpr int kSitesPerFunction = 8;

// The asm keeps each site a site of its own.
#define MANY_SITES_PAIR                                   \
  if (static_branch_unlikely(&torture_key)) ++taken;      \
  asm volatile("" : "+r"(taken));                         \
  if (static_branch_likely(&torture_key)) ++taken;        \
  asm volatile("" : "+r"(taken))

#if defined(__x86_64__)
#define MANY_SITES_PADDING(n) asm volatile(".fill %c0, 1, 0x90" : : "i"(n))
#else
#define MANY_SITES_PADDING(n) asm volatile("" : : "i"(n))
#endif

// How many of its eight sites found the key enabled.
template <int kNumber>
__attribute__((noinline)) int Run() {
  int taken = 0;
  // No two functions are one, and their sites lie at every offset in a cache line.
  MANY_SITES_PADDING(kNumber % 64);
  MANY_SITES_PAIR;
  MANY_SITES_PAIR;
  MANY_SITES_PAIR;
  MANY_SITES_PAIR;
  return taken;
}

using Function = int (*)();
template <int... kNumbers>
std::array<Function, kFunctions> Table(std::integer_sequence<int, kNumbers...>) {
  return {&Run<kNumbers>...};
}

}  // namespace many_sites

#endif  // MEMSIM_TESTS_STATIC_KEY_MANY_SITES_H_
