// A comparison as JSON and CSV.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/report/compare_parts.h"
#include "lib/report/json.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

using Json = nlohmann::ordered_json;

// A time: an interval on native; the median, least and most of the seeds, and each of them, if simulated.
Json TimeJson(const CompareResult& r, const Interval& value, const std::vector<double>& values) {
  if (r.machine == MachineKind::kNative) return ToJson(value);
  Json json = {{"median", value.centre}, {"least", value.low}, {"most", value.high}};
  if (!values.empty()) json["by_seed"] = values;
  return json;
}

void AddVerdict(const CompareResult& r, const Compared& compared, size_t arm, Json& json) {
  if (arm == 0) return;
  json["difference"] = TimeJson(r, compared.difference, {});
  const double base = compared.verdict.base;
  json["difference_percent"] = base > 0 ? Json(100 * compared.difference.centre / base) : Json();
  if (r.machine == MachineKind::kNative) json["would_have_missed_ns"] = compared.verdict.missed;
  json["verdict"] = std::string(VerdictName(compared.verdict.kind));
  json["sentence"] = VerdictText(compared.verdict, "A", ArmLetter(arm));
}

Json ExactJson(const Verdict& exact, size_t arm) {
  return {{"instructions", exact.shown.centre},
          {"percent", exact.base > 0 ? Json(100 * exact.shown.centre / exact.base) : Json()},
          {"sentence", VerdictText(exact, "A", ArmLetter(arm))}};
}

Json PublishedJson(const ComparePublished& published) {
  Json json = {{"machine", published.machine},
               {"source", published.source},
               {"noise_ns", published.noise},
               {"differences", Json::array()}};
  for (const ComparePublished::Difference& one : published.differences) {
    json["differences"].push_back({{"kernel", one.kernel},
                                   {"throughput_ns", one.throughput ? Json(*one.throughput) : Json()},
                                   {"samples_ns", one.samples ? Json(*one.samples) : Json()}});
  }
  return json;
}

Json FunctionJson(const CompareResult& r, const CompareFunction& function) {
  Json json = {{"name", function.name},
               {"group", std::string(kCompareGroups[static_cast<size_t>(function.group)].name)},
               {"sum", function.sum},
               {"arms", Json::array()}};
  for (size_t i = 0; i < function.cells.size(); ++i) {
    const CompareFunction::Cell& cell = function.cells[i];
    Json one = {{"present", cell.present}};
    if (TimedByFunction(r)) {
      one["ns_per_page"] = TimeJson(r, cell.ns.value, cell.ns.values);
      AddVerdict(r, cell.ns, i, one);
    }
    if (function.group != CompareGroup::kOutside) {
      one["counts"] = ToJson(cell.counts);
      if (i > 0) one["exact_difference"] = ExactJson(cell.exact, i);
    }
    json["arms"].push_back(std::move(one));
  }
  return json;
}

std::string Cells(const Interval& value) {
  return absl::StrFormat(",%g,%g,%g", value.centre, value.low, value.high);
}

// The cells of one line behind its names. `counts`: null where there are none.
std::string CsvCells(const CompareResult& r, bool timed, const Compared& ns, const PerPage* counts,
                     const PerPage* first, bool base) {
  std::string text = timed ? Cells(ns.value) : ",,,";
  absl::StrAppend(&text, timed && !base ? Cells(ns.difference) : ",,,");
  const bool missed = timed && !base && r.machine == MachineKind::kNative;
  absl::StrAppend(&text, ",", missed ? absl::StrFormat("%g", ns.verdict.missed) : "", ",");
  if (!base) absl::StrAppend(&text, VerdictName(timed ? ns.verdict.kind : VerdictKind::kCounted));
  for (const PerPageField& field : kPerPageFields) {
    absl::StrAppend(&text, ",", counts == nullptr ? "" : absl::StrFormat("%g", counts->*field.value));
  }
  const bool differs = counts != nullptr && !base;
  absl::StrAppend(&text, ",",
                  differs ? absl::StrFormat("%g", counts->instructions - first->instructions) : "", "\n");
  return text;
}

}  // namespace

std::string CompareJson(const CompareResult& r, const Environment& environment) {
  constexpr const char* kKinds[] = {"native", "tracing", "simulated"};
  Json result = {{"command", CompareCommand(r)}, {"machine", kKinds[static_cast<size_t>(r.machine)]}};
  if (r.machine == MachineKind::kNative) {
    result.update({{"rounds", r.rounds},
                   {"placements", r.placements},
                   {"pages_per_slice", r.slice},
                   {"seconds", r.seconds},
                   {"control", ToJson(r.control)},
                   {"replicas", r.replicas},
                   {"sampling",
                    {{"mechanism", r.sampling.mechanism},
                     {"why", r.sampling.why},
                     {"placements", r.sampling.placements},
                     {"seconds", r.sampling.seconds},
                     {"samples", r.sampling.samples}}}});
  }
  if (r.machine == MachineKind::kNative && r.replicas == 1) result["one_place"] = r.one_place;
  if (r.machine == MachineKind::kSimulated) {
    result["seed"] = r.options.seed;
    result["seeds"] = r.seeds;
  }
  for (size_t i = 0; i < r.arms.size(); ++i) {
    const CompareArm& arm = r.arms[i];
    Json one = {{"arm", arm.text},
                {"machine", MachineOf(arm)},
                {"configuration", ToJson(arm.configuration)},
                {"counts", ToJson(arm.counts)}};
    if (Timed(r)) {
      one["ns_per_page"] = TimeJson(r, arm.total.value, arm.total.values);
      AddVerdict(r, arm.total, i, one);
      if (i > 0 && r.replicas > 1) {
        one["difference_layout_excluded"] = ToJson(arm.total.in_place);
        one["sentence_layout_excluded"] = InPlaceLine(arm.total, i);
        one["difference_by_replica"] = arm.by_replica;
      }
    }
    if (i > 0) one["exact_difference"] = ExactJson(arm.exact, i);
    if (!arm.published.differences.empty()) one["published"] = PublishedJson(arm.published);
    result["arms"].push_back(std::move(one));
  }
  result["functions"] = Json::array();
  for (const CompareFunction& function : r.functions) {
    result["functions"].push_back(FunctionJson(r, function));
  }
  return JsonDocument("memsim.compare/2", r.partial, std::move(result), environment);
}

std::string CompareCsv(const CompareResult& r) {
  std::string text =
      "arm,function,ns,ns_low,ns_high,difference,difference_low,difference_high,missed,verdict";
  for (const PerPageField& field : kPerPageFields) absl::StrAppend(&text, ",", field.name);
  text += ",instructions_difference\n";
  for (size_t i = 0; i < r.arms.size(); ++i) {
    const CompareArm& arm = r.arms[i];
    absl::StrAppend(&text, "\"", arm.text, "\",",
                    CsvCells(r, Timed(r), arm.total, &arm.counts.memcg_total,
                             &r.arms[0].counts.memcg_total, i == 0));
  }
  for (const CompareFunction& function : r.functions) {
    for (size_t i = 0; i < function.cells.size(); ++i) {
      const CompareFunction::Cell& cell = function.cells[i];
      const bool modelled = function.group != CompareGroup::kOutside;
      absl::StrAppend(&text, "\"", r.arms[i].text, "\",\"", function.name, "\"",
                      CsvCells(r, TimedByFunction(r), cell.ns, modelled ? &cell.counts : nullptr,
                               &function.cells[0].counts, i == 0));
    }
  }
  return text;
}

}  // namespace memsim
