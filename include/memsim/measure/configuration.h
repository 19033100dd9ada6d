// A configuration: kernel x gate x memcg x workload and the knobs, resolved and checked. Every number
// memsim prints belongs to one, and every report echoes it.
//
// The switch is spelled as a kernel developer spells it: the build configuration (--config MEMCG=n,
// MEMCG_DEFAULT_ENABLED=n), the boot line (--cmdline cgroup_disable=memory), the gate.
#ifndef MEMSIM_MEASURE_CONFIGURATION_H_
#define MEMSIM_MEASURE_CONFIGURATION_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/session.h"
#include "memsim/workload/workload.h"

namespace memsim {

// The four kinds of "off", and on.
enum class OffKind : uint8_t {
  kCompiledOut,    // CONFIG_MEMCG=n
  kConstantOff,    // the gate is decided when compiling
  kDisabled,       // decided at boot
  kEnabledUnused,  // on, but everything sits in root
  kInUse,
};

struct OffInfo {
  OffKind kind;
  absl::string_view name;
  absl::string_view remains;  // what it still costs
};

inline constexpr std::array<OffInfo, 5> kOffKinds = {{
    {OffKind::kCompiledOut, "compiled out", "nothing: there is no call"},
    {OffKind::kConstantOff, "constant gate off",
     "call and return, the NULL result, work in front of a gate; no test"},
    {OffKind::kDisabled, "disabled at boot",
     "call, gate and return, the NULL result, work in front of a gate"},
    {OffKind::kEnabledUnused, "enabled, unused",
     "everything but the stock, the counters and the css reference"},
    {OffKind::kInUse, "in use", "everything"},
}};

struct Configuration {
  const Kernel* kernel = nullptr;
  GateKind gate = GateKind::kFlag;
  std::shared_ptr<const MachineModel> machine;  // null: native
  Workload workload;
  Placement placement;
  BuildConfig build;
  int threads = 1;
  RestKind rest = RestKind::kNone;
  IrqStandIn irq = IrqStandIn::kFlag;
  uint64_t seed = 1;
  bool memsw = true;  // swapaccount=1
  std::optional<Pages> batch;
  std::optional<bool> charge_first;
  // For checks of a comparison. Native: multiplies in a chain before every 32 faults (lib/measure/chain.h);
  // the one replica of the kernel's code that executes (memsim/session/replicas.h).
  std::optional<int> chain;
  std::optional<int> replica;

  OffKind off() const;
  std::string memcg() const;    // "disabled", "root", "depth:2"
  std::string command() const;  // the `memsim run` line that gives this configuration
  std::string options() const;  // of that line, all but --machine; begins with a blank
  MachineKind machine_kind() const {
    return machine == nullptr ? MachineKind::kNative : MachineKind::kSimulated;
  }
};

absl::string_view RestName(RestKind rest);
absl::string_view IrqName(IrqStandIn irq);
absl::StatusOr<RestKind> FindRest(absl::string_view name);
absl::StatusOr<IrqStandIn> FindIrq(absl::string_view name);

// What the user wrote, as text; empty is "the default".
struct ConfigurationText {
  std::string kernel = "v4.0-chargefirst";
  std::string machine = "native";  // or a machine file, by name or path
  std::string gate;
  std::string memcg;   // disabled | root | depth:N
  std::string workload = "pft";
  std::string rest;    // none | clear | fault; empty: fault on a simulated machine, else none
  std::string irq = "flag";
  std::string order;   // charge-first | uptodate-first
  std::string memsw;   // on | off
  std::string layout = "kernel";
  std::vector<std::string> cmdline;
  std::vector<std::string> config;
  std::optional<int64_t> threads, faults, region, batch, seed, chain, replica;
};

// Errors    InvalidArgument or NotFound, one line that says what is valid
absl::StatusOr<Configuration> Resolve(const ConfigurationText& text);

// How a configuration is run.
struct RunnerOptions {
  const std::atomic<bool>* stop = nullptr;
  // Native.
  CpuObserver* observer = nullptr;
  RestObjects rest = {};  // Runners that are compared are given the same
  // Simulated.
  bool strict = false;
  SimOptions sim = {};
};

// One world of a configuration on one machine, and its streams.
class Runner {
 public:
  // On kSimulated the configuration's machine, or the widest there is.
  static absl::StatusOr<std::unique_ptr<Runner>> Open(const Configuration& configuration,
                                                      MachineKind machine, RunnerOptions options);
  // The whole workload once.
  ExecResult Execute() {
    work_.Reset();
    return session_->Execute(pointers_);
  }
  Session& session() { return *session_; }
  const WorldPlan& plan() const { return work_.plan; }

 private:
  Runner(PreparedWorkload work, std::unique_ptr<Session> session)
      : work_(std::move(work)), pointers_(work_.Streams()), session_(std::move(session)) {}

  PreparedWorkload work_;
  std::vector<OperationStream*> pointers_;
  std::unique_ptr<Session> session_;
};

}  // namespace memsim

#endif  // MEMSIM_MEASURE_CONFIGURATION_H_
