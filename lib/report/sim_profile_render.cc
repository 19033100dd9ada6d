#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/report/json.h"
#include "lib/report/table.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostCauses = 8;   // columns; the smallest others are taken together
constexpr size_t kRunLines = 5;     // cache lines that `run` shows
constexpr size_t kLinesLines = 12;  // and `lines`
constexpr double kHiddenNs = 0.005;

std::string Percent(double share) { return Fixed(100 * share, 2); }

// "12.3…12.9"; empty where the seeds agree to the digits shown.
std::string SpreadText(const Spread& spread, int digits, double scale = 1) {
  const std::string least = Fixed(spread.least * scale, digits);
  const std::string most = Fixed(spread.most * scale, digits);
  return least == most ? "" : absl::StrCat(least, "…", most);
}

std::string CpusText(const MachineModel& m) {
  return absl::StrCat(m.sockets, m.sockets == 1 ? " socket of " : " sockets of ", m.cores_per_socket,
                      m.cores_per_socket == 1 ? " core of " : " cores of ", m.threads_per_core,
                      m.threads_per_core == 1 ? " thread" : " threads");
}

std::string Heading(const SimProfile& p, const Environment& environment) {
  const Configuration& c = p.configuration;
  const OffInfo& off = kOffKinds[static_cast<size_t>(c.off())];
  std::string text = PartialNote(p.partial);
  absl::StrAppend(&text, Wrap(p.command, kColumns, ""), Wrap(environment.Line(), kColumns, ""), "\n");
  absl::StrAppend(
      &text, Wrap(absl::StrCat(c.kernel->name, ", gate ", GateName(c.gate), ", memcg ", c.memcg(), " (",
                               off.name, "), on ", c.machine->name, ": ", CpusText(*c.machine), "; ",
                               c.threads, " of ", c.machine->cpus(), " CPUs run"),
                  kColumns, ""));
  absl::StrAppend(&text, Wrap(absl::StrCat("simulated, exact for its seeds; ", p.seeds, " seed",
                                           p.seeds == 1 ? "" : "s", " from ", c.seed,
                                           ", the spread over them after each number; caches start empty"),
                              kColumns, ""));
  for (const std::string& fitted : c.machine->calibrated) {
    absl::StrAppend(&text, Wrap(absl::StrCat("fitted: ", fitted), kColumns, "  "));
  }
  if (!c.machine->assumed.empty()) {
    absl::StrAppend(
        &text, Wrap(absl::StrCat("assumed: ", absl::StrJoin(c.machine->assumed, ", ")), kColumns, "  "));
  }
  return text;
}

std::string Times(const SimProfile& p) {
  Table table("lrlr");
  const auto row = [&](absl::string_view what, const Spread& spread) {
    table.Row({absl::StrCat("  ", what), Ns(spread.mean), SpreadText(spread, 2),
               absl::StrCat(Fixed(1000 / spread.mean, 3), " M/s")});
  };
  const bool apart = p.uncharge.mean > 0;
  row(apart ? "charge (fault)" : "charge and uncharge", p.charge);
  if (apart) row("uncharge (unmap)", p.uncharge);
  row("the whole run", p.total);
  return absl::StrCat("\nCPU time per page in ns; rate per CPU-second\n", table.Text());
}

enum class Group : uint8_t { kMemcg, kCounter, kRest, kStage };
Group GroupOf(size_t row) {
  if (row >= kFnCount) return Group::kStage;
  switch (Info(static_cast<Fn>(row)).group) {
    case FnGroup::kMemcg:
      return Group::kMemcg;
    case FnGroup::kCounter:
      return Group::kCounter;
    case FnGroup::kRest:
      break;
  }
  return Group::kRest;
}
constexpr std::pair<Group, absl::string_view> kGroups[] = {{Group::kMemcg, "mm/memcontrol.c"},
                                                           {Group::kCounter, "mm/page_counter.c"},
                                                           {Group::kRest, "the fault around it"},
                                                           {Group::kStage, "the fault outside the model"}};

struct GroupSums {
  double ns = 0, share = 0, sampled = 0;
  int rows = 0;
};
GroupSums SumOf(const SimProfile& p, Group group) {
  GroupSums sums;
  for (const SimRow& row : p.rows) {
    if (GroupOf(row.row) != group) continue;
    sums.ns += row.ns.mean;
    sums.share += row.share.mean;
    sums.sampled += row.sampled.mean;
    ++sums.rows;
  }
  return sums;
}

