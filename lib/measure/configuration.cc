#include "memsim/measure/configuration.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/measure/chain.h"
#include "memsim/internal/range.h"

namespace memsim {

namespace {

template <class Enum>
struct Named {
  Enum value;
  absl::string_view name;
};

constexpr std::array<Named<RestKind>, 3> kRests = {
    {{RestKind::kNone, "none"}, {RestKind::kClear, "clear"}, {RestKind::kFault, "fault"}}};
constexpr std::array<Named<IrqStandIn>, 3> kIrqs = {
    {{IrqStandIn::kFlag, "flag"}, {IrqStandIn::kPopf, "popf"}, {IrqStandIn::kNone, "none"}}};

template <class Enum, size_t N>
absl::StatusOr<Enum> Find(const std::array<Named<Enum>, N>& all, absl::string_view flag,
                          absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const auto& one : all) {
    if (one.name == name) return one.value;
    names.push_back(one.name);
  }
  return absl::NotFoundError(
      absl::StrCat(flag, " '", name, "'; valid: ", absl::StrJoin(names, ", ")));
}
template <class Enum, size_t N>
absl::string_view NameOf(const std::array<Named<Enum>, N>& all, Enum value) {
  for (const auto& one : all) {
    if (one.value == value) return one.name;
  }
  return "?";
}

absl::Status Invalid(absl::string_view flag, absl::string_view value, absl::string_view valid) {
  return absl::InvalidArgumentError(absl::StrCat(flag, " '", value, "'; valid: ", valid));
}

// The boolean options of a .config that the models know.
struct ConfigOption {
  absl::string_view name;
  bool BuildConfig::*field;
};
constexpr std::array<ConfigOption, 8> kConfigOptions = {{
    {"MEMCG", &BuildConfig::memcg},
    {"MEMCG_DEFAULT_ENABLED", &BuildConfig::memcg_default_enabled},
    {"MEMCG_SWAP", &BuildConfig::memcg_swap},
    {"PREEMPT_COUNT", &BuildConfig::preempt_count},
    {"NUMA", &BuildConfig::numa},
    {"FRAME_POINTER", &BuildConfig::frame_pointer},
    {"FUNCTION_TRACER", &BuildConfig::function_tracer},
    {"TICKET_LOCKS", &BuildConfig::ticket_locks},
}};

absl::Status ApplyConfig(const std::string& option, BuildConfig& build) {
  constexpr absl::string_view kValid =
      "MEMCG, MEMCG_DEFAULT_ENABLED, MEMCG_SWAP, PREEMPT_COUNT, NUMA, FRAME_POINTER, FUNCTION_TRACER, "
      "TICKET_LOCKS with =y or =n, or "
      "PREEMPT_RCU=n|inline|call";
  const std::vector<std::string> parts = absl::StrSplit(option, '=');
  if (parts.size() != 2) return Invalid("--config", option, kValid);
  const absl::string_view name = absl::StripPrefix(parts[0], "CONFIG_");
  if (name == "PREEMPT_RCU") {
    if (parts[1] == "n") build.rcu = RcuFlavour::kFree;
    else if (parts[1] == "inline") build.rcu = RcuFlavour::kInline;
    else if (parts[1] == "call" || parts[1] == "y") build.rcu = RcuFlavour::kCall;
    else return Invalid("--config", option, kValid);
    return absl::OkStatus();
  }
  for (const ConfigOption& known : kConfigOptions) {
    if (known.name != name) continue;
    if (parts[1] != "y" && parts[1] != "n") return Invalid("--config", option, kValid);
    build.*known.field = parts[1] == "y";
    return absl::OkStatus();
  }
  return Invalid("--config", option, kValid);
}

// What the boot line says; nothing when it does not speak of the controller.
absl::StatusOr<std::optional<bool>> BootSwitch(const std::vector<std::string>& cmdline, bool* memsw) {
  std::optional<bool> enabled;
  for (const std::string& line : cmdline) {
    for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      if (word == "cgroup_disable=memory") enabled = false;
      else if (word == "cgroup_enable=memory") enabled = true;
      else if (word == "swapaccount=1") *memsw = true;
      else if (word == "swapaccount=0") *memsw = false;
      else {
        return Invalid("--cmdline", word,
                       "cgroup_disable=memory, cgroup_enable=memory, swapaccount=0, swapaccount=1");
      }
    }
  }
  return enabled;
}

absl::StatusOr<Placement> ParseMemcg(const std::string& text) {
  Placement placement;
  if (text == "disabled") {
    placement.enabled = false;
    return placement;
  }
  if (text == "root") return placement;
  absl::string_view depth = text;
  int64_t n = 0;
  if (absl::ConsumePrefix(&depth, "depth:") && absl::SimpleAtoi(depth, &n) && n >= 1 &&
      n <= kMaxDepth) {
    placement.depth = static_cast<int>(n);
    return placement;
  }
  return Invalid("--memcg", text, absl::StrCat("disabled, root, or depth:N with N from 1 to ", kMaxDepth));
}

