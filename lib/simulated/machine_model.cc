// Files of models/machines/. One table says which fields there are, in which units and within which bounds;
// reading, writing and the refusal of unknown fields go by it.
#include "memsim/machine/machine_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "lib/input/model_file.h"
#include "memsim/internal/check.h"

namespace memsim {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr double kMaxTime = 1e9;                       // 1 ms: longer than any step of a fault
constexpr double kMaxCache = 1024.0 * 1024 * 1024;     // one cache
constexpr uint64_t kMaxCaches = uint64_t{4} << 30;     // of the machine: a line costs host memory
constexpr uint64_t kLine = 64;

enum class Quantity : uint8_t { kCount, kTime, kSize, kClock, kBandwidth, kRate, kFlag };

// How the value of a field becomes the integer of the model. `ghz` is for cycles alone.
struct UnitInfo {
  Quantity quantity;
  absl::string_view name;
  double (*to_model)(double value, double ghz);
};
// The first unit of a quantity is the one that is written.
constexpr UnitInfo kUnits[] = {
    {Quantity::kCount, "1", [](double v, double) { return v; }},
    {Quantity::kTime, "ns", [](double v, double) { return v * 1000; }},
    {Quantity::kTime, "cycles", [](double v, double ghz) { return v * 1000 / ghz; }},
    {Quantity::kSize, "KiB", [](double v, double) { return v * 1024; }},
    {Quantity::kSize, "MiB", [](double v, double) { return v * 1024 * 1024; }},
    {Quantity::kClock, "GHz", [](double v, double) { return 1000 / v; }},
    {Quantity::kBandwidth, "GB/s", [](double v, double) { return v == 0 ? 0 : 1000 * kLine / v; }},
    {Quantity::kRate, "Hz", [](double v, double) { return v == 0 ? 0 : 1e12 / v; }},
};

using Slot = std::variant<int*, uint64_t*, bool*>;

struct Field {
  std::string path;  // "caches.l1.size"
  Quantity quantity;
  double least, most;  // what the file may say; times in ps, sizes in bytes
  std::function<bool(const MachineModel&)> needed;  // asked when the fields before it are known
  std::function<Slot(MachineModel&)> slot;