// The three views side by side.
std::string Views(const SimProfile& p) {
  const bool marginal = p.memcg_marginal.has_value();
  std::string text =
      absl::StrCat("\nby function, per page: attributed (where the time went) and sampled (where ",
                   p.sampler == SamplerKind::kTimer ? "a timer's" : "an NMI's", " samples land, ",
                   Fixed(p.samples, 0), " of them)");
  if (marginal) {
    absl::StrAppend(&text, ", marginal (what goes when it is muted; *: all of the controller at once)");
  }
  text = Wrap(text, kColumns, "");
  const PublishedProfile::Column* published = p.published.has_value() ? &p.published->column : nullptr;
  if (published != nullptr) {
    absl::StrAppend(
        &text, Wrap(absl::StrCat("% publ.: ", published->id, ", ", p.published->source), kColumns, ""));
  }
  Table table(absl::StrCat("lrrrrr", published != nullptr ? "r" : "", marginal ? "rl" : ""));
  std::vector<std::string> heading = {"function", "calls", "insns", "ns", "% attr.", "% sampled"};
  if (published != nullptr) heading.push_back("% publ.");
  if (marginal) {
    heading.push_back("ns marginal");
    heading.push_back("");
  }
  table.Row(heading);
  for (const auto& [group, title] : kGroups) {
    const GroupSums sums = SumOf(p, group);
    if (sums.rows == 0) continue;
    table.Rule();
    std::vector<std::string> cells = {std::string(title),   "", "", Ns(sums.ns), Percent(sums.share),
                                      Percent(sums.sampled)};
    if (published != nullptr) cells.push_back(group == Group::kMemcg ? Fixed(published->total, 2) : "");
    if (marginal && group == Group::kMemcg) {
      cells.push_back(Ns(p.memcg_marginal->mean));
      cells.push_back("*");
    }
    table.Row(cells);
    for (const SimRow& row : p.rows) {
      if (GroupOf(row.row) != group) continue;
      if (row.ns.mean < kHiddenNs && row.sampled.mean < 1e-5) continue;
      cells = {absl::StrCat("  ", SimRowName(row.row))};
      const bool function = row.row < kFnCount;
      cells.push_back(function ? Count(row.calls, 3) : "");
      cells.push_back(function ? Count(row.instructions, 1) : "");
      cells.push_back(Ns(row.ns.mean));
      cells.push_back(Percent(row.share.mean));
      cells.push_back(Percent(row.sampled.mean));
      if (published != nullptr) {
        const auto percent = published->percent.find(std::string(SimRowName(row.row)));
        cells.push_back(percent == published->percent.end() ? "" : Fixed(percent->second, 2));
      }
      if (row.marginal.has_value()) {
        cells.push_back(Ns(row.marginal->mean));
        cells.push_back(SpreadText(*row.marginal, 2));
      }
      table.Row(cells);
    }
  }
  absl::StrAppend(&text, table.Text());
  absl::StrAppend(
      &text, Wrap(absl::StrCat(
                      "the controller: ", Ns(p.memcg.mean), " ns, ", Percent(p.memcg_share.mean),
                      " % attributed (", Range({0, p.memcg_share.least, p.memcg_share.most, 0, 0}, 2, 100),
                      " %), ", Percent(p.memcg_sampled.mean), " % sampled (",
                      Range({0, p.memcg_sampled.least, p.memcg_sampled.most, 0, 0}, 2, 100), " %)"),
                  kColumns, "  "));
  if (published != nullptr) {
    absl::StrAppend(&text, "  published: ", Fixed(published->total, 2), " %; the order of the ",
                    published->percent.size(), " functions correlates with ours by ",
                    Fixed(p.published->rank_correlation, 2), " (Spearman)\n");
  }
  return text;
}

// Causes worth a column, in their order; the others' sum comes last.
std::vector<size_t> ColumnsOf(const SimProfile& p) {
  std::vector<size_t> causes;
  for (size_t c = 0; c < kCauseCount; ++c) {
    if (p.causes[c] >= kHiddenNs) causes.push_back(c);
  }
  if (causes.size() > kMostCauses) {
    std::stable_sort(causes.begin(), causes.end(),
                     [&](size_t a, size_t b) { return p.causes[a] > p.causes[b]; });
    causes.resize(kMostCauses);
    std::sort(causes.begin(), causes.end());
  }
  return causes;
}