// Calls take(number) when the user gave one and it is valid.
template <class Take>
absl::Status TakeInRange(absl::string_view flag, const std::optional<int64_t>& given, int64_t least,
                         int64_t most, Take take) {
  if (!given.has_value()) return absl::OkStatus();
  const absl::Status valid = internal::CheckRange(flag, *given, least, most);
  if (valid.ok()) take(*given);
  return valid;
}

// Joins switch, placement and build: each alone is valid, together they may contradict.
absl::Status ResolveSwitch(const ConfigurationText& text, Configuration& c) {
  if (!text.memsw.empty()) {
    if (text.memsw != "on" && text.memsw != "off") return Invalid("--memsw", text.memsw, "on, off");
    c.memsw = text.memsw == "on";
  }
  const auto boot = BootSwitch(text.cmdline, &c.memsw);
  if (!boot.ok()) return boot.status();
  if (!c.build.memcg_swap) c.memsw = false;
  const bool on = boot->value_or(c.build.memcg_default_enabled) && c.build.memcg;
  if (text.memcg.empty()) {
    c.placement.enabled = on;
    return absl::OkStatus();
  }
  const auto placement = ParseMemcg(text.memcg);
  if (!placement.ok()) return placement.status();
  c.placement = *placement;
  if (c.placement.enabled && !on) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--memcg ", text.memcg, " needs the controller, but it is off (",
        !c.build.memcg ? "--config MEMCG=n" : boot->has_value() ? "--cmdline cgroup_disable=memory"
                                                                : "--config MEMCG_DEFAULT_ENABLED=n",
        "); valid: --memcg disabled, or no --memcg"));
  }
  if (!c.placement.enabled && boot->value_or(false)) {
    return absl::InvalidArgumentError(
        "--memcg disabled contradicts --cmdline cgroup_enable=memory; give one of them");
  }
  return absl::OkStatus();
}

absl::Status ResolveMachine(const ConfigurationText& text, Configuration& c) {
  if (text.machine == "native") return absl::OkStatus();
  auto model = LoadMachineModel(text.machine);
  if (absl::IsNotFound(model.status())) {
    return absl::NotFoundError(absl::StrCat(model.status().message(), ", native"));
  }
  if (!model.ok()) return model.status();
  c.machine = std::make_shared<const MachineModel>(*std::move(model));
  return absl::OkStatus();
}

absl::Status ResolveKnobs(const ConfigurationText& text, Configuration& c) {
  const absl::Status batch = TakeInRange("--batch", text.batch, 1, 65536, [&](int64_t n) {
    if (Pages(n) != c.kernel->batch) c.batch = Pages(n);
  });
  if (!batch.ok()) return batch;
  for (const absl::Status& status :
       {TakeInRange("chain", text.chain, 0, 1000000, [&](int64_t n) { c.chain = static_cast<int>(n); }),
        TakeInRange("replica", text.replica, 1, 1000000,
                    [&](int64_t n) { c.replica = static_cast<int>(n); })}) {
    if (!status.ok()) return status;
  }
  if (!text.order.empty()) {
    if (text.order != "charge-first" && text.order != "uptodate-first") {
      return Invalid("--order", text.order, "charge-first, uptodate-first");
    }
    const bool first = text.order == "charge-first";
    if (first != c.kernel->charge_first) c.charge_first = first;
  }
  if (text.layout != "kernel") {
    return Invalid("--layout", text.layout,
                   "kernel (other layouts need the simulated machine's cache model)");
  }
  return absl::OkStatus();
}

// Of a worker, unless asked for. Around a whole fault pages come fresh, as from a big machine's memory; a
// bare path is compared with native, where every round of a region finds its pages in the caches.
constexpr int64_t kSimulatedFaults = 8192;
constexpr int64_t kMaxSimulatedFaults = 1 << 21;  // of all workers

absl::Status ResolveWorkload(const ConfigurationText& text, Configuration& c) {
  auto workload = LoadWorkload(text.workload);
  if (!workload.ok()) return workload.status();
  c.workload = *std::move(workload);
  for (const absl::Status& status :
       {TakeInRange("--faults", text.faults, 1, kMaxFaults,
                    [&](int64_t n) { c.workload.faults = Pages(n); }),
        TakeInRange("--region", text.region, 1, kMaxRegion,
                    [&](int64_t n) { c.workload.region = Pages(n); }),
        TakeInRange("--threads", text.threads, 1,
                    c.machine == nullptr ? kMaxNativeThreads : c.machine->cpus(),
                    [&](int64_t n) { c.threads = static_cast<int>(n); }),
        TakeInRange("--seed", text.seed, 0, INT64_MAX / 1000,
                    [&](int64_t n) { c.seed = static_cast<uint64_t>(n); })}) {
    if (!status.ok()) return status;
  }
  if (c.machine != nullptr && !text.faults.has_value()) {
    c.workload.faults = c.rest == RestKind::kFault
                            ? std::min(c.workload.faults, Pages(kSimulatedFaults * c.threads))
                            : Pages(std::min(c.workload.faults.n * c.threads, kMaxSimulatedFaults));
  }
  c.workload.burst = std::min(c.workload.burst, c.workload.region);
  return absl::OkStatus();
}

}  // namespace

