// One operation step by step, recorded on the tracing machine: for a teacher's screen.
#ifndef MEMSIM_REPORT_EXPLAIN_H_
#define MEMSIM_REPORT_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/machine/tracing.h"
#include "memsim/measure/configuration.h"

namespace memsim {

enum class ExplainEvent : uint8_t {
  kFault,     // a charge that the stock can serve
  kUncharge,  // the unmap of three pages
  kMiss,      // a charge that finds the stock empty
  kLimit,     // a charge that hits the limit: smaller batch, reclaim, retry
};

// Errors    NotFound with the names that exist
absl::StatusOr<ExplainEvent> FindExplainEvent(absl::string_view name);
absl::string_view ExplainEventName(ExplainEvent event);

// A recorded step, with everything named.
struct Step {
  TraceEvent::Type type;
  Fn function;
  bool inlined = false;
  int depth = 0;
  std::string object;   // "memcg child"
  std::string field;    // "css.flags"
  absl::string_view purpose;
  AccessKind kind = AccessKind::kLoad;
  FieldKind field_kind = FieldKind::kCell;
  uint64_t line = 0;    // cache line in the world's arena
  bool percpu = false;  // in a per-CPU area
  std::string before, after;
  std::string note;
};

struct Explanation {
  Configuration configuration;
  ExplainEvent event = ExplainEvent::kFault;
  std::string situation;  // what was done before
  std::vector<Step> steps;
};

// Errors    InvalidArgument when the event cannot happen in the configuration
absl::StatusOr<Explanation> Explain(const Configuration& configuration, ExplainEvent event);

}  // namespace memsim

#endif  // MEMSIM_REPORT_EXPLAIN_H_