std::string Causes(const SimProfile& p) {
  const std::vector<size_t> columns = ColumnsOf(p);
  std::string align = "lr" + std::string(columns.size() + 1, 'r');
  Table table(align);
  std::vector<std::string> heading = {"ns per page by cause", "all"};
  for (const size_t c : columns) heading.emplace_back(kCauses[c].heading);
  double hidden = 0;
  const auto row = [&](absl::string_view name, const std::array<double, kCauseCount>& causes) {
    double all = 0, shown = 0;
    for (const double ns : causes) all += ns;
    std::vector<std::string> cells = {std::string(name), Fixed(all, 1)};
    for (const size_t c : columns) {
      shown += causes[c];
      cells.push_back(causes[c] < kHiddenNs ? "." : Fixed(causes[c], causes[c] < 10 ? 2 : 1));
    }
    hidden = std::max(hidden, all - shown);
    if (all - shown >= kHiddenNs) cells.push_back(Fixed(all - shown, 2));
    table.Row(cells);
  };
  double other = 0;
  for (size_t c = 0; c < kCauseCount; ++c) {
    if (std::find(columns.begin(), columns.end(), c) == columns.end()) other += p.causes[c];
  }
  if (other >= kHiddenNs) heading.emplace_back("other");
  table.Row(heading);
  row("the whole run", p.causes);
  row("the controller", p.memcg_causes);
  table.Rule();
  for (const SimRow& one : p.rows) {
    if (one.ns.mean < std::max(0.002 * p.total.mean, 0.05) && !IsMemcgRow(one.row)) continue;
    if (one.ns.mean < 0.05) continue;
    row(absl::StrCat("  ", SimRowName(one.row)), one.causes);
  }
  return absl::StrCat("\n", table.Text());
}

// Upper end of the bucket in which a share of the charges is reached, ns.
double Quantile(const ChargeTimes::Kind& kind, double share) {
  uint64_t seen = 0;
  for (size_t b = 0; b < kind.histogram.size(); ++b) {
    seen += kind.histogram[b];
    if (static_cast<double>(seen) >= share * static_cast<double>(kind.n)) {
      return std::min(std::exp2(static_cast<double>(b + 1) / 2), static_cast<double>(kind.worst)) * 1e-3;
    }
  }
  return static_cast<double>(kind.worst) * 1e-3;
}

std::string Charges(const SimProfile& p) {
  uint64_t all = 0;
  for (const ChargeTimes::Kind& kind : p.charges.kind) all += kind.n;
  if (all == 0) return "";
  Table table("lrrrrr");
  table.Row({"time in the controller, one fault, ns", "% of faults", "mean", "half under", "99 % under",
             "worst"});
  for (size_t k = kChargeKindCount; k-- > 0;) {
    const ChargeTimes::Kind& kind = p.charges.kind[k];
    if (kind.n == 0) continue;
    table.Row({absl::StrCat("  ", kChargeKindNames[k]),
               Fixed(100 * static_cast<double>(kind.n) / static_cast<double>(all), 3),
               Ns(static_cast<double>(kind.sum) * 1e-3 / static_cast<double>(kind.n)),
               Ns(Quantile(kind, 0.5)), Ns(Quantile(kind, 0.99)),
               Ns(static_cast<double>(kind.worst) * 1e-3)});
  }
  return absl::StrCat("\n", table.Text());
}

std::string LineName(const SimLine& line) {
  return line.offset == 0 ? line.name : absl::StrCat(line.name, "+", line.offset);
}

std::string ShortLines(const SimProfile& p) {
  Table table("lrrrrl");
  table.Row({"hottest cache lines, per page", "ns", "misses", "xfers", "lock ns", "fields that miss"});
  size_t shown = 0;
  for (const SimLine& line : p.lines) {
    if (shown == kRunLines || line.ns < kHiddenNs) break;
    ++shown;
    std::vector<std::string> fields;
    for (const SimLine::Field& field : line.fields) {
      if (field.misses > 0 && fields.size() < 3 &&
          std::find(fields.begin(), fields.end(), field.name) == fields.end()) {
        fields.push_back(field.name);
      }
    }
    table.Row({absl::StrCat("  ", LineName(line)), Ns(line.ns), Count(line.misses, 3),
               Count(line.transfers, 3), line.lock_wait_ns < kHiddenNs ? "." : Ns(line.lock_wait_ns),
               absl::StrJoin(fields, " ")});
  }
  if (shown == 0) return "";
  return absl::StrCat("\n", table.Text(), "  more: memsim lines\n");
}

