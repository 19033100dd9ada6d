#include "lib/report/json.h"

#include <string>
#include <utility>

namespace memsim {

using Json = nlohmann::ordered_json;

namespace {
constexpr const char* kPartNames[kPartCount] = {"charge", "lru_batch", "uncharge"};
std::string Text(absl::string_view text) { return std::string(text); }
}  // namespace

Json ToJson(const Interval& interval) {
  return {{"median", interval.centre},
          {"low", interval.low},
          {"high", interval.high},
          {"confidence", interval.confidence},
          {"n", interval.n}};
}

Json ToJson(const Configuration& c) {
  Json json = {{"command", c.command()},
               {"kernel", Text(c.kernel->name)},
               {"source", Text(c.kernel->source)},
               {"gate", Text(GateName(c.gate))},
               {"memcg", c.memcg()},
               {"off", Text(kOffKinds[static_cast<size_t>(c.off())].name)},
               {"workload", c.workload.name},
               {"threads", c.threads},
               {"faults", c.workload.faults.n},
               {"region", c.workload.region.n},
               {"rest", Text(RestName(c.rest))},
               {"irq", Text(IrqName(c.irq))},
               {"memsw", c.memsw},
               {"seed", c.seed},
               {"batch", c.batch.value_or(c.kernel->batch).n},
               {"charge_first", c.charge_first.value_or(c.kernel->charge_first)},
               {"compiled_in", c.build.memcg}};
  if (c.chain.has_value()) json["chain"] = *c.chain;
  if (c.replica.has_value()) json["replica"] = *c.replica;
  return json;
}

Json ToJson(const Environment& e) {
  Json json = {{"cpu", e.cpu},           {"cpus", e.cpus},   {"virtual_machine", e.virtual_machine},
               {"os", e.os},             {"load", e.load},   {"compiler", e.compiler},
               {"build", e.build},       {"program", e.program}, {"static_keys", e.static_keys},
               {"time", e.time}};
  for (const EnvironmentNote& note : e.notes) {
    json["notes"].push_back(
        {{"name", note.name}, {"value", note.value}, {"effect", note.effect}, {"harms", note.harms}});
  }
  return json;
}

Json ToJson(const PerPage& counts) {
  Json json;
  for (const PerPageField& field : kPerPageFields) json[Text(field.name)] = counts.*field.value;
  return json;
}

Json ToJson(const ExactCounts& counts) {
  Json json = {{"unit", "per page, exact"}, {"pages", counts.pages}};
  json["memcg"] = ToJson(counts.memcg_total);
  json["all"] = ToJson(counts.all);
  for (size_t part = 0; part < kPartCount; ++part) {
    json["memcg_by_part"][kPartNames[part]] = ToJson(counts.memcg[part]);
    json["memcg_by_part"][kPartNames[part]]["lines"] = counts.memcg_lines[part];
  }
  for (size_t f = 0; f < kFnCount; ++f) {
    if (counts.by_function[f].instructions == 0) continue;
    json["by_function"][Text(kFunctions[f].name)] = ToJson(counts.by_function[f]);
  }
  return json;
}

Json ToJson(const Profile& p) {
  Json json = {{"configuration", ToJson(p.configuration)}};
  json["ns_per_page"] = {{"charge", ToJson(p.charge)},
                         {"uncharge", ToJson(p.uncharge)},
                         {"total", ToJson(p.total)}};
  json["irq_stand_in_ns"] = ToJson(p.irq_cost);
  json["samples"] = {{"count", p.samples},
                     {"enough", p.enough_samples()},
                     {"mechanism", p.mechanism},
                     {"why", p.mechanism_why}};
  json["functions"] = Json::array();
  for (const ProfileRow& row : p.rows) {
    Json one = {{"name", row.name}, {"samples", row.samples}};
    if (p.enough_samples()) {
      one["share"] = {{"value", row.share.centre}, {"low", row.share.low}, {"high", row.share.high}};
      one["self_ns"] = p.SelfNs(row);
    }
    json["functions"].push_back(std::move(one));
  }
  json["counts"] = ToJson(p.counts);
  return json;
}

Json ToJson(const Comparison2015& comparison) {
  Json json = {{"seed", comparison.seed},
               {"rounds", comparison.rounds},
               {"placements", comparison.placements}};
  json["published"] = {{"name", comparison.published.name},
                       {"machine", comparison.published.machine},
                       {"source", comparison.published.source},
                       {"columns", Json::array()}};
  for (const PublishedProfile::Column& column : comparison.published.columns) {
    json["published"]["columns"].push_back({{"id", column.id},
                                            {"kernel", column.kernel},
                                            {"memcg", column.memcg},
                                            {"total_percent", column.total},
                                            {"ns_per_fault", column.ns_per_fault},
                                            {"percent", column.percent}});
  }
  json["profiles"] = Json::array();
  for (const Profile& profile : comparison.profiles) json["profiles"].push_back(ToJson(profile));
  json["arms"] = Json::array();
  for (const TimedArm& arm : comparison.arms) {
    json["arms"].push_back({{"configuration", ToJson(arm.configuration)},
                            {"ns_per_page", ToJson(arm.total)},
                            {"added_ns_per_page", ToJson(arm.added)},
                            {"counts", ToJson(arm.counts.memcg_total)}});
  }
  json["disabled_share_of_enabled"] = ToJson(comparison.residue);
  json["irq_stand_in_ns"] = ToJson(comparison.irq_cost);
  json["real_fault_ns"] = ToJson(comparison.real_fault);
  return json;
}

namespace {

Json ToJson(const SeedSpread& spread) {
  return {{"value", spread.value}, {"low", spread.low}, {"high", spread.high}, {"seeds", spread.n}};
}

// A hole is null.
Json ToJson(const std::optional<double>& value) { return value.has_value() ? Json(*value) : Json(); }

Json ToJson(const PftTotals& totals) {
  Json json;
  for (size_t i = 0; i < totals.size(); ++i) json[Text(kPftTotals[i])] = ToJson(totals[i]);
  return json;
}

Json RowJson(PftMetric metric, int clients) {
  return {{"metric", Text(kPftMetrics[static_cast<size_t>(metric)].name)}, {"clients", clients}};
}

Json CellJson(const PftTable& table, const PftRow& row, size_t column) {
  const PftCell& cell = *row.cells[column];
  Json json = RowJson(row.metric, row.clients);
  json["column"] = PftColumnName(table.columns[column].configuration);
  json["rate"] = ToJson(cell.rate);
  json["by_seed"] = cell.rates;
  json["percent_to_first"] = ToJson(row.PercentToFirst(column));
  json["published"] = ToJson(cell.published);
  json["error_percent"] = ToJson(cell.error);
  json["calibrated"] = cell.calibrated;
  return json;
}

Json ColumnJson(const PftColumn& column) {
  Json json = {{"column", PftColumnName(column.configuration)},
               {"kernel", Text(column.configuration.kernel->name)},
               {"memcg", column.configuration.memcg()},
               {"gate", Text(GateName(column.configuration.gate))},
               {"published", column.published.empty() ? Json() : Json(column.published)},
               {"seconds", ToJson(column.totals)}};
  for (const PftMetricInfo& metric : kPftMetrics) {
    const PftMeanError& error = column.error[static_cast<size_t>(metric.metric)];
    json["mean_absolute_error"][Text(metric.name)] = {
        {"percent", error.cells > 0 ? Json(error.percent) : Json()},
        {"cells", error.cells},
        {"calibrated_left_out", error.left_out}};
  }
  return json;
}

}  // namespace

Json ToJson(const PublishedThroughput& published) {
  Json json = {{"name", published.name},
               {"machine", published.machine},
               {"model", published.model},
               {"source", published.source},
               {"noise_percent", published.noise},
               {"noise_source", published.noise_source},
               {"columns", Json::array()}};
  for (const PublishedThroughput::Column& column : published.columns) {
    Json one = {{"id", column.id},
                {"title", column.title},
                {"kernel", column.kernel},
                {"memcg", column.memcg},
                {"source", column.source},
                {"seconds", ToJson(column.totals)}};
    for (const auto& [cell, rate] : column.rates) one["rates"][column.CellId(cell.first, cell.second)] = rate;
    json["columns"].push_back(std::move(one));
  }
  return json;
}

Json ToJson(const PftTable& table) {
  Json json = {{"command", table.command}, {"machine", table.machine.name}, {"pages_per_client", table.pages},
               {"clients", table.clients}, {"seeds", table.seeds},          {"seed", table.seed}};
  json["calibrated"] = Json::array();
  for (const PftCalibration& one : table.machine.calibrated) {
    json["calibrated"].push_back({{"cell", one.cell.empty() ? Json() : Json(one.cell)}, {"text", one.text}});
  }
  for (const char* list : {"columns", "cells", "differences"}) json[list] = Json::array();
  for (const PftColumn& column : table.columns) json["columns"].push_back(ColumnJson(column));
  for (const PftRow& row : table.rows) {
    for (size_t column = 0; column < row.cells.size(); ++column) {
      if (row.cells[column].has_value()) json["cells"].push_back(CellJson(table, row, column));
    }
  }
  for (const PftDifference& difference : table.differences) {
    Json one = RowJson(difference.metric, difference.clients);
    one["enabled"] = PftColumnName(table.columns[difference.enabled].configuration);
    one["disabled"] = PftColumnName(table.columns[difference.disabled].configuration);
    one["simulated_percent"] = ToJson(difference.simulated);
    one["published_percent"] = ToJson(difference.published);
    one["verdict"] = Text(VerdictName(difference.verdict));
    json["differences"].push_back(std::move(one));
  }
  json["published"] = table.comparable ? ToJson(table.published) : Json();
  return json;
}

std::string JsonText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string JsonDocument(absl::string_view schema, bool partial, Json result,
                         const Environment& environment) {
  const Json document = {{"schema", Text(schema)},
                         {"partial", partial},
                         {"result", std::move(result)},
                         {"environment", ToJson(environment)}};
  return JsonText(document);
}

}  // namespace memsim
