#include "memsim/session.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/session/kernel_table.h"
#include "memsim/internal/compiler.h"

namespace memsim {

namespace {

// The plan comes from a workload and from options, so it is checked here once for all machines.
absl::Status Check(const Kernel& kernel, MachineKind machine, const SessionConfig& config) {
  const WorldPlan& plan = config.plan;
  if (plan.cpus < 1 || plan.memcgs.empty() || plan.mms.empty()) {
    return absl::InvalidArgumentError("a world needs a CPU, a root memcg and an address space");
  }
  if (plan.zones < 1 || plan.zones > 2) {
    return absl::InvalidArgumentError(absl::StrCat("zones must be 1 or 2, not ", plan.zones));
  }
  for (const MmSpec& mm : plan.mms) {
    if (mm.home < 0 || mm.home >= plan.cpus) {
      return absl::InvalidArgumentError(
          absl::StrCat("an address space has its home on CPU 0 to ", plan.cpus - 1, ", not ", mm.home));
    }
  }
  if (plan.memory.n < 1 || plan.memory.n >= int64_t{1} << 31) {
    return absl::InvalidArgumentError("a world holds 1 to 2147483647 pages");
  }
  if (config.batch.has_value() && (config.batch->n < 1 || config.batch->n > 65536)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--batch must be 1 to 65536 pages, not ", config.batch->n));
  }
  if (machine == MachineKind::kNative) {
    if (!NativeHasGate(kernel, config.gate)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "gate ", GateName(config.gate), " is not in this sanitizer build; valid on native: constant, ",
          GateName(kernel.default_gate)));
    }
    BuildConfig same = config.config;
    same.memcg = kernel.build.memcg;
    same.memcg_default_enabled = kernel.build.memcg_default_enabled;
    same.memcg_swap = kernel.build.memcg_swap;
    if (!(same == kernel.build)) {
      return absl::InvalidArgumentError(
          "on native the instruction mix is compiled in: only --config MEMCG, "
          "MEMCG_DEFAULT_ENABLED and MEMCG_SWAP can be overridden; use --machine tracing");
    }
  }
  if (!config.rest_of_fault.empty() &&
      config.rest_of_fault.size() != static_cast<size_t>(plan.cpus)) {
    return absl::InvalidArgumentError("a shared rest of the fault needs one object per CPU");
  }
  if (machine == MachineKind::kSimulated && plan.cpus > config.machine->cpus()) {
    return absl::InvalidArgumentError(absl::StrCat("machine ", config.machine->given, " has ",
                                                   config.machine->cpus(), " CPUs, not ", plan.cpus,
                                                   "; valid: --threads 1 to ", config.machine->cpus()));
  }
  return absl::OkStatus();
}

}  // namespace

CpuResult ExecResult::Total() const {
  CpuResult total;
  for (const CpuResult& cpu : cpus) {
    for (size_t p = 0; p < kPhaseCount; ++p) {
      total.phase[p].pages += cpu.phase[p].pages;
      total.phase[p].ns += cpu.phase[p].ns;
    }
    total.oom += cpu.oom;
    total.no_memory += cpu.no_memory;
    total.already_mapped += cpu.already_mapped;
  }
  return total;
}

absl::StatusOr<std::unique_ptr<Session>> Kernel::Open(MachineKind machine,
                                                      const SessionConfig& config) const {
  if (machine == MachineKind::kSimulated && config.machine == nullptr) {
    auto widest = LoadMachineModel("wide-1024");
    if (!widest.ok()) return widest.status();
    SessionConfig with_machine = config;
    with_machine.machine = std::make_shared<const MachineModel>(*std::move(widest));
    return Open(machine, with_machine);
  }
  const absl::Status valid = Check(*this, machine, config);
  if (!valid.ok()) return valid;
  switch (machine) {
    case MachineKind::kNative: return native(config);
    case MachineKind::kTracing: return tracing(config);
    case MachineKind::kSimulated: return simulated(config);
  }
  return absl::InternalError("no such machine");
}

absl::Span<const Kernel* const> AllKernels() { return KernelTable(); }

absl::StatusOr<const Kernel*> FindKernel(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const Kernel* kernel : AllKernels()) {
    if (kernel->name == name) return kernel;
    names.push_back(kernel->name);
  }
  return absl::NotFoundError(
      absl::StrCat("no kernel '", name, "'; valid: ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<GateKind> FindGate(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const GateInfo& gate : kGates) {
    if (gate.name == name) return gate.kind;
    names.push_back(gate.name);
  }
  return absl::NotFoundError(
      absl::StrCat("no gate '", name, "'; valid: ", absl::StrJoin(names, ", ")));
}

absl::string_view GateName(GateKind gate) { return kGates[static_cast<size_t>(gate)].name; }

bool NativeHasGate(const Kernel& kernel, GateKind gate) {
  return !MEMSIM_SANITIZED || gate == GateKind::kConstant || gate == kernel.default_gate;
}

}  // namespace memsim