std::string Effort(const SimProfile& p) {
  return absl::StrCat(
      "\n", Wrap(absl::StrCat(p.accesses, " accesses simulated", p.strict ? " in strict order" : "", "; ",
                              p.runs - p.seeds, " rehearsal", p.runs - p.seeds == 1 ? "" : "s", ", ",
                              p.ordered_lines, " lines in strict order"),
                 kColumns, ""));
}

Json SpreadJson(const Spread& spread) {
  return {{"mean", spread.mean}, {"least", spread.least}, {"most", spread.most}};
}

Json CausesJson(const std::array<double, kCauseCount>& causes) {
  Json json;
  for (size_t c = 0; c < kCauseCount; ++c) json[std::string(kCauses[c].name)] = causes[c];
  return json;
}

Json LinesJson(const SimProfile& p) {
  Json json = Json::array();
  for (const SimLine& line : p.lines) {
    Json one = {{"line", line.name},
                {"offset", line.offset},
                {"ns", line.ns},
                {"lock_wait_ns", line.lock_wait_ns},
                {"transfers", line.transfers},
                {"misses", line.misses}};
    for (const SimLine::Field& field : line.fields) {
      one["fields"].push_back({{"field", field.name},
                               {"reads", field.reads},
                               {"writes", field.writes},
                               {"misses", field.misses},
                               {"ns", field.ns}});
    }
    for (const SimLine::Pair& pair : line.pairs) {
      one["pairs"].push_back({{"waiter", pair.waiter},
                              {"writer", pair.writer},
                              {"per_page", pair.per_page},
                              {"false_sharing", pair.false_sharing}});
    }
    json.push_back(std::move(one));
  }
  return json;
}

Json ResultJson(const SimProfile& p) {
  Json json = {{"configuration", ToJson(p.configuration)},
               {"machine", p.configuration.machine->name},
               {"calibrated", p.configuration.machine->calibrated},
               {"assumed", p.configuration.machine->assumed},
               {"seeds", p.seeds},
               {"sampler", std::string(SamplerName(p.sampler))},
               {"sample_period_ns", p.period_ns},
               {"samples", p.samples},
               {"pages", p.pages}};
  json["configuration"]["command"] = p.command;
  if (p.published.has_value()) {
    json["published"] = {{"id", p.published->column.id},
                         {"source", p.published->source},
                         {"total_percent", p.published->column.total},
                         {"percent", p.published->column.percent},
                         {"rank_correlation", p.published->rank_correlation}};
  }
  json["ns_per_page"] = {{"charge", SpreadJson(p.charge)},
                         {"uncharge", SpreadJson(p.uncharge)},
                         {"total", SpreadJson(p.total)}};
  json["memcg"] = {{"ns", SpreadJson(p.memcg)},
                   {"share", SpreadJson(p.memcg_share)},
                   {"sampled", SpreadJson(p.memcg_sampled)},
                   {"causes", CausesJson(p.memcg_causes)}};
  if (p.memcg_marginal.has_value()) json["memcg"]["marginal_ns"] = SpreadJson(*p.memcg_marginal);
  json["causes"] = CausesJson(p.causes);
  for (const SimRow& row : p.rows) {
    Json one = {{"name", std::string(SimRowName(row.row))}, {"ns", SpreadJson(row.ns)},
                {"share", SpreadJson(row.share)},           {"sampled", SpreadJson(row.sampled)},
                {"causes", CausesJson(row.causes)},         {"calls", row.calls},
                {"instructions", row.instructions}};
    if (row.marginal.has_value()) one["marginal_ns"] = SpreadJson(*row.marginal);
    json["functions"].push_back(std::move(one));
  }
  json["charges"] = Json::array();
  for (size_t k = 0; k < kChargeKindCount; ++k) {
    const ChargeTimes::Kind& kind = p.charges.kind[k];
    if (kind.n == 0) continue;
    json["charges"].push_back(
        {{"kind", std::string(kChargeKindNames[k])},
         {"count", kind.n},
         {"mean_ns", static_cast<double>(kind.sum) * 1e-3 / static_cast<double>(kind.n)},
         {"worst_ns", static_cast<double>(kind.worst) * 1e-3},
         {"half_octaves_from_1_ps", kind.histogram}});
  }
  json["lines"] = LinesJson(p);
  json["simulation"] = {{"accesses", p.accesses},
                        {"accesses_of_all_runs", p.all_accesses},
                        {"runs", p.runs},
                        {"ordered_lines", p.ordered_lines},
                        {"strict", p.strict}};
  return json;
}

}  // namespace

