#include "tools/memsim/commands.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "memsim/internal/range.h"
#include "memsim/machine/machine_model.h"
#include "memsim/report/render.h"
#include "tools/memsim/output.h"
#include "tools/memsim/output_file.h"

namespace memsim {

namespace {

enum class Format : uint8_t { kText, kJson, kCsv };

absl::StatusOr<Format> FindFormat(const std::string& name) {
  if (name == "text") return Format::kText;
  if (name == "json") return Format::kJson;
  if (name == "csv") return Format::kCsv;
  return absl::InvalidArgumentError(
      absl::StrCat("--format '", name, "'; valid: text, json, csv"));
}

template <class Text, class Json, class Csv>
int PrintAs(Format format, Text text, Json json, Csv csv) {
  switch (format) {
    case Format::kText: return Print(text());
    case Format::kJson: return Print(json());
    case Format::kCsv: return Print(csv());
  }
  return kWrong;
}

int RunDemo(const Options& options, Format format, const std::atomic<bool>* stop) {
  Comparison2015 comparison;
  {
    Progress progress;
    ComparisonOptions demo;
    demo.stop = stop;
    demo.seed = static_cast<uint64_t>(options.configuration.seed.value_or(1));
    demo.progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    auto result = Compare2015(demo);
    if (!result.ok()) return Refuse(result.status());
    comparison = *std::move(result);
  }
  const Environment environment = ReadEnvironment();
  const int status = PrintAs(
      format, [&] { return ComparisonText(comparison, environment); },
      [&] { return ComparisonJson(comparison, environment); },
      [&] { return ComparisonCsv(comparison); });
  return status == kOk && comparison.partial ? kInterrupted : status;
}

int RunOne(const Options& options, Format format, const std::atomic<bool>* stop) {
  const auto configuration = Resolve(options.configuration);
  if (!configuration.ok()) return Refuse(configuration.status());
  Profile profile;
  {
    Progress progress;
    ProfileOptions profiling;
    profiling.repetitions = static_cast<int>(options.repetitions);
    profiling.samples = options.samples;
    profiling.sample_seconds = static_cast<double>(options.samples) / 1000;
    profiling.stop = stop;
    profiling.progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    auto result = MakeProfile(*configuration, profiling);
    if (absl::IsCancelled(result.status())) {
      Print("PARTIAL: interrupted before anything had been measured\n");
      return kInterrupted;
    }
    if (!result.ok()) return Refuse(result.status());
    profile = *std::move(result);
  }
  const Environment environment = ReadEnvironment();
  const int status = PrintAs(
      format, [&] { return ProfileText(profile, environment); },
      [&] { return ProfileJson(profile, environment); }, [&] { return ProfileCsv(profile); });
  return status == kOk && profile.partial ? kInterrupted : status;
}

// Everything that is checked before anything is simulated.
absl::StatusOr<PftOptions> PreparePft(const Options& options) {
  for (const absl::Status& status :
       {internal::CheckRange("--pages", options.pages, 1, kMaxRegion),
        internal::CheckRange("--seeds", options.seeds, 1, kMaxPftSeeds)}) {
    if (!status.ok()) return status;
  }
  PftOptions pft;
  auto columns = ParsePftColumns(options.columns, options.configuration);
  if (!columns.ok()) return columns.status();
  pft.columns = *std::move(columns);
  const auto machine = LoadMachineModel(options.machine);
  if (!machine.ok()) return machine.status();
  auto published = LoadPublishedThroughput("pft-throughput-2015");
  if (!published.ok()) return published.status();
  pft.published = *std::move(published);
  pft.machine = {machine->name, machine->given, FindCalibratedCells(machine->calibrated, pft.published)};
  pft.clients = DefaultPftClients(machine->cpus());
  if (!options.clients.empty()) {
    auto clients = ParsePftClients(options.clients, machine->cpus());
    if (!clients.ok()) return clients.status();
    pft.clients = *std::move(clients);
  }
  pft.pages = options.pages;
  pft.seeds = static_cast<int>(options.seeds);
  pft.seed = pft.columns.front().seed;
  return pft;
}

// How a machine file is named to `memsim run`: a bare name would be looked up among the models.
std::string MachineArgument(const std::string& path) {
  const bool is_path = absl::StrContains(path, "/") || absl::EndsWith(path, ".json");
  return is_path ? path : "./" + path;
}

absl::StatusOr<SimProfileOptions> SimulationOptions(const Options& options) {
  const absl::Status seeds = internal::CheckRange("--seeds", options.seeds, 1, kMaxPftSeeds);
  if (!seeds.ok()) return seeds;
  const auto sampler = FindSampler(options.sampler);
  if (!sampler.ok()) return sampler.status();
  if (options.profile != "attributed" && options.profile != "sampled" && options.profile != "marginal") {
    return absl::NotFoundError(
        absl::StrCat("--profile '", options.profile, "'; valid: attributed, sampled, marginal"));
  }
  SimProfileOptions simulation;
  simulation.seeds = static_cast<int>(options.seeds);
  simulation.sampler = *sampler;
  simulation.strict = options.strict;
  simulation.interrupts_charge = options.timer_charge;
  simulation.marginal = options.profile == "marginal";
  return simulation;
}

template <class Text, class Json, class Csv>
int Simulate(const Options& options, bool line_detail, Text text, Json json, Csv csv) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const auto configuration = Resolve(options.configuration);
  if (!configuration.ok()) return Refuse(configuration.status());
  auto simulation = SimulationOptions(options);
  if (!simulation.ok()) return Refuse(simulation.status());
  simulation->stop = InstallInterrupt();
  simulation->line_detail = line_detail;
  absl::StatusOr<SimProfile> profile;
  {
    Progress progress;
    simulation->progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    profile = MakeSimProfile(*configuration, *simulation);
  }
  if (absl::IsCancelled(profile.status())) {
    Print("PARTIAL: interrupted before anything had been simulated\n");
    return kInterrupted;
  }
  if (!profile.ok()) return Refuse(profile.status());
  const Environment environment = ReadEnvironment();
  const int status = PrintAs(
      *format, [&] { return text(*profile, environment); }, [&] { return json(*profile, environment); },
      [&] { return csv(*profile); });
  return status == kOk && profile->partial ? kInterrupted : status;
}

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

int Run(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  for (const absl::Status& status :
       {internal::CheckRange("--repetitions", options.repetitions, 1, 10000),
        internal::CheckRange("--samples", options.samples, 1, 10000000)}) {
    if (!status.ok()) return Refuse(status);
  }
  if (options.configuration.machine != "native") {
    return Simulate(options, false, &SimProfileText, &SimProfileJson, &SimProfileCsv);
  }
  if (options.strict || options.timer_charge) {
    return Refuse(absl::InvalidArgumentError(
        absl::StrCat(options.strict ? "--strict" : "--timer-charge", " needs a simulated machine; valid: "
                     "--machine with a name of `memsim list` or a .json file")));
  }
  const std::atomic<bool>* stop = InstallInterrupt();
  return options.demo ? RunDemo(options, *format, stop) : RunOne(options, *format, stop);
}

int Lines(const Options& options) {
  if (options.configuration.machine == "native") {
    return Refuse(absl::InvalidArgumentError(
        "--machine 'native'; valid: a machine file (this CPU does not tell which lines move)"));
  }
  return Simulate(options, true, &SimLinesText, &SimLinesJson, &SimLinesCsv);
}

// "0.1ns" or "0.1".
absl::StatusOr<double> ParseUntil(const std::string& text) {
  double ns = 0;
  if (text.empty()) return ns;
  if (!absl::SimpleAtod(absl::StripSuffix(text, "ns"), &ns) || !(ns >= 0.001) || !(ns <= 1000)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--until '", text, "'; valid: the width of an interval, 0.001ns to 1000ns"));
  }
  return ns;
}

// Everything but the arms.
absl::StatusOr<CompareOptions> PrepareCompare(const Options& options) {
  CompareOptions compare;
  const auto until = ParseUntil(options.until);
  if (!until.ok()) return until.status();
  compare.until = *until;
  compare.seconds = options.seconds.value_or(compare.seconds);
  if (!(compare.seconds >= 0.1) || !(compare.seconds <= 3600)) {
    return absl::InvalidArgumentError(absl::StrCat("--seconds ", compare.seconds, "; valid: 0.1 to 3600"));
  }
  const int64_t seed = options.configuration.seed.value_or(1);
  const int64_t seeds = options.compare_seeds.value_or(compare.seeds);
  for (const absl::Status& status : {internal::CheckRange("--seed", seed, 0, INT64_MAX / 1000),
                                     internal::CheckRange("--seeds", seeds, 1, kMaxPftSeeds)}) {
    if (!status.ok()) return status;
  }
  compare.seed = static_cast<uint64_t>(seed);
  compare.seeds = static_cast<int>(seeds);
  compare.shared = options.configuration;
  return compare;
}

// An option that says nothing about this machine would be taken for one that does.
absl::Status CheckMachineOptions(const Options& options, MachineKind machine) {
  if (machine != MachineKind::kNative && (options.seconds.has_value() || !options.until.empty())) {
    return absl::InvalidArgumentError(
        "--seconds and --until need time that is measured; valid: --machine native");
  }
  if (machine != MachineKind::kSimulated && options.compare_seeds.has_value()) {
    return absl::InvalidArgumentError(
        "--seeds needs a simulated machine; valid: --machine with a name of `memsim list` or a .json file");
  }
  return absl::OkStatus();
}

int CompareCommand(const Options& options) {
  const auto render = FindCompareFormat(options.format);
  if (!render.ok()) return Refuse(render.status());
  auto compare = PrepareCompare(options);
  if (!compare.ok()) return Refuse(compare.status());
  std::vector<CompareArm> arms;
  for (const std::string& text : options.arms) {
    auto arm = ParseCompareArm(text, options.configuration);
    if (!arm.ok()) return Refuse(arm.status());
    arms.push_back(*std::move(arm));
  }
  if (auto status = CheckMachineOptions(options, arms[0].machine); !status.ok()) return Refuse(status);
  compare->stop = InstallInterrupt();
  absl::StatusOr<CompareResult> result;
  {
    Progress progress;
    compare->progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    result = Compare(std::move(arms), *compare);
  }
  if (absl::IsCancelled(result.status())) {
    Print("PARTIAL: interrupted before anything had been compared\n");
    return kInterrupted;
  }
  if (!result.ok()) return Refuse(result.status());
  const int status = Print((*render)(*result, ReadEnvironment()));
  return status == kOk && result->partial ? kInterrupted : status;
}

int CountCommand(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const absl::Status repetitions = internal::CheckRange("--repetitions", options.repetitions, 1, 10000);
  if (!repetitions.ok()) return Refuse(repetitions);
  const auto configuration = Resolve(options.configuration);
  if (!configuration.ok()) return Refuse(configuration.status());
  if (options.inside_valgrind) {
    const auto said = ExecuteCounted(*configuration);
    return said.ok() ? Print(*said) : Refuse(said.status());
  }
  CountOptions count;
  std::error_code error;
  count.inside = {std::filesystem::read_symlink("/proc/self/exe", error).string()};
  count.inside.insert(count.inside.end(), options.words.begin(), options.words.end());
  count.inside.push_back("--inside-valgrind");
  count.repetitions = static_cast<int>(options.repetitions);
  count.stop = InstallInterrupt();
  absl::StatusOr<CountResult> result;
  {
    Progress progress;
    count.progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    result = CountInstructions(*configuration, count);
  }
  if (absl::IsCancelled(result.status())) {
    Print("PARTIAL: interrupted before anything had been counted\n");
    return kInterrupted;
  }
  if (!result.ok()) return Refuse(result.status());
  const Environment environment = ReadEnvironment();
  const int status = PrintAs(
      *format, [&] { return CountText(*result, environment); },
      [&] { return CountJson(*result, environment); }, [&] { return CountCsv(*result); });
  return status == kOk && result->partial ? kInterrupted : status;
}

int Pft(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  auto pft = PreparePft(options);
  if (!pft.ok()) return Refuse(pft.status());
  pft->stop = InstallInterrupt();
  const auto source = SimulatedPftSource(options.machine, options.pages, pft->stop);
  if (!source.ok()) return Refuse(source.status());
  absl::StatusOr<PftTable> table;
  {
    Progress progress;
    pft->progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    table = MakePftTable(*pft, *source);
  }
  if (!table.ok()) return Refuse(table.status());
  const int status = PrintAs(
      *format, [&] { return PftText(*table); }, [&] { return PftJson(*table, ReadEnvironment()); },
      [&] { return PftCsv(*table); });
  return status == kOk && table->partial ? kInterrupted : status;
}

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

int CalibrateCommand(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const int64_t seed = options.configuration.seed.value_or(1);
  for (const absl::Status& status : {internal::CheckRange("--rounds", options.rounds, 1, 1000),
                                     internal::CheckRange("--seed", seed, 0, INT64_MAX / 1000)}) {
    if (!status.ok()) return Refuse(status);
  }
  std::optional<OutputFile> file;
  CalibrateOptions calibrate;
  if (options.has_output) {
    auto checked = OutputFile::Check(options.output);
    if (!checked.ok()) return Refuse(checked.status());
    file = *std::move(checked);
    calibrate.name = std::filesystem::path(options.output).stem().string();
  }
  calibrate.repetitions = static_cast<int>(options.rounds);
  calibrate.seed = static_cast<uint64_t>(seed);
  calibrate.stop = InstallInterrupt();
  Calibration calibration;
  {
    Progress progress;
    calibrate.progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    auto result = Calibrate(calibrate);
    if (!result.ok()) return Refuse(result.status());
    calibration = *std::move(result);
  }
  const Environment environment = ReadEnvironment();
  if (file.has_value() && !calibration.partial) {
    const absl::Status written = file->Write(MachineModelJson(calibration.model, calibration.sources));
    if (!written.ok()) return Refuse(written);
  }
  const auto text = [&] {
    std::string usage;
    if (!file.has_value()) {
      usage = "no file was written; valid: memsim calibrate --output host.json\n"
              "and then: memsim run --machine host.json\n";
    } else if (calibration.partial) {
      usage = absl::StrCat(file->path(), ": not written: interrupted\n");
    } else {
      usage = absl::StrCat(file->path(), ": written; it is used by: memsim run --machine ",
                           MachineArgument(file->path()), "\n");
    }
    return absl::StrCat(CalibrationText(calibration, environment), "\n", usage);
  };
  const int status = PrintAs(
      *format, text, [&] { return CalibrationJson(calibration, environment); },
      [&] { return CalibrationCsv(calibration); });
  return status == kOk && calibration.partial ? kInterrupted : status;
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
