// Where the arms of a comparison run: which replica of its kernel's code each placement has.
//
// Order     a sweep gives every replica one placement, in an order drawn anew; all arms of a placement run
//           in the replica of one number, so arms of one code run the very same
// One place when a replica was chosen (replica=), when an arm has none because a knob was turned, and in
//           builds without replicas
#ifndef MEMSIM_MEASURE_PLACES_H_
#define MEMSIM_MEASURE_PLACES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "memsim/measure/configuration.h"
#include "memsim/workload/random.h"

namespace memsim {

// Replicas of a kernel's code: ReplicasOf(), in programs that link them (memsim/session/replicas.h).
using ReplicaSource = absl::Span<const Kernel* const> (*)(const Kernel& kernel);

class Places {
 public:
  // Errors    InvalidArgument: a replica was chosen that does not exist
  static absl::Status Check(const Configuration& arm, ReplicaSource source);

  Places(const std::vector<const Configuration*>& arms, ReplicaSource source);

  int replicas() const { return static_cast<int>(replicas_); }
  const std::string& one_place() const { return one_place_; }  // why there is one
  // The arms as the next placement has them, valid until the next call. `*replica`: their replica.
  std::vector<const Configuration*> Next(Random& random, int* replica);

 private:
  std::vector<Configuration> arms_;
  std::vector<absl::Span<const Kernel* const>> sources_;  // by arm
  size_t replicas_ = 1;
  std::string one_place_;
  std::vector<size_t> sweep_;  // what is left of it
};

}  // namespace memsim

#endif  // MEMSIM_MEASURE_PLACES_H_
