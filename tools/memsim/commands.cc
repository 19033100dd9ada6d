// The commands that measure nothing: memsim explain, layout and list.
#include "tools/memsim/commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "memsim/machine/machine_model.h"
#include "memsim/report/render.h"
#include "tools/memsim/format.h"
#include "tools/memsim/output.h"

namespace memsim {

namespace {

struct Entry {
  std::string kind, name, summary;
};

absl::StatusOr<std::vector<Entry>> Entries() {
  std::vector<Entry> entries;
  for (const Kernel* kernel : AllKernels()) {
    entries.push_back({"kernel", std::string(kernel->name),
                       absl::StrCat(kernel->story, " [gate ", GateName(kernel->default_gate), "]")});
  }
  for (const GateInfo& gate : kGates) {
    entries.push_back({"gate", std::string(gate.name), std::string(gate.summary)});
  }
  // The simulated machine is listed as what it can be: the machines of the model files.
  for (const MachineInfo& machine : kMachines) {
    if (machine.kind == MachineKind::kSimulated) continue;
    entries.push_back({"machine", std::string(machine.name), std::string(machine.summary)});
  }
  const auto machines = AllMachineModels();
  if (!machines.ok()) return machines.status();
  for (const MachineModel& machine : *machines) {
    entries.push_back({"machine", machine.name, machine.summary});
  }
  const auto workloads = AllWorkloads();
  if (!workloads.ok()) return workloads.status();
  for (const Workload& workload : *workloads) {
    entries.push_back({"workload", workload.name, workload.summary});
  }
  return entries;
}

std::string ListText(const std::vector<Entry>& entries) {
  std::string text, kind;
  for (const Entry& entry : entries) {
    if (entry.kind != kind) absl::StrAppend(&text, kind.empty() ? "" : "\n", entry.kind, "s\n");
    kind = entry.kind;
    std::string name = entry.name;
    name.resize(std::max<size_t>(18, name.size() + 1), ' ');
    absl::StrAppend(&text, "  ", name, entry.summary, "\n");
  }
  return text;
}

}  // namespace

int ExplainCommand(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const auto event = FindExplainEvent(options.event);
  if (!event.ok()) return Refuse(event.status());
  ConfigurationText text = options.configuration;
  // What needs a limit or a stock is shown below root unless something else is asked for.
  if (text.memcg.empty() && (*event == ExplainEvent::kMiss || *event == ExplainEvent::kLimit)) {
    text.memcg = "depth:1";
  }
  const auto configuration = Resolve(text);
  if (!configuration.ok()) return Refuse(configuration.status());
  const auto explanation = Explain(*configuration, *event);
  if (!explanation.ok()) return Refuse(explanation.status());
  return PrintAs(
      *format, [&] { return ExplanationText(*explanation, options.brief); },
      [&] { return ExplanationJson(*explanation); }, [&] { return ExplanationCsv(*explanation); });
}

int Layout(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const auto kernel = FindKernel(options.configuration.kernel);
  if (!kernel.ok()) return Refuse(kernel.status());
  std::vector<StructInfo> structs;
  std::vector<absl::string_view> names;
  for (const StructInfo& one : (*kernel)->layout()) {
    names.push_back(one.type);
    if (options.structure.empty() || absl::StrContains(one.type, options.structure)) {
      structs.push_back(one);
    }
  }
  if (structs.empty()) {
    return Refuse(absl::NotFoundError(absl::StrCat("no structure '", options.structure, "'; valid: ",
                                                   absl::StrJoin(names, ", "))));
  }
  return PrintAs(
      *format, [&] { return LayoutText((*kernel)->name, structs); },
      [&] { return LayoutJson((*kernel)->name, structs); }, [&] { return LayoutCsv(structs); });
}

int List(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const auto entries = Entries();
  if (!entries.ok()) return Refuse(entries.status());
  return PrintAs(
      *format, [&] { return ListText(*entries); },
      [&] {
        nlohmann::ordered_json document = {{"schema", "memsim.list/1"}};
        for (const Entry& entry : *entries) {
          document[entry.kind + "s"].push_back({{"name", entry.name}, {"summary", entry.summary}});
        }
        return document.dump(2) + "\n";
      },
      [&] {
        std::string text = "kind,name,summary\n";
        for (const Entry& entry : *entries) {
          absl::StrAppend(&text, entry.kind, ",", entry.name, ",\"", entry.summary, "\"\n");
        }
        return text;
      });
}

}  // namespace memsim