  std::string Pointer() const { return "/" + absl::StrReplaceAll(path, {{".", "/"}}); }
};

void AddCache(const std::string& name, CacheModel MachineModel::*cache, std::vector<Field>* fields) {
  using M = MachineModel;
  const std::string at = absl::StrCat("caches.", name, ".");
  const auto exists = [cache](const M& m) { return (m.*cache).bytes != 0; };
  fields->push_back({at + "size", Quantity::kSize, 0, kMaxCache, [](const M&) { return true; },
                     [cache](M& m) { return &(m.*cache).bytes; }});
  fields->push_back({at + "ways", Quantity::kCount, 1, 128, exists,
                     [cache](M& m) { return &(m.*cache).ways; }});
  fields->push_back({at + "latency", Quantity::kTime, 0, kMaxTime, exists,
                     [cache](M& m) { return &(m.*cache).latency; }});
}

std::vector<Field> MakeFields() {
  using M = MachineModel;
  const auto always = [](const M&) { return true; };
  const auto never = [](const M&) { return false; };
  const auto if_sockets = [](const M& m) { return m.sockets > 1; };
  const auto if_siblings = [](const M& m) { return m.threads_per_core > 1; };
  const auto if_timer = [](const M& m) { return m.timer_period != 0; };
  const auto time = [](const std::string& path, uint64_t M::*member, auto needed, double least = 0) {
    return Field{path, Quantity::kTime, least, kMaxTime, needed, [member](M& m) { return &(m.*member); }};
  };
  const auto count = [](const std::string& path, int M::*member, double most, auto needed) {
    return Field{path, Quantity::kCount, 1, most, needed, [member](M& m) { return &(m.*member); }};
  };
  std::vector<Field> fields = {
      count("topology.sockets", &M::sockets, kMaxSimCpus, always),
      count("topology.cores_per_socket", &M::cores_per_socket, kMaxSimCpus, always),
      count("topology.threads_per_core", &M::threads_per_core, 16, always),
      count("topology.issue_slots", &M::issue_slots, 16, always),
      {"clock", Quantity::kClock, 0.1, 10, always, [](M& m) { return &m.cycle; }},
  };
  AddCache("l1", &M::l1, &fields);
  AddCache("l2", &M::l2, &fields);
  AddCache("l3", &M::l3, &fields);
  for (Field& field : std::vector<Field>{
           {"caches.adjacent_line", Quantity::kFlag, 0, 1, never, [](M& m) { return &m.adjacent_line; }},
           time("memory.dram", &M::dram, always),
           time("memory.dram_remote", &M::dram_remote, if_sockets),
           {"memory.bandwidth", Quantity::kBandwidth, 0.1, 1e4, never, [](M& m) { return &m.dram_line; }},
           time("memory.clear_page", &M::clear_page, always),
           {"memory.clear_lines", Quantity::kCount, 0, 4096, never, [](M& m) { return &m.clear_lines; }},
           time("transfer.smt", &M::transfer_smt, if_siblings),
           time("transfer.core", &M::transfer_core, always),
           time("transfer.socket", &M::transfer_socket, if_sockets),
           time("operations.instruction", &M::instruction, always, /*least=*/1),
           time("operations.smt_instruction", &M::smt_instruction, if_siblings, /*least=*/1),
           time("operations.rmw", &M::rmw, always),
           time("operations.call", &M::call, always),
           time("operations.irq_save", &M::irq_save, always),
           time("operations.irq_disable", &M::irq_disable, always),
           time("operations.lock_handoff", &M::lock_handoff, always),
           time("operations.ipi", &M::ipi, always),
           time("operations.tlb_shootdown", &M::tlb_shootdown, never),
           time("operations.store_forward", &M::store_forward, never),
           {"timer.rate", Quantity::kRate, 1, 1e6, never, [](M& m) { return &m.timer_period; }},
           time("timer.cost", &M::timer_cost, if_timer),
       }) {
    fields.push_back(std::move(field));
  }
  for (const StageInfo& info : kStages) {
    const auto index = static_cast<size_t>(info.stage);
    fields.push_back({absl::StrCat("stages.", info.name), Quantity::kTime, 0, kMaxTime, never,
                      [index](M& m) { return &m.stage[index]; }});
  }
  fields.push_back({"stages.data", Quantity::kSize, 0, kMaxCache, never,
                    [](M& m) { return &m.stage_data; }});
  return fields;
}

const std::vector<Field>& Fields() {
  static const auto& fields = *new std::vector<Field>(MakeFields());
  return fields;
}

std::string UnitNames(Quantity quantity) {
  std::vector<absl::string_view> names;
  for (const UnitInfo& unit : kUnits) {
    if (unit.quantity == quantity) names.push_back(unit.name);
  }
  return absl::StrJoin(names, ", ");
}

std::string Shape(Quantity quantity) {
  if (quantity == Quantity::kFlag) return R"({"value": true or false, "source": text})";
  return absl::StrCat(R"({"value": number, "unit": )", UnitNames(quantity), R"(, "source": text})");
}

std::string Range(const Field& field) {
  switch (field.quantity) {
    case Quantity::kCount: return absl::StrCat("a whole number from ", field.least, " to ", field.most);
    case Quantity::kTime: return absl::StrCat(field.least / 1000, " ns to 1 ms");
    case Quantity::kSize: return "0 to 1 GiB, in whole bytes";
    case Quantity::kClock: return "0.1 to 10 GHz";
    case Quantity::kBandwidth: return "0 (unlimited), or 0.1 to 10000 GB/s";
    case Quantity::kRate: return "0 (none), or 1 to 1000000 Hz";
    case Quantity::kFlag: return "true, false";
  }
  return "";
}

// What is printed in lists and tables.
absl::Status CheckLine(const ModelFile& file, const std::string& pointer, absl::string_view text) {
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return file.Wrong(pointer, "has a control character; valid: one line of text");
    }
  }
  return text.empty() ? file.Wrong(pointer, "is empty; valid: one line of text") : absl::OkStatus();
}

