#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/report/json.h"
#include "lib/report/table.h"
#include "memsim/report/count.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<FnGroup, absl::string_view> kGroups[] = {
    {FnGroup::kMemcg, "mm/memcontrol.c"},
    {FnGroup::kCounter, "mm/page_counter.c"},
    {FnGroup::kRest, "the fault around it"}};

absl::string_view TitleOf(FnGroup group) {
  for (const auto& [one, title] : kGroups) {
    if (one == group) return title;
  }
  return "?";
}

std::string Heading(const CountResult& r, const Environment& environment) {
  const Configuration& c = r.configuration;
  std::string text = PartialNote(r.partial);
  absl::StrAppend(&text, Wrap(r.command(), kColumns, ""), Wrap(environment.Line(), kColumns, ""),
                  "\n");
  absl::StrAppend(&text, c.kernel->name, ", gate ", GateName(c.gate), ", memcg ", c.memcg(), " (",
                  kOffKinds[static_cast<size_t>(c.off())].name, "), rest ", RestName(c.rest), "\n");
  absl::StrAppend(&text,
                  Wrap(absl::StrCat("static keys under valgrind: ", r.static_keys,
                                    c.gate == GateKind::kStaticKey ? "" : " (this gate uses none)"),
                       kColumns, ""));
  absl::StrAppend(&text,
                  Wrap(absl::StrCat(r.valgrind, " --tool=callgrind --smc-check=all, counted over ",
                                    absl::StrFormat("%.0f", r.pages), " pages"),
                       kColumns, ""));
  return text;
}

std::vector<std::string> Cells(absl::string_view name, const CountedRow& row) {
  return {std::string(name), Count(row.calls), Count(row.charge, 2), Count(row.uncharge, 2),
          Count(row.total, 2)};
}

std::string Functions(const CountResult& r) {
  Table table("lrrrrrr");
  table.Row({"", "", "", "", "", "model", "model"});
  table.Row(
      {"instructions per page, exact", "calls", "charge", "uncharge", "total", "calls", "insns"});
  for (const auto& [group, title] : kGroups) {
    PerPage model;
    std::vector<std::vector<std::string>> rows;
    for (const CountedRow& row : r.rows) {
      if (row.fn == Fn::kCount || Info(row.fn).group != group) continue;
      const PerPage& of_model = *r.Model(row);
      std::vector<std::string> cells = Cells(absl::StrCat("  ", row.name), row);
      cells.push_back(Count(of_model.calls));
      cells.push_back(Count(of_model.instructions, 2));
      rows.push_back(std::move(cells));
      model.instructions += of_model.instructions;
      model.calls += of_model.calls;
    }
    if (rows.empty()) continue;
    table.Rule();
    std::vector<std::string> sum = Cells(title, r.Sum(group));
    sum.push_back(Count(model.calls));
    sum.push_back(Count(model.instructions, 2));
    table.Row(sum);
    for (std::vector<std::string>& row : rows) table.Row(std::move(row));
  }
  table.Rule();
  for (const CountedRow& row : r.rows) {
    if (row.fn == Fn::kCount) table.Row(Cells(row.name, row));
  }
  CountedRow all = r.All();
  all.calls = 0;
  std::vector<std::string> last = Cells("all", all);
  last[1].clear();
  table.Row(last);
  return absl::StrCat(
      "\n", table.Text(),
      Wrap("charge, uncharge: what is done below handle_mm_fault and below zap_pte_range. "
           "model: what the tracing machine counts for the kernel's own build, frame "
           "pointers and tracer included, where this program has what its compiler made of "
           "the same steps.",
           kColumns, "  "));
}

std::string Hardware(const CountResult& r) {
  Table table("lrl");
  for (const HardwareRow& row : r.hardware) {
    if (row.per_page.n == 0) {
      table.Row({absl::StrCat("  ", row.name), "", absl::StrCat("not available (", row.why, ")")});
    } else {
      const int digits = row.per_page.centre < 10 ? 4 : 1;
      table.Row({absl::StrCat("  ", row.name), Fixed(row.per_page.centre, digits),
                 Range(row.per_page, digits)});
    }
  }
  int repetitions = 0;
  double confidence = 0;
  for (const HardwareRow& row : r.hardware) {
    if (row.per_page.n == 0) continue;
    repetitions = row.per_page.n;
    confidence = row.per_page.confidence;
  }
  const std::string how =
      repetitions == 0
          ? ""
          : absl::StrFormat(", median of %d repetition%s with its %.0f %% interval", repetitions,
                            repetitions == 1 ? "" : "s", 100 * confidence);
  return absl::StrCat(
      "\n",
      Wrap(absl::StrCat("hardware counters per page, user space, without valgrind", how), kColumns,
           ""),
      table.Text());
}

Json ToJson(const CountedRow& row) {
  return {
      {"calls", row.calls},
      {"instructions", {{"charge", row.charge}, {"uncharge", row.uncharge}, {"total", row.total}}}};
}

}  // namespace

std::string CountText(const CountResult& result, const Environment& environment) {
  return absl::StrCat(Heading(result, environment), Functions(result), Hardware(result));
}

std::string CountJson(const CountResult& r, const Environment& environment) {
  Json result = {{"command", r.command()},
                 {"configuration", ToJson(r.configuration)},
                 {"valgrind", {{"version", r.valgrind}, {"static_keys", r.static_keys}}},
                 {"pages", r.pages}};
  for (const CountedRow& row : r.rows) {
    Json one = {{"name", row.name}};
    if (row.fn != Fn::kCount) one["group"] = std::string(TitleOf(Info(row.fn).group));
    one.update(ToJson(row));
    if (const PerPage* model = r.Model(row); model != nullptr) one["model"] = ToJson(*model);
    result["functions"].push_back(std::move(one));
  }
  for (const auto& [group, title] : kGroups) {
    result["groups"].push_back({{"name", std::string(title)}});
    result["groups"].back().update(ToJson(r.Sum(group)));
  }
  result["all"] = ToJson(r.All())["instructions"];
  for (const HardwareRow& row : r.hardware) {
    Json one = {{"name", std::string(row.name)}};
    if (row.per_page.n == 0)
      one["not_available"] = row.why;
    else
      one["per_page"] = ToJson(row.per_page);
    result["hardware"].push_back(std::move(one));
  }
  return JsonDocument("memsim.count/1", r.partial, std::move(result), environment);
}

std::string CountCsv(const CountResult& r) {
  std::string text =
      "kernel,gate,memcg,function,calls,charge,uncharge,instructions,model_calls,model_"
      "instructions\n";
  const Configuration& c = r.configuration;
  for (const CountedRow& row : r.rows) {
    const PerPage* model = r.Model(row);
    absl::StrAppendFormat(&text, "%s,%s,%s,\"%s\",%g,%g,%g,%g,%s,%s\n", c.kernel->name,
                          GateName(c.gate), c.memcg(), row.name, row.calls, row.charge,
                          row.uncharge, row.total,
                          model == nullptr ? "" : absl::StrCat(model->calls),
                          model == nullptr ? "" : absl::StrCat(model->instructions));
  }
  return text;
}

}  // namespace memsim
