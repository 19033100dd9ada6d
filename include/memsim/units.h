// Units as types: a bare integer in a signature is a count of operations, never pages or bytes.
//
// Units     Pages: base pages of 4 KiB. Bytes: bytes. CpuId: index of a modelled CPU, from 0
#ifndef MEMSIM_UNITS_H_
#define MEMSIM_UNITS_H_

#include <compare>
#include <cstdint>

namespace memsim {

inline constexpr int64_t kPageSize = 4096;
inline constexpr int64_t kCacheLine = 64;

struct Pages {
  int64_t n = 0;

  constexpr Pages() = default;
  constexpr explicit Pages(int64_t count) : n(count) {}

  constexpr auto operator<=>(const Pages&) const = default;
  constexpr Pages operator+(Pages other) const { return Pages(n + other.n); }
  constexpr Pages operator-(Pages other) const { return Pages(n - other.n); }
  constexpr Pages operator-() const { return Pages(-n); }
};

struct Bytes {
  int64_t n = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(int64_t count) : n(count) {}
  constexpr explicit Bytes(Pages pages) : n(pages.n * kPageSize) {}

  constexpr auto operator<=>(const Bytes&) const = default;
};

using CpuId = int32_t;

}  // namespace memsim

#endif  // MEMSIM_UNITS_H_