std::string SimProfileText(const SimProfile& p, const Environment& environment) {
  return absl::StrCat(Heading(p, environment), Times(p), Views(p), Causes(p), Charges(p), ShortLines(p),
                      Effort(p));
}

std::string SimProfileJson(const SimProfile& p, const Environment& environment) {
  return JsonDocument("memsim.simulate/1", p.partial, ResultJson(p), environment);
}

std::string SimProfileCsv(const SimProfile& p) {
  std::string text =
      "machine,kernel,gate,memcg,threads,function,ns,share,sampled,marginal_ns,calls,instructions";
  for (const CauseInfo& cause : kCauses) absl::StrAppend(&text, ",", cause.name, "_ns");
  text += "\n";
  const Configuration& c = p.configuration;
  for (const SimRow& row : p.rows) {
    absl::StrAppendFormat(&text, "%s,%s,%s,%s,%d,\"%s\",%g,%g,%g,%s,%g,%g", c.machine->name,
                          std::string(c.kernel->name), std::string(GateName(c.gate)), c.memcg(), c.threads,
                          std::string(SimRowName(row.row)), row.ns.mean, row.share.mean, row.sampled.mean,
                          row.marginal.has_value() ? absl::StrFormat("%g", row.marginal->mean) : "",
                          row.calls, row.instructions);
    for (const double ns : row.causes) absl::StrAppendFormat(&text, ",%g", ns);
    text += "\n";
  }
  return text;
}

std::string SimLinesText(const SimProfile& p, const Environment& environment) {
  std::string text = Heading(p, environment);
  absl::StrAppend(
      &text, "\n",
      Wrap("The hottest cache lines, as perf c2c shows them. Per page: ns waited, accesses that "
           "left the core, and of these the ones that took the line from another CPU. Reads and "
           "writes are counts of the first seed's run.",
           kColumns, ""));
  size_t shown = 0;
  for (const SimLine& line : p.lines) {
    if (shown == kLinesLines || line.ns < kHiddenNs) break;
    ++shown;
    absl::StrAppend(&text, "\n", LineName(line), ": ", Ns(line.ns), " ns, ", Count(line.misses, 3),
                    " misses, ", Count(line.transfers, 3), " transfers",
                    line.lock_wait_ns < kHiddenNs
                        ? ""
                        : absl::StrCat(", ", Ns(line.lock_wait_ns), " ns of it in a lock's queue"),
                    "\n");
    Table table("lrrrr");
    table.Row({"  field", "reads", "writes", "misses/page", "ns/page"});
    for (const SimLine::Field& field : line.fields) {
      table.Row({absl::StrCat("  ", field.name), absl::StrCat(field.reads), absl::StrCat(field.writes),
                 Count(field.misses, 4), field.ns < kHiddenNs ? "." : Ns(field.ns)});
    }
    absl::StrAppend(&text, table.Text());
    size_t pairs = 0;
    for (const SimLine::Pair& pair : line.pairs) {
      if (pairs++ == 4) break;
      absl::StrAppend(&text, "  ", pair.waiter, " waited for a CPU that had written ", pair.writer, ": ",
                      Count(pair.per_page, 4), " a page", pair.false_sharing ? " (false sharing)" : "",
                      "\n");
    }
  }
  if (shown == 0) text += "\nno access left a core\n";
  return text + Effort(p);
}

std::string SimLinesJson(const SimProfile& p, const Environment& environment) {
  Json result = {{"configuration", ToJson(p.configuration)},
                 {"machine", p.configuration.machine->name},
                 {"pages", p.pages},
                 {"lines", LinesJson(p)}};
  result["configuration"]["command"] = p.command;
  return JsonDocument("memsim.lines/1", p.partial, std::move(result), environment);
}

std::string SimLinesCsv(const SimProfile& p) {
  std::string text = "line,offset,line_ns,transfers,line_misses,field,reads,writes,misses,ns\n";
  for (const SimLine& line : p.lines) {
    for (const SimLine::Field& field : line.fields) {
      absl::StrAppendFormat(&text, "\"%s\",%d,%g,%g,%g,%s,%d,%d,%g,%g\n", line.name, line.offset, line.ns,
                            line.transfers, line.misses, field.name, field.reads, field.writes,
                            field.misses, field.ns);
    }
  }
  return text;
}

}  // namespace memsim
