// How one value of a round is timed.
//
// Cost      reading a thread's CPU time is a system call of about 0.3 us: a slice of 0.3 ms hides it
#ifndef MEMSIM_LIB_MEASURE_CALIBRATE_SLICES_H_
#define MEMSIM_LIB_MEASURE_CALIBRATE_SLICES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "memsim/internal/compiler.h"
#include "memsim/machine/native.h"
#include "memsim/measure/statistics.h"

namespace memsim::calibrate {

inline constexpr int kSlices = 9;

// ns of CPU time of body() for each of the `operations` it does.
template <class Body>
double Slice(double operations, Body& body) {
  const uint64_t begin = native::ThreadCpuNs();
  body();
  return static_cast<double>(native::ThreadCpuNs() - begin) / operations;
}

template <class Body>
double SlicesNs(double operations, Body body) {
  std::vector<double> times;
  body();  // warms caches and predictors
  for (int s = 0; s < kSlices; ++s) times.push_back(Slice(operations, body));
  return Median(std::move(times));
}

// What `with` takes beyond `without`, both taking turns.
template <class With, class Without>
double SlicesDifferenceNs(double operations, With with, Without without) {
  std::vector<double> differences;
  with();
  without();
  for (int s = 0; s < kSlices; ++s) {
    const double base = Slice(operations, without);
    differences.push_back(Slice(operations, with) - base);
  }
  return Median(std::move(differences));
}

// body() written out `kTimes` times, for straight-line code without a loop's own instructions.
template <class Body, size_t... kIndex>
MEMSIM_INLINED void WriteOut(Body& body, std::index_sequence<kIndex...>) {
  ((static_cast<void>(kIndex), body()), ...);
}
template <size_t kTimes, class Body>
MEMSIM_INLINED void Repeat(Body body) {
  WriteOut(body, std::make_index_sequence<kTimes>());
}

}  // namespace memsim::calibrate

#endif  // MEMSIM_LIB_MEASURE_CALIBRATE_SLICES_H_
