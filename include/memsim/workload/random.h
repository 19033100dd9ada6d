// Seeded random numbers that are the same with every compiler and standard library.
#ifndef MEMSIM_WORKLOAD_RANDOM_H_
#define MEMSIM_WORKLOAD_RANDOM_H_

#include <cstdint>
#include <random>

namespace memsim {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Uniform in [0, n); n > 0. The bias of the modulus is below n / 2^64.
  uint64_t Below(uint64_t n) { return engine_() % n; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace memsim

#endif  // MEMSIM_WORKLOAD_RANDOM_H_
