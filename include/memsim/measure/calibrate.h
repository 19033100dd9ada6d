// Measures this host and makes a machine model of it.
//
// Units     ns, except where a value says otherwise; the model itself is in ps
// Marks     a value is a median over rounds with its 95 % interval. Every round measures everything once,
//           so that what is subtracted or divided was measured within the same second
// Clocks    CPU time where one thread works, the steady clock where two do; never the time stamp counter,
//           whose rate is not the core's
// Shared    hosts are shared and virtual: a value of a round is itself the median of slices of about
//           0.3 ms, most of which no neighbour interrupts. A neighbour that is there all the time stays in
// Left out  what user space cannot see: masking interrupts, the parts of a fault one by one, timer
//           interrupts, memory of another socket. Those are assumed and listed, or zero
// Threads   blocks; starts and joins threads of its own, pinned to the CPUs the process may use
// Errors    ResourceExhausted when the host has no memory for the buffers. A value that cannot be measured
//           is assumed instead and says why
#ifndef MEMSIM_MEASURE_CALIBRATE_H_
#define MEMSIM_MEASURE_CALIBRATE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/machine/machine_model.h"
#include "memsim/measure/statistics.h"

namespace memsim {

struct CalibrateOptions {
  std::string name = "host";  // of the model
  int repetitions = 41;       // rounds
  uint64_t most_memory = uint64_t{256} << 20;  // bytes of a buffer that no cache should hold
  uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;
  // Called with what is going on and how far all of it is, 0..1.
  std::function<void(absl::string_view what, double done)> progress;
};

struct CalibratedValue {
  std::string field;   // of the machine file; empty: shown, not written
  std::string what;
  std::string unit;    // "ns", "GHz", "GB/s"
  Interval interval;   // n == 0: not measured
  std::string method;  // of one short line
};

struct AssumedValue {
  std::string field;
  std::string value;  // with its unit
  std::string why;
};

struct Calibration {
  MachineModel model;
  std::vector<FieldSource> sources;  // for MachineModelJson()
  std::vector<CalibratedValue> values;
  std::vector<AssumedValue> assumed;
  std::vector<std::string> notes;  // what a reader should know, one sentence each
  bool partial = false;            // interrupted: the model is not to be written
};

absl::StatusOr<Calibration> Calibrate(const CalibrateOptions& options);

}  // namespace memsim

#endif  // MEMSIM_MEASURE_CALIBRATE_H_
