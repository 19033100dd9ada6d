#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/report/environment_render.h"
#include "lib/report/json.h"
#include "lib/report/table.h"
#include "memsim/measure/calibrate.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

// Three digits that mean something, below a nanosecond as well.
int Digits(const CalibratedValue& value) {
  const double size = std::max(value.interval.high, value.interval.centre);
  return size < 1 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
}

std::string ModelSize(const MachineModel& m) {
  const auto cache = [](absl::string_view name, const CacheModel& c) {
    if (c.bytes == 0) return absl::StrCat("no ", name);
    return absl::StrCat(name, " ", c.bytes >> 10, " KiB, ", c.ways, " ways");
  };
  return absl::StrCat(m.sockets, m.sockets == 1 ? " socket" : " sockets", " of ", m.cores_per_socket,
                      m.cores_per_socket == 1 ? " core" : " cores", " of ", m.threads_per_core,
                      m.threads_per_core == 1 ? " thread" : " threads", "; ", cache("L1", m.l1), "; ",
                      cache("L2", m.l2), "; ", cache("L3", m.l3));
}

}  // namespace

std::string CalibrationText(const Calibration& c, const Environment& environment) {
  std::string text = PartialNote(c.partial);
  absl::StrAppend(&text, Wrap(environment.Line(), kColumns, ""), Wrap(ModelSize(c.model), kColumns, ""),
                  NotesText(environment, WhichNotes::kHarming), "\n");
  Table table("lrrll");
  double confidence = 1;  // of the least certain one
  for (const CalibratedValue& value : c.values) {
    if (value.interval.n > 0) confidence = std::min(confidence, value.interval.confidence);
  }
  table.Row({"", "value", absl::StrFormat("%.0f %% interval", 100 * confidence), "unit", "method"});
  table.Rule();
  for (const CalibratedValue& value : c.values) {
    const int digits = Digits(value);
    const bool known = value.interval.n > 0;
    table.Row({value.what, known ? Fixed(value.interval.centre, digits) : "-",
               known ? Range(value.interval, digits) : "-", value.unit,
               known ? value.method : "not measured"});
  }
  absl::StrAppend(&text, table.Text(), "\nassumed, as it cannot be seen here\n");
  Table assumed("lrl");
  for (const AssumedValue& value : c.assumed) {
    assumed.Row({absl::StrCat("  ", value.field), value.value, value.why});
  }
  absl::StrAppend(&text, assumed.Text(), "\n\"shown\" above: measured, but not in the machine file.\n");
  for (const std::string& note : c.notes) absl::StrAppend(&text, Wrap(note, kColumns, ""));
  return text;
}

std::string CalibrationJson(const Calibration& c, const Environment& environment) {
  nlohmann::ordered_json result;
  result["values"] = nlohmann::ordered_json::array();
  for (const CalibratedValue& value : c.values) {
    nlohmann::ordered_json one = {{"what", value.what}, {"unit", value.unit}};
    if (!value.field.empty()) one["field"] = value.field;
    one["value"] = ToJson(value.interval);
    one["method"] = value.method;
    result["values"].push_back(std::move(one));
  }
  result["assumed"] = nlohmann::ordered_json::array();
  for (const AssumedValue& value : c.assumed) {
    result["assumed"].push_back({{"field", value.field}, {"value", value.value}, {"why", value.why}});
  }
  result["notes"] = c.notes;
  // The file as --output writes it.
  if (!c.partial) {
    result["machine"] = nlohmann::ordered_json::parse(MachineModelJson(c.model, c.sources), nullptr,
                                                      /*allow_exceptions=*/false);
  }
  return JsonDocument("memsim.calibrate/1", c.partial, std::move(result), environment);
}

std::string CalibrationCsv(const Calibration& c) {
  std::string text = "field,what,unit,median,low,high,confidence,n,method\n";
  for (const CalibratedValue& v : c.values) {
    std::string what = v.what;
    what.erase(0, what.find_first_not_of(' '));
    const Interval& i = v.interval;
    absl::StrAppend(&text, v.field, ",\"", what, "\",", v.unit, ",", i.centre, ",", i.low, ",", i.high, ",",
                    i.confidence, ",", i.n, ",\"", v.method, "\"\n");
  }
  return text;
}

}  // namespace memsim