// Everything the file says has a meaning: a misspelt optional field would otherwise be its default.
absl::Status CheckNames(const ModelFile& file, const json& at, const std::string& prefix) {
  std::vector<std::string> valid, groups;
  if (prefix.empty()) valid = {"$schema", "name", "summary", "source"};
  for (const Field& field : Fields()) {
    if (!absl::StartsWith(field.path, prefix)) continue;
    const std::string rest = field.path.substr(prefix.size());
    const std::string name = rest.substr(0, rest.find('.'));
    if (valid.empty() || valid.back() != name) valid.push_back(name);
    if (name != rest && (groups.empty() || groups.back() != name)) groups.push_back(name);
  }
  const std::string here = "/" + absl::StrReplaceAll(prefix, {{".", "/"}});
  for (const auto& [name, value] : at.items()) {
    if (std::find(valid.begin(), valid.end(), name) == valid.end()) {
      const std::string quoted = Brief(json(name));
      absl::string_view bare = quoted;
      absl::ConsumePrefix(&bare, "\"");
      absl::ConsumeSuffix(&bare, "\"");
      return file.Wrong(absl::StrCat(here, bare),
                        absl::StrCat("is unknown; valid: ", absl::StrJoin(valid, ", ")));
    }
    if (std::find(groups.begin(), groups.end(), name) == groups.end()) continue;
    if (!value.is_object()) {
      return file.Wrong(here + name, absl::StrCat(Brief(value), "; valid: an object"));
    }
    if (const auto status = CheckNames(file, value, absl::StrCat(prefix, name, ".")); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ReadSource(const ModelFile& file, const Field& field, MachineModel* model) {
  const std::string pointer = field.Pointer() + "/source";
  constexpr absl::string_view kValid =
      R"(valid: where the value is from, "assumed", "assumed: why", "calibrated: to what")";
  const json* found = file.Find(pointer);
  if (found == nullptr) return file.Wrong(pointer, absl::StrCat("is missing; ", kValid));
  if (!found->is_string()) return file.Wrong(pointer, absl::StrCat(Brief(*found), "; ", kValid));
  const std::string source = found->get<std::string>();
  if (const auto status = CheckLine(file, pointer, source); !status.ok()) return status;
  constexpr absl::string_view kCalibrated = "calibrated";
  if (absl::StartsWith(source, kCalibrated)) {
    const std::string to = source.substr(kCalibrated.size());
    if (!absl::StartsWith(to, ": ")) {
      return file.Wrong(pointer, absl::StrCat(Brief(*found), " does not say to what; ", kValid));
    }
    model->calibrated.push_back(field.path + to);
  }
  if (absl::StartsWith(source, "assumed")) model->assumed.push_back(field.path);
  return absl::OkStatus();
}

absl::Status ReadField(const ModelFile& file, const Field& field, double* ghz, MachineModel* model) {
  const std::string at = field.Pointer();
  const json* found = file.Find(at);
  if (found == nullptr) {
    if (!field.needed(*model)) return absl::OkStatus();
    return file.Wrong(at, absl::StrCat("is missing; valid: ", Shape(field.quantity)));
  }
  if (!found->is_object()) {
    return file.Wrong(at, absl::StrCat(Brief(*found), "; valid: ", Shape(field.quantity)));
  }
  const bool is_flag = field.quantity == Quantity::kFlag;
  for (const auto& [name, value] : found->items()) {
    if (name == "value" || name == "source" || (name == "unit" && !is_flag)) continue;
    return file.Wrong(at, absl::StrCat("has an unknown ", Brief(json(name)), "; valid: ",
                                       Shape(field.quantity)));
  }
  if (!found->contains("value")) {
    return file.Wrong(at + "/value", absl::StrCat("is missing; valid: ", Range(field)));
  }
  const json& value = found->at("value");
  const auto wrong = [&] {
    return file.Wrong(at + "/value", absl::StrCat(Brief(value), "; valid: ", Range(field)));
  };
  const Slot slot = field.slot(*model);
  if (is_flag) {
    if (!value.is_boolean()) return wrong();
    *std::get<bool*>(slot) = value.get<bool>();
    return ReadSource(file, field, model);
  }

  const auto unit_name = file.String(at + "/unit");
  const UnitInfo* unit = nullptr;
  for (const UnitInfo& one : kUnits) {
    if (one.quantity == field.quantity && unit_name.ok() && *unit_name == one.name) unit = &one;
  }
  if (unit == nullptr) {
    const json* said = file.Find(at + "/unit");
    return file.Wrong(at + "/unit", absl::StrCat(said == nullptr ? "is missing" : Brief(*said), "; valid: ",
                                                 UnitNames(field.quantity)));
  }
  if (!value.is_number()) return wrong();
  const double number = value.get<double>();
  const bool zero_means_none =
      field.quantity == Quantity::kBandwidth || field.quantity == Quantity::kRate;
  const bool by_model = field.quantity == Quantity::kTime || field.quantity == Quantity::kSize;
  if (!std::isfinite(number)) return wrong();
  const double checked = by_model ? unit->to_model(number, *ghz) : number;
  const bool fits = checked >= field.least && checked <= field.most;
  if (!fits && !(zero_means_none && number == 0)) return wrong();
  const bool whole = field.quantity == Quantity::kCount || field.quantity == Quantity::kSize;
  if (whole && checked != std::floor(checked)) return wrong();
  if (field.quantity == Quantity::kClock) *ghz = number;
  const double result = std::round(unit->to_model(number, *ghz));
  if (auto* const* integer = std::get_if<int*>(&slot)) **integer = static_cast<int>(result);
  if (auto* const* integer = std::get_if<uint64_t*>(&slot)) **integer = static_cast<uint64_t>(result);
  return ReadSource(file, field, model);
}

std::string Ns(uint64_t ps) { return absl::StrCat(static_cast<double>(ps) / 1000, " ns"); }

absl::Status CheckCache(const ModelFile& file, const MachineModel& model, const std::string& name,
                        const CacheModel& cache, bool per_core) {
  const std::string at = "/caches/" + name;
  if (cache.bytes == 0) {
    for (const char* field : {"/ways", "/latency"}) {
      if (file.Find(at + field) == nullptr) continue;
      return file.Wrong(at + field, "there is no such cache; valid: neither ways nor latency at size 0");
    }
    return absl::OkStatus();
  }
  const uint64_t set = kLine * static_cast<uint64_t>(cache.ways);
  if (cache.bytes % set != 0 || !std::has_single_bit(cache.bytes / set)) {
    return file.Wrong(at + "/ways", absl::StrCat(cache.ways, " ways of 64-byte lines divide ", cache.bytes,
                                                 " bytes into ", static_cast<double>(cache.bytes) /
                                                                     static_cast<double>(set),
                                                 " sets; valid: ways that make a power of two"));
  }
  if (per_core && cache.ways < model.threads_per_core) {
    return file.Wrong(at + "/ways", absl::StrCat(cache.ways, "; valid: at least one for each of the ",
                                                 model.threads_per_core, " threads of a core"));
  }
  return absl::OkStatus();
}

// What no field can say alone.
absl::Status CheckWhole(const ModelFile& file, const MachineModel& model) {
  const int64_t cpus =
      int64_t{model.sockets} * model.cores_per_socket * int64_t{model.threads_per_core};
  if (cpus > kMaxSimCpus) {
    return file.Wrong("/topology", absl::StrCat(model.sockets, " sockets x ", model.cores_per_socket,
                                                " cores x ", model.threads_per_core, " threads are ", cpus,
                                                " CPUs; valid: at most ", kMaxSimCpus));
  }
  if (model.threads_per_core > model.issue_slots) {
    return file.Wrong("/topology/threads_per_core",
                      absl::StrCat(model.threads_per_core, "; valid: at most one for each of the ",
                                   model.issue_slots, " issue slots"));
  }
  const struct {
    std::string name;
    const CacheModel& cache;
    int copies;
  } caches[] = {{"l1", model.l1, model.sockets * model.cores_per_socket},
                {"l2", model.l2, model.sockets * model.cores_per_socket},
                {"l3", model.l3, model.sockets}};
  uint64_t bytes = 0;
  std::string before;
  uint64_t latency = 0;
  const auto ascends = [&](const std::string& pointer, uint64_t next) {
    absl::Status status;
    if (next < latency) {
      status = file.Wrong(pointer, absl::StrCat(Ns(next), " is less than ", Ns(latency), " of ", before,
                                                "; valid: l1 <= l2 <= l3 <= dram <= dram_remote"));
    }
    before = pointer;
    latency = next;
    return status;
  };
  for (const auto& [name, cache, copies] : caches) {
    const bool per_core = &cache != &model.l3;
    if (auto status = CheckCache(file, model, name, cache, per_core); !status.ok()) return status;
    bytes += cache.bytes * static_cast<uint64_t>(copies);
    if (cache.bytes == 0) continue;
    if (auto status = ascends("/caches/" + name + "/latency", cache.latency); !status.ok()) return status;
  }
  if (bytes > kMaxCaches) {
    return file.Wrong("/caches", absl::StrCat(bytes >> 20, " MiB in the whole machine; valid: at most ",
                                              kMaxCaches >> 20, " MiB"));
  }
  if (auto status = ascends("/memory/dram", model.dram); !status.ok()) return status;
  if (auto status = ascends("/memory/dram_remote", model.dram_remote); !status.ok()) return status;
  if (model.smt_instruction < model.instruction) {
    return file.Wrong("/operations/smt_instruction",
                      absl::StrCat(Ns(model.smt_instruction), "; valid: at least /operations/instruction, ",
                                   Ns(model.instruction)));
  }
  if (model.timer_period != 0 && model.timer_cost >= model.timer_period) {
    return file.Wrong("/timer/cost", absl::StrCat(Ns(model.timer_cost), "; valid: less than one period, ",
                                                  Ns(model.timer_period)));
  }
  return absl::OkStatus();
}

bool IsName(absl::string_view name) {
  for (const char c : name) {
    const bool good = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    if (!good) return false;
  }
  return !name.empty() && name.size() <= 32;
}

absl::StatusOr<MachineModel> Parse(const ModelFile& file) {
  if (auto status = CheckNames(file, file.json(), ""); !status.ok()) return status;
  MachineModel model;
  for (const auto& [field, to] : {std::pair{"/name", &model.name}, std::pair{"/summary", &model.summary},
                                  std::pair{"/source", &model.source}}) {
    auto text = file.String(field);
    if (!text.ok()) return text.status();
    if (auto status = CheckLine(file, field, *text); !status.ok()) return status;
    *to = *std::move(text);
  }
  const auto columns = std::count_if(model.summary.begin(), model.summary.end(),
                                     [](char c) { return (c & 0xc0) != 0x80; });
  if (columns > 80) return file.Wrong("/summary", absl::StrCat(columns, " columns; valid: at most 80"));
  if (!IsName(model.name)) {
    return file.Wrong("/name", absl::StrCat(Brief(json(model.name)),
                                            "; valid: at most 32 letters, digits, '-', '_' and '.'"));
  }
  double ghz = 1;
  for (const Field& field : Fields()) {
    if (auto status = ReadField(file, field, &ghz, &model); !status.ok()) return status;
  }
  // Where there is nobody else the costs of meeting him are not asked for.
  if (file.Find("/memory/dram_remote") == nullptr) model.dram_remote = model.dram;
  if (file.Find("/transfer/socket") == nullptr) model.transfer_socket = model.transfer_core;
  if (file.Find("/operations/smt_instruction") == nullptr) model.smt_instruction = model.instruction;
  if (auto status = CheckWhole(file, model); !status.ok()) return status;
  return model;
}

// The shortest number in the quantity's first unit that reads back as `model`.
ordered_json Number(Quantity quantity, double model) {
  const UnitInfo* unit = kUnits;
  while (unit->quantity != quantity) ++unit;
  // Inverses of kUnits: the clock, the bandwidth and the rate are their own.
  double value = model;
  if (quantity == Quantity::kTime) value = model / 1000;
  if (quantity == Quantity::kSize) value = model / 1024;
  if (quantity == Quantity::kClock) value = 1000 / model;
  if (quantity == Quantity::kBandwidth && model != 0) value = 1000 * kLine / model;
  if (quantity == Quantity::kRate && model != 0) value = 1e12 / model;
  for (int digits = 3; digits < 17; ++digits) {
    const double shorter = std::strtod(absl::StrFormat("%.*g", digits, value).c_str(), nullptr);
    if (std::round(unit->to_model(shorter, 1)) == model) {
      value = shorter;
      break;
    }
  }
  if (value == std::floor(value) && value < 1e15) return static_cast<int64_t>(value);
  return value;
}

// One quantity is one line.
void Print(const ordered_json& value, const std::string& indent, std::string* text) {
  if (!value.is_object() || value.contains("value")) {
    absl::StrAppend(text, value.dump());
    return;
  }
  absl::StrAppend(text, "{");
  const char* separator = "\n";
  for (const auto& [name, inner] : value.items()) {
    absl::StrAppend(text, separator, indent, "  \"", name, "\": ");
    Print(inner, indent + "  ", text);
    separator = ",\n";
  }
  absl::StrAppend(text, "\n", indent, "}");
}

}  // namespace

absl::StatusOr<MachineModel> LoadMachineModel(absl::string_view name) {
  const auto file = ModelFile::Open("machines", name);
  if (!file.ok()) return file.status();
  auto model = Parse(*file);
  if (!model.ok()) return model;
  model->given = std::string(name);
  // A file of models/machines/ is found by its file name, so that is what it must call itself.
  if (!ModelFile::IsPath(name) && model->name != name) {
    return file->Wrong("/name", absl::StrCat("'", model->name, "'; valid: '", name, "', as the file"));
  }
  return model;
}

absl::StatusOr<std::vector<MachineModel>> AllMachineModels() {
  const auto names = ModelFile::Names("machines");
  if (!names.ok()) return names.status();
  std::vector<MachineModel> all;
  for (const std::string& name : *names) {
    auto model = LoadMachineModel(name);
    if (!model.ok()) return model.status();
    all.push_back(*std::move(model));
  }
  return all;
}

std::string MachineModelJson(const MachineModel& model, const std::vector<FieldSource>& sources) {
  ordered_json document = {
      {"name", model.name}, {"summary", model.summary}, {"source", model.source}};
  MachineModel copy = model;  // the table's slots are not const
  size_t used = 0;
  for (const Field& field : Fields()) {
    std::string source = "assumed";
    for (const FieldSource& known : sources) {
      if (known.field != field.path) continue;
      source = known.source;
      ++used;
    }
    // A cache that is not there has a size, 0, and nothing else.
    const bool of_cache = absl::EndsWith(field.path, ".ways") || absl::EndsWith(field.path, ".latency");
    if (of_cache && !field.needed(model)) continue;
    ordered_json one;
    const Slot slot = field.slot(copy);
    if (bool* const* flag = std::get_if<bool*>(&slot)) {
      one = {{"value", **flag}, {"source", source}};
    } else {
      int* const* small = std::get_if<int*>(&slot);
      const double value =
          small != nullptr ? **small : static_cast<double>(*std::get<uint64_t*>(slot));
      const std::string units = UnitNames(field.quantity);
      one = {{"value", Number(field.quantity, value)},
             {"unit", units.substr(0, units.find(','))},
             {"source", source}};
    }
    document[ordered_json::json_pointer(field.Pointer())] = std::move(one);
  }
  MEMSIM_CHECK(used == sources.size(), "a source of a field that does not exist");
  std::string text;
  Print(document, "", &text);
  return text + "\n";
}

}  // namespace memsim
