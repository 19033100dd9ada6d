// Seeded random numbers that are the same with every compiler and standard library.
#ifndef MEMSIM_WORKLOAD_RANDOM_H_
#define MEMSIM_WORKLOAD_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace memsim {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Uniform in [0, n); n > 0. The bias of the modulus is below n / 2^64.
  uint64_t Below(uint64_t n) { return engine_() % n; }

 private:
  std::mt19937_64 engine_;
};

// 0 to n - 1 in an order drawn from `random`.
inline std::vector<size_t> ShuffledOrder(size_t n, Random& random) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return order;
}

}  // namespace memsim

#endif  // MEMSIM_WORKLOAD_RANDOM_H_
