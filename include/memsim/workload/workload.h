// Workloads: who faults, where, how often, in which memcg. A workload is a generator (code, below lib/)
// and its parameters (data, models/workloads/*.json).
//
//   pft          n workers sweep their slice of one region; charge and uncharge are timed apart
//   page_fault1  the same sweep of 128 MiB per task with the unmap inside the rate
//   churn        random map, fault, unmap, move and exit over many memcgs
//
// Units     pages; one fault maps one page
// Errors    InvalidArgument or NotFound, naming file, field and what would be valid
#ifndef MEMSIM_WORKLOAD_WORKLOAD_H_
#define MEMSIM_WORKLOAD_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "memsim/machine/machine_model.h"
#include "memsim/units.h"
#include "memsim/workload/operation.h"

namespace memsim {

enum class Generator : uint8_t { kSweep, kChurn };

// One file of models/workloads/.
struct Workload {
  std::string name;
  std::string given;  // what it was loaded as: its name, or the path of its file
  std::string summary;
  std::string source;
  Generator generator = Generator::kSweep;
  bool uncharge_in_rate = false;  // sweep: is the unmap part of the timed phase?
  Pages faults{0};                // of all workers together, per repetition
  Pages region{0};                // address space of one worker (sweep) or one mm (churn)
  int mms = 1;                    // churn: address spaces per worker
  int groups = 1;                 // churn: memcgs
  Pages burst{1};                 // churn: most pages of one operation
};

inline constexpr int64_t kMaxFaults = int64_t{1} << 32;
inline constexpr int64_t kMaxRegion = int64_t{1} << 24;  // 64 GiB of modelled memory
inline constexpr int kMaxNativeThreads = 64;
inline constexpr int kMaxThreads = kMaxSimCpus;
inline constexpr int kMaxDepth = 64;

// The workload of that name, or of that file when the name contains a '/' or ends in ".json".
absl::StatusOr<Workload> LoadWorkload(absl::string_view name);
// All of models/workloads/, by name.
absl::StatusOr<std::vector<Workload>> AllWorkloads();

// Where the tasks sit.
struct Placement {
  bool enabled = true;  // false: the controller is off, everything sits in root
  int depth = 0;        // 0: root; n: a chain of n memcgs below it, tasks in the last
};

// A workload made ready: the world it needs and one stream of operations per CPU.
struct PreparedWorkload {
  WorldPlan plan;
  std::vector<std::unique_ptr<OperationStream>> streams;

  std::vector<OperationStream*> Streams() const;
  void Reset();
};

// `workload` has been loaded (and perhaps changed by flags); everything is checked here.
absl::StatusOr<PreparedWorkload> Prepare(const Workload& workload, Placement placement, int threads,
                                         uint64_t seed);

}  // namespace memsim

#endif  // MEMSIM_WORKLOAD_WORKLOAD_H_
