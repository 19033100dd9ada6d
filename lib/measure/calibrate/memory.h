// Latencies of the levels of memory, and zeroing pages.
//
// Units     ns of CPU time; bytes
// Threads   one object is used by one thread, which the caller pins
// Errors    an object whose host gave no memory says so by ok()
#ifndef MEMSIM_LIB_MEASURE_CALIBRATE_MEMORY_H_
#define MEMSIM_LIB_MEASURE_CALIBRATE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "memsim/machine/arena.h"
#include "memsim/page/rest_of_fault.h"

namespace memsim::calibrate {

// One random cycle through all lines of a buffer on huge pages: each load waits for the one before, and
// no prefetcher knows the next. A buffer that a level holds is in it after a lap, and, as the cycle visits
// all lines before it returns to one, in no level that is smaller.
class Chase {
 public:
  enum class Laps : uint8_t { kWarm, kCold };
  // kCold: the buffer is so large that no lap is ever closed; it goes on where it stopped.
  Chase(size_t bytes, Laps laps, uint64_t seed);
  bool ok() const { return memory_.base() != nullptr; }
  double LoadNs();
  // Of a buffer in a cache that neighbours share: every slice follows a lap of its own and the fastest
  // counts, because a line that they pushed out can only make a slice slower.
  double SharedHitNs();

 private:
  void* Walk(size_t steps) const;
  size_t StepsOfASlice();

  size_t lines_;
  Laps laps_;
  internal::HugeMapping memory_;
  void* at_ = nullptr;
};

// Zeroes the pages of a buffer round robin, as the kernel zeroes a page.
class Clears {
 public:
  Clears(std::byte* memory, size_t bytes) : memory_(reinterpret_cast<char*>(memory)), bytes_(bytes) {}
  void Clear(int pages);
  // One page.
  double PageNs();

 private:
  char* memory_;
  size_t bytes_;
  size_t next_ = 0;
};

// Real page faults of this host: one write each to a fresh anonymous 4 KiB page.
struct FaultNs {
  double fault = 0;
  double unmap = 0;  // of one page, in a call that unmaps all kFaults
};
inline constexpr int kFaults = 4096;
FaultNs MeasureFaults(RestOfFault& rest);

}  // namespace memsim::calibrate

#endif  // MEMSIM_LIB_MEASURE_CALIBRATE_MEMORY_H_
