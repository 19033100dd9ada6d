#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/report/environment_render.h"
#include "lib/report/json.h"
#include "lib/report/table.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {


const ProfileRow* FindRow(const Profile& profile, absl::string_view name) {
  for (const ProfileRow& row : profile.rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// ns and share of one function, or of a group of them.
struct Cell {
  std::string ns, share;
};

Cell CellOf(const Profile& p, int64_t samples, bool called) {
  if (!p.enough_samples()) return {called ? "?" : "-", called ? "?" : "-"};
  if (samples == 0 && !called) return {"-", "-"};
  const double share = ShareInterval(samples, p.samples).centre;
  return {Ns(share * p.total.centre), Fixed(100 * share, 2)};
}

Cell FunctionCell(const Profile& p, absl::string_view name) {
  const ProfileRow* row = FindRow(p, name);
  return row == nullptr ? CellOf(p, 0, false) : CellOf(p, row->samples, true);
}

int64_t SamplesOf(const Profile& p, FnGroup group) {
  int64_t samples = 0;
  for (const ProfileRow& row : p.rows) {
    if (row.fn != Fn::kCount && Info(row.fn).group == group) samples += row.samples;
  }
  return samples;
}

std::string PublishedCell(const PublishedProfile::Column& column, const std::string& function) {
  const auto found = column.percent.find(function);
  return found == column.percent.end() ? "-" : Fixed(found->second, 3);
}

// Functions to show: the published ones in their order, then what else the profiles have of a group.
std::vector<std::string> Functions(const Comparison2015& c, const std::vector<const Profile*>& shown) {
  std::vector<std::string> names = c.published.functions;
  for (const Profile* profile : shown) {
    for (const ProfileRow& row : profile->rows) {
      if (row.fn == Fn::kCount || Info(row.fn).group != FnGroup::kMemcg || row.samples == 0) continue;
      if (std::find(names.begin(), names.end(), row.name) == names.end()) names.push_back(row.name);
    }
  }
  return names;
}

// One table: profiles of this host on the left, published columns on the right.
std::string ProfileTable(const Comparison2015& c, const std::vector<const Profile*>& here,
                         const std::vector<std::string>& here_titles,
                         const std::vector<const PublishedProfile::Column*>& there,
                         const std::vector<std::string>& there_titles) {
  Table table(absl::StrCat("l", std::string(2 * here.size(), 'r'), "l", std::string(there.size(), 'r')));
  std::vector<std::string> titles = {"self time per page"}, units = {"mm/memcontrol.c"};
  for (const std::string& title : here_titles) {
    titles.insert(titles.end(), {"", title});
    units.insert(units.end(), {"ns", "%"});
  }
  titles.push_back("|");
  units.push_back("|");
  for (const std::string& title : there_titles) {
    titles.push_back(title);
    units.push_back("%");
  }
  table.Row(titles);
  table.Row(units);
  table.Rule();
  const auto row = [&](const std::string& name, const auto& here_cell, const auto& there_cell) {
    std::vector<std::string> cells = {name};
    for (const Profile* profile : here) {
      const Cell cell = here_cell(*profile);
      cells.insert(cells.end(), {cell.ns, cell.share});
    }
    cells.push_back("|");
    for (const auto* column : there) cells.push_back(there_cell(*column));
    table.Row(cells);
  };
  for (const std::string& name : Functions(c, here)) {
    row(
        name, [&](const Profile& p) { return FunctionCell(p, name); },
        [&](const PublishedProfile::Column& column) { return PublishedCell(column, name); });
  }
  table.Rule();
  row(
      "all of mm/memcontrol.c",
      [](const Profile& p) { return CellOf(p, SamplesOf(p, FnGroup::kMemcg), true); },
      [](const PublishedProfile::Column& column) { return Fixed(column.total, 3); });
  const auto none = [](const PublishedProfile::Column&) { return std::string("-"); };
  if (std::any_of(here.begin(), here.end(),
                  [](const Profile* p) { return SamplesOf(*p, FnGroup::kCounter) > 0; })) {
    row(
        "mm/page_counter.c",
        [](const Profile& p) {
          const int64_t samples = SamplesOf(p, FnGroup::kCounter);
          return CellOf(p, samples, samples > 0);
        },
        none);
  }
  row(
      "the whole fault and unmap",
      [](const Profile& p) { return Cell{Ns(p.total.centre), "100"}; },
      [](const PublishedProfile::Column& column) {
        return absl::StrCat(Fixed(column.ns_per_fault, 1), " ns");
      });
  return table.Text();
}

// All of mm/memcontrol.c in root, ns per page.
double RootNs(const Comparison2015& c) {
  const Profile& p = c.profiles[0];
  return ShareInterval(SamplesOf(p, FnGroup::kMemcg), p.samples).centre * p.total.centre;
}

// Does charging after SetPageUptodate cost more on this host, too?
std::string ShowsOrder(const Comparison2015& c) {
  const ProfileRow* first = FindRow(c.profiles[0], "mem_cgroup_try_charge");
  const ProfileRow* after = FindRow(c.profiles[3], "mem_cgroup_try_charge");
  if (first == nullptr || after == nullptr || !c.profiles[0].enough_samples() ||
      !c.profiles[3].enough_samples()) {
    return "";
  }
  if (after->share.low * c.profiles[3].total.low > first->share.high * c.profiles[0].total.high) {
    return "This host shows it, too.";
  }
  return "This host does not show it, which is no proof against it.";
}

std::string SamplingNote(const Comparison2015& c) {
  int64_t least = c.profiles[0].samples, most = least;
  for (const Profile& p : c.profiles) {
    least = std::min(least, p.samples);
    most = std::max(most, p.samples);
  }
  const Profile& p = c.profiles[0];
  std::string text = absl::StrCat("Self time from ", least, " to ", most, " samples a column (",
                                  p.mechanism, ")");
  if (least < kEnoughSamples) {
    return Wrap(absl::StrCat(text, ": too few (under ", kEnoughSamples,
                             ") for shares, shown as '?'. ", p.mechanism_why),
                kColumns, "");
  }
  const Interval some = ShareInterval(least / 200, least);
  absl::StrAppend(&text, "; a share of 0.5 % is known to ±",
                  Fixed(50 * (some.high - some.low), 2),
                  " points (95 %). Percent on the left is of the modelled fault and unmap, which has no "
                  "exception, no VMA look-up and no TLB but clears a 4 KiB page; percent on the right is of "
                  "all samples of a real kernel, where 1 % is 6.6 to 6.9 ns. So compare ns with ns.");
  if (c.real_fault.n > 0) {
    absl::StrAppend(&text, " A real page fault takes ", Ns(c.real_fault.centre), " ns on this host (",
                    NsRange(c.real_fault), " ns, user space to user space): of that, the controller in root "
                    "would be ", Fixed(100 * RootNs(c) / c.real_fault.centre, 2), " %.");
  }
  return Wrap(text, kColumns, "");
}

std::string ArmsTable(const Comparison2015& c) {
  Table table("lrrrrrrr");
  table.Row({"the controller is", "ns a page", "95 % interval", "adds ns", "95 % interval", "calls",
             "insns", "gates"});
  table.Rule();
  for (const TimedArm& arm : c.arms) {
    const bool base = &arm == &c.arms.front();
    const PerPage& n = arm.counts.memcg_total;
    const std::string name =
        arm.configuration.off() == OffKind::kInUse
            ? "in use, one level below root"
            : std::string(kOffKinds[static_cast<size_t>(arm.configuration.off())].name);
    table.Row({name, Ns(arm.total.centre), NsRange(arm.total),
               base ? "-" : Fixed(arm.added.centre, 2), base ? "-" : Range(arm.added, 2),
               Count(n.calls, 2), Count(n.instructions, 1), Count(n.gates, 2)});
  }
  return table.Text();
}

std::string ResidueText(const Comparison2015& c) {
  const PublishedProfile::Column* enabled = nullptr;
  const PublishedProfile::Column* disabled = nullptr;
  for (const auto& column : c.published.columns) {
    if (column.id == "chargefirst") enabled = &column;
    if (column.id == "disabled") disabled = &column;
  }
  std::string text = absl::StrCat("Disabled costs ", Fixed(100 * c.residue.centre, 1),
                                  " % of what enabled and unused costs (95 % interval ",
                                  Range(c.residue, 1, 100), " %)");
  if (enabled != nullptr && disabled != nullptr && enabled->total > 0) {
    absl::StrAppend(&text, "; in the published profile it is ",
                    Fixed(100 * disabled->total / enabled->total, 1), " %");
  }
  return Wrap(absl::StrCat(text, "."), kColumns, "");
}

}  // namespace

std::string ComparisonText(const Comparison2015& c, const Environment& environment) {
  std::string text = PartialNote(c.partial);
  absl::StrAppend(
      &text, "What does the memory controller cost when nobody uses it? The comparison of May 2015\n",
      Wrap(environment.Line(), kColumns, ""), NotesText(environment, WhichNotes::kHarming),
      "seed ", c.seed, ", interrupt masking stand-in 'flag' (",
      Fixed(c.irq_cost.centre, 2), " ns a section, ", Range(c.irq_cost, 2), " ns)\n\n");
  const bool sampled = c.profiles.size() == 4;
  if (sampled) {
    const auto& columns = c.published.columns;
    const auto column = [&](absl::string_view id) {
      return &*std::find_if(columns.begin(), columns.end(), [&](const auto& one) { return one.id == id; });
    };
    absl::StrAppend(&text, "1. By function: v4.0-chargefirst, pft, one worker. Left: this host. Right: ",
                    "published\n\n",
                    ProfileTable(c, {&c.profiles[0], &c.profiles[1], &c.profiles[2]},
                                 {"root", "disabled", "child"},
                                 {column("chargefirst"), column("disabled")},
                                 {"enabled", "disabled"}),
                    "\n", SamplingNote(c),
                    Wrap(absl::StrCat("Published: ", c.published.machine, "; ", c.published.source),
                         kColumns, ""),
                    "\n");
    absl::StrAppend(&text, "2. The same for vanilla v4.0, which charges after SetPageUptodate\n\n",
                    ProfileTable(c, {&c.profiles[3], &c.profiles[0]}, {"v4.0", "chargefirst"},
                                 {column("vanilla"), column("chargefirst")}, {"v4.0", "chargefirst"}),
                    "\n",
                    Wrap(absl::StrCat("The 2.95 % of mem_cgroup_try_charge in vanilla v4.0 is one load of "
                                      "page->flags right behind the 4-byte write of SetPageUptodate. Why "
                                      "it took so long on that CPU is unproven. ",
                                      ShowsOrder(c)),
                         kColumns, ""),
                    "\n");
  }
  if (c.rounds > 0) {
    absl::StrAppend(&text, "3. In time: ", c.rounds,
                    " rounds of CPU time, all five in each in random order; worlds made anew ",
                    c.placements, " times\n\n",
                    ArmsTable(c), "\n", ResidueText(c),
                    "calls, insns and gates are exact counts per page inside the controller, charge to "
                    "uncharge.\n");
  } else {
    absl::StrAppend(&text, "no round was completed\n");
  }
  return text;
}

std::string ComparisonJson(const Comparison2015& comparison, const Environment& environment) {
  return JsonDocument("memsim.comparison2015/1", comparison.partial, ToJson(comparison), environment);
}

std::string ComparisonCsv(const Comparison2015& c) {
  std::string text = "kernel,gate,memcg,off,ns_per_page,low,high,added_ns,added_low,added_high\n";
  for (const TimedArm& arm : c.arms) {
    const Configuration& configuration = arm.configuration;
    absl::StrAppendFormat(&text, "%s,%s,%s,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n",
                          std::string(configuration.kernel->name),
                          std::string(GateName(configuration.gate)), configuration.memcg(),
                          std::string(kOffKinds[static_cast<size_t>(configuration.off())].name),
                          arm.total.centre, arm.total.low, arm.total.high, arm.added.centre,
                          arm.added.low, arm.added.high);
  }
  return text;
}

}  // namespace memsim