absl::string_view RestName(RestKind rest) { return NameOf(kRests, rest); }
absl::string_view IrqName(IrqStandIn irq) { return NameOf(kIrqs, irq); }
absl::StatusOr<RestKind> FindRest(absl::string_view name) { return Find(kRests, "--rest", name); }
absl::StatusOr<IrqStandIn> FindIrq(absl::string_view name) { return Find(kIrqs, "--irq", name); }

OffKind Configuration::off() const {
  if (!build.memcg) return OffKind::kCompiledOut;
  if (!placement.enabled) {
    return gate == GateKind::kConstant ? OffKind::kConstantOff : OffKind::kDisabled;
  }
  return placement.depth == 0 ? OffKind::kEnabledUnused : OffKind::kInUse;
}

std::string Configuration::memcg() const {
  if (!placement.enabled) return "disabled";
  return placement.depth == 0 ? "root" : absl::StrCat("depth:", placement.depth);
}

std::string Configuration::command() const {
  return absl::StrCat("memsim run --machine ", machine == nullptr ? "native" : machine->given, options());
}

std::string Configuration::options() const {
  std::string line = absl::StrCat(" --kernel ", kernel->name, " --gate ", GateName(gate),
                                  " --memcg ", memcg(), " --workload ", workload.given, " --threads ",
                                  threads, " --faults ", workload.faults.n, " --region ",
                                  workload.region.n, " --rest ", RestName(rest), " --seed ", seed,
                                  " --memsw ", memsw ? "on" : "off");
  if (machine == nullptr) absl::StrAppend(&line, " --irq ", IrqName(irq));
  if (batch.has_value()) absl::StrAppend(&line, " --batch ", batch->n);
  if (charge_first.has_value()) {
    absl::StrAppend(&line, " --order ", *charge_first ? "charge-first" : "uptodate-first");
  }
  for (const ConfigOption& option : kConfigOptions) {
    if (build.*option.field == kernel->build.*option.field) continue;
    absl::StrAppend(&line, " --config ", option.name, "=", build.*option.field ? "y" : "n");
  }
  if (build.rcu != kernel->build.rcu) {
    constexpr absl::string_view kRcu[] = {"n", "inline", "call"};
    absl::StrAppend(&line, " --config PREEMPT_RCU=", kRcu[static_cast<size_t>(build.rcu)]);
  }
  return line;
}

absl::StatusOr<Configuration> Resolve(const ConfigurationText& text) {
  Configuration c;
  const auto kernel = FindKernel(text.kernel);
  if (!kernel.ok()) return kernel.status();
  c.kernel = *kernel;
  c.build = c.kernel->build;
  c.gate = c.kernel->default_gate;
  if (!text.gate.empty()) {
    const auto gate = FindGate(text.gate);
    if (!gate.ok()) return gate.status();
    c.gate = *gate;
  }
  const absl::Status found = ResolveMachine(text, c);
  if (!found.ok()) return found;
  const auto rest = FindRest(!text.rest.empty() ? text.rest : c.machine != nullptr ? "fault" : "none");
  if (!rest.ok()) return rest.status();
  c.rest = *rest;
  const auto irq = FindIrq(text.irq);
  if (!irq.ok()) return irq.status();
  c.irq = *irq;
  for (const std::string& option : text.config) {
    const absl::Status status = ApplyConfig(option, c.build);
    if (!status.ok()) return status;
  }
  for (const auto step : {&ResolveWorkload, &ResolveKnobs, &ResolveSwitch}) {
    const absl::Status status = step(text, c);
    if (!status.ok()) return status;
  }
  // The world has to fit, too.
  const auto fits = Prepare(c.workload, c.placement, c.threads, c.seed);
  if (!fits.ok()) return fits.status();
  return c;
}

absl::StatusOr<std::unique_ptr<Runner>> Runner::Open(const Configuration& configuration,
                                                     MachineKind machine, RunnerOptions options) {
  auto work = Prepare(configuration.workload, configuration.placement, configuration.threads,
                      configuration.seed);
  if (!work.ok()) return work.status();
  if (configuration.chain.has_value()) {
    for (auto& stream : work->streams) {
      stream = std::make_unique<ChainedStream>(std::move(stream), *configuration.chain);
    }
  }
  SessionConfig config;
  config.plan = work->plan;
  config.plan.memsw = configuration.memsw;
  config.gate = configuration.gate;
  config.enabled = configuration.placement.enabled;
  config.config = configuration.build;
  config.irq = configuration.irq;
  config.rest = configuration.rest;
  config.batch = configuration.batch;
  config.charge_first = configuration.charge_first;
  config.seed = configuration.seed;
  config.stop = options.stop;
  config.observer = options.observer;
  config.rest_of_fault = std::move(options.rest);
  config.machine = configuration.machine;
  config.strict = options.strict;
  config.sim = options.sim;
  auto session = configuration.kernel->Open(machine, config);
  if (!session.ok()) return session.status();
  return std::unique_ptr<Runner>(new Runner(*std::move(work), *std::move(session)));
}

}  // namespace memsim
