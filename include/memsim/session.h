// A session: one world of one kernel x gate x machine, ready to execute operations. This is the erased
// edge of the library: behind it every type is known and inlines, in front of it there are names.
//
// The loop lives inside: one virtual call runs a whole stream of operations.
//
// Errors    Kernel::Open() refuses, with a status that says what is valid, what the machine cannot do
// Threads   a session is used by one thread, but for SetEnabled(); native starts one thread per modelled CPU
//           inside Execute()
#ifndef MEMSIM_SESSION_H_
#define MEMSIM_SESSION_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "memsim/events/events.h"
#include "memsim/gate/gate.h"
#include "memsim/machine/build_config.h"
#include "memsim/machine/native.h"
#include "memsim/machine/simulated.h"
#include "memsim/machine/tracing.h"
#include "memsim/page/rest_of_fault.h"
#include "memsim/units.h"
#include "memsim/workload/operation.h"

namespace memsim {

enum class MachineKind : uint8_t { kNative, kTracing, kSimulated };

struct MachineInfo {
  MachineKind kind;
  absl::string_view name;
  absl::string_view summary;
};

inline constexpr std::array<MachineInfo, 3> kMachines = {{
    {MachineKind::kNative, "native", "this CPU: real threads, real atomics, real time"},
    {MachineKind::kTracing, "tracing", "records and counts every step; exact, n CPUs in seeded turns"},
    {MachineKind::kSimulated, "simulated",
     "a machine file: up to 1024 CPUs with caches, in simulated time"},
}};

// Watches the threads of a native session, for sampling. Called on the thread that is the CPU.
class CpuObserver {
 public:
  virtual ~CpuObserver() = default;
  virtual void OnCpuStart(CpuId cpu) = 0;
  virtual void OnCpuEnd(CpuId cpu) = 0;
};

using RestObjects = std::vector<std::shared_ptr<RestOfFault>>;

struct SessionConfig {
  WorldPlan plan;
  GateKind gate = GateKind::kFlag;
  bool enabled = true;       // what the gate says, until SetEnabled()
  BuildConfig config;        // the kernel's default with the user's overrides
  IrqStandIn irq = IrqStandIn::kFlag;
  RestKind rest = RestKind::kNone;
  // Native: what makes the rest of the fault, one per CPU. Empty: the session makes its own. Sessions that
  // are compared share it, so that they clear the same pages.
  RestObjects rest_of_fault;
  std::optional<Pages> batch;        // knobs: unset is the kernel's constant
  std::optional<bool> charge_first;
  uint64_t seed = 1;
  // Simulated only. Null: the machine `wide-1024`.
  std::shared_ptr<const MachineModel> machine;
  bool strict = false;
  SimOptions sim;
  const std::atomic<bool>* stop = nullptr;  // set from outside to end Execute() early
  CpuObserver* observer = nullptr;          // native only
};

// What one CPU did.
struct CpuResult {
  struct PerPhase {
    int64_t pages = 0;  // faults that mapped a page, or pages unmapped
    uint64_t ns = 0;    // CPU time, as in pft's faults/cpu; on native the thread's. Not on tracing
  };
  PerPhase phase[kPhaseCount];
  int64_t oom = 0;             // faults whose charge was refused
  int64_t no_memory = 0;       // faults that found the machine full
  int64_t already_mapped = 0;  // faults on a mapped address
};

struct ExecResult {
  std::vector<CpuResult> cpus;
  absl::Status status;  // an error: nothing was executed
  bool interrupted = false;
  std::shared_ptr<const SimResult> sim;  // simulated only

  CpuResult Total() const;
};

// The state of one memcg, read while nobody runs.
struct LedgerRow {
  std::string name;
  int parent = 0;
  int64_t memory = 0;      // counter, pages
  int64_t memsw = 0;
  int64_t references = 0;  // css references
  int64_t held = 0;        // pages whose mem_cgroup is this memcg
  int64_t lru = 0;         // sum of lru_size over zones and lists
  int64_t watermark = 0;
  int64_t failcnt = 0;
  int64_t rss = 0;         // statistics, summed over CPUs
  int64_t events[kMemcgEvents] = {};
  int64_t stock = 0;       // pages in stocks of all CPUs
  bool on_soft_tree = false;
  std::vector<int64_t> threshold_signals;
};

struct Ledger {
  std::vector<LedgerRow> memcgs;
  std::vector<int64_t> mapped;  // pages per mm, by its page table
  int64_t free_pages = 0;       // on per-CPU and zone lists, or never used
};

// One modelled structure, for `memsim layout`.
struct StructInfo {
  absl::string_view type;
  uint64_t size;
  absl::Span<const FieldInfo> fields;
};

class Session {
 public:
  virtual ~Session() = default;

  // Executes one stream per modelled CPU. On native and tracing the world goes on from where it is; on
  // simulated every call starts from a fresh world (a run may have to be repeated).
  virtual ExecResult Execute(absl::Span<OperationStream* const> streams) = 0;
  // Gives back every CPU's LRU batch and stock and runs deferred work; does nothing when the gate's keys
  // cannot be patched to this session's state.
  virtual void Drain() = 0;
  // Turns the controller on or off at the gate (without effect on the constant gate), at any time and from
  // any thread, also while Execute() runs and pages are charged. It decides about faults that come to
  // their charge afterwards: a page charged while it was on is uncharged exactly once, whatever the switch
  // says then; a page faulted while it was off never is, and gate.h says why. A world that was never on
  // takes the short way at all gates; once it was on, being off again is only cheaper, not free.
  // Tracing and simulated have one thread, so there it is called between calls of Execute() or from an
  // OperationStream, between two operations of one CPU, where on simulated the other CPU may be anywhere.
  // Errors    the code could not be patched (gate static_key): the switch stands as before
  virtual absl::Status SetEnabled(bool on) = 0;
  virtual Ledger ReadLedger() = 0;
  virtual const Arena& arena() const = 0;
  // Counts and recording; null unless the machine is tracing.
  virtual TraceContext* trace() { return nullptr; }
};

// One kernel of the registry.
struct Kernel {
  absl::string_view name;
  absl::string_view source;
  absl::string_view story;
  BuildConfig build;
  GateKind default_gate;
  Pages batch;
  bool charge_first;

  using Opener = absl::StatusOr<std::unique_ptr<Session>> (*)(const SessionConfig&);
  Opener native;
  Opener tracing;
  Opener simulated;
  std::vector<StructInfo> (*layout)();

  absl::StatusOr<std::unique_ptr<Session>> Open(MachineKind machine,
                                                const SessionConfig& config) const;
};

// All kernels, oldest first.
absl::Span<const Kernel* const> AllKernels();
// Errors    NotFound with the names that exist
absl::StatusOr<const Kernel*> FindKernel(absl::string_view name);
absl::StatusOr<GateKind> FindGate(absl::string_view name);
absl::string_view GateName(GateKind gate);

// Gates that native was built with: all of them, or in sanitizer builds the kernel's default and
// `constant`.
bool NativeHasGate(const Kernel& kernel, GateKind gate);

}  // namespace memsim

#endif  // MEMSIM_SESSION_H_
