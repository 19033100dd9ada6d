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


std::string Heading(const Profile& p, const Environment& environment) {
  const Configuration& c = p.configuration;
  const OffInfo& off = kOffKinds[static_cast<size_t>(c.off())];
  std::string text = PartialNote(p.partial);
  absl::StrAppend(&text, Wrap(c.command(), kColumns, ""), Wrap(environment.Line(), kColumns, ""),
                  NotesText(environment, WhichNotes::kHarming), "\n");
  absl::StrAppend(&text, Wrap(absl::StrCat(c.kernel->name, ", gate ", GateName(c.gate), ", memcg ",
                                           c.memcg(), " (", off.name, "; it costs: ", off.remains, ")"),
                              kColumns, ""));
  if (c.gate == GateKind::kStaticKey) {
    absl::StrAppend(&text, Wrap(absl::StrCat("static keys: ", environment.static_keys), kColumns, ""));
  }
  if (c.irq == IrqStandIn::kNone) {
    absl::StrAppend(&text, "interrupt masking: not stood in for (--irq none)\n");
  } else {
    absl::StrAppend(&text, "interrupt masking: stand-in '", IrqName(c.irq), "', ",
                    Fixed(p.irq_cost.centre, 2), " ns a section (", Range(p.irq_cost, 2),
                    " ns), measured before the run\n");
  }
  if (c.batch.has_value() || c.charge_first.has_value()) {
    absl::StrAppend(&text, "a knob is turned: it is read at run time, which adds a load and a test\n");
  }
  if (c.threads > environment.cpus) {
    absl::StrAppend(&text, "more threads (", c.threads, ") than host CPUs (", environment.cpus,
                    "): times include waiting for a CPU\n");
  }
  return text;
}

std::string Times(const Profile& p) {
  if (p.total.n == 0) return "\nno repetition was completed\n";
  Table table("lrlr");
  const auto row = [&](absl::string_view what, const Interval& interval) {
    table.Row({absl::StrCat("  ", what), Ns(interval.centre), NsRange(interval),
               absl::StrCat(Fixed(1000 / interval.centre, 2), " M/s")});
  };
  const bool apart = p.uncharge.centre > 0;
  row(apart ? "charge (fault)" : "charge and uncharge", p.charge);
  if (apart) row("uncharge (unmap)", p.uncharge);
  if (apart) row("both", p.total);
  std::string text = absl::StrFormat(
      "\nCPU time per page in ns and %.0f %% interval, median of %d repetition%s; rate per CPU-second\n",
      100 * p.total.confidence, p.total.n, p.total.n == 1 ? "" : "s");
  return absl::StrCat(text, table.Text());
}

std::string Functions(const Profile& p) {
  std::string text = "\n";
  std::string heading = absl::StrCat("by function; ns and share from ", p.samples, " samples (",
                                     p.mechanism, ")");
  if (!p.mechanism_why.empty()) absl::StrAppend(&heading, "; ", p.mechanism_why);
  absl::StrAppend(&text, Wrap(absl::StrCat(heading, "; counts per page are exact"), kColumns, ""));
  if (!p.enough_samples()) {
    absl::StrAppend(&text, "  too few samples (under ", kEnoughSamples,
                    "): no share is shown; more --faults or --samples give more\n");
  }
  Table table("lrrlrrrrrr");
  table.Row({"function", "ns", "%", "95 % of %", "calls", "insns", "LOCK", "cpu++", "irq", "lock"});
  for (const auto& [group, title] : {std::pair{FnGroup::kMemcg, "mm/memcontrol.c"},
                                     std::pair{FnGroup::kCounter, "mm/page_counter.c"},
                                     std::pair{FnGroup::kRest, "the fault around it"}}) {
    int64_t samples = 0;
    std::vector<const ProfileRow*> rows;
    for (const ProfileRow& row : p.rows) {
      const FnGroup of = row.fn == Fn::kCount ? FnGroup::kRest : Info(row.fn).group;
      if (of != group) continue;
      samples += row.samples;
      rows.push_back(&row);
    }
    if (rows.empty()) continue;
    const auto share_cells = [&](const Interval& share) -> std::vector<std::string> {
      if (!p.enough_samples()) return {"", "", ""};
      return {Ns(share.centre * p.total.centre), Fixed(100 * share.centre, 2),
              Range(share, 2, 100)};
    };
    table.Rule();
    std::vector<std::string> cells = {title};
    for (std::string& cell : share_cells(ShareInterval(samples, p.samples))) {
      cells.push_back(std::move(cell));
    }
    table.Row(cells);
    for (const ProfileRow* row : rows) {
      cells = {absl::StrCat("  ", row->name)};
      for (std::string& cell : share_cells(row->share)) cells.push_back(std::move(cell));
      if (row->fn != Fn::kCount) {
        const PerPage& n = p.counts.by_function[static_cast<size_t>(row->fn)];
        for (const double value :
             {n.calls, n.instructions, n.rmw, n.percpu_incs, n.irq_off, n.locks}) {
          cells.push_back(Count(value, value >= 100 ? 1 : value >= 10 ? 2 : 3));
        }
      }
      table.Row(cells);
    }
  }
  return absl::StrCat(text, table.Text());
}

std::string Totals(const ExactCounts& counts) {
  Table table("lrrrrrrrr");
  table.Row({"the controller, per page (exact)", "calls", "insns", "LOCK", "cpu++", "irq", "lock", "gates",
             "lines"});
  const auto row = [&](absl::string_view name, const PerPage& n, double lines) {
    table.Row({absl::StrCat("  ", name), Count(n.calls, 2), Count(n.instructions, 1), Count(n.rmw, 4),
               Count(n.percpu_incs, 2), Count(n.irq_off, 3), Count(n.locks, 3), Count(n.gates, 3),
               Count(lines, 2)});
  };
  constexpr absl::string_view kParts[] = {"charge", "LRU batch", "uncharge"};
  double lines = 0;
  for (size_t part = 0; part < kPartCount; ++part) {
    row(kParts[part], counts.memcg[part], counts.memcg_lines[part]);
    lines += counts.memcg_lines[part];
  }
  row("all", counts.memcg_total, lines);
  return absl::StrCat("\n", table.Text(),
                      Wrap("LOCK: locked instructions. cpu++: per-CPU increments, without LOCK. irq: "
                           "sections with interrupts off. lock: spinlocks taken. lines: distinct cache "
                           "lines of an operation, the page's own apart. The gate of the event is paid "
                           "by handle_mm_fault and not counted here.",
                           kColumns, "  "));
}

}  // namespace

std::string ProfileText(const Profile& profile, const Environment& environment) {
  return absl::StrCat(Heading(profile, environment), Times(profile), Functions(profile),
                      Totals(profile.counts));
}

std::string ProfileJson(const Profile& profile, const Environment& environment) {
  return JsonDocument("memsim.run/1", profile.partial, ToJson(profile), environment);
}

std::string ProfileCsv(const Profile& profile) {
  std::string text =
      "kernel,gate,memcg,function,samples,share,share_low,share_high,self_ns,calls,instructions,rmw,"
      "percpu_incs,irq_off,locks\n";
  const Configuration& c = profile.configuration;
  for (const ProfileRow& row : profile.rows) {
    const PerPage counts =
        row.fn == Fn::kCount ? PerPage() : profile.counts.by_function[static_cast<size_t>(row.fn)];
    const bool shown = profile.enough_samples();
    absl::StrAppendFormat(&text, "%s,%s,%s,\"%s\",%d,%s,%s,%s,%s,%g,%g,%g,%g,%g,%g\n",
                          std::string(c.kernel->name), std::string(GateName(c.gate)), c.memcg(),
                          row.name, row.samples, shown ? Fixed(row.share.centre, 6) : "",
                          shown ? Fixed(row.share.low, 6) : "", shown ? Fixed(row.share.high, 6) : "",
                          shown ? Fixed(profile.SelfNs(row), 4) : "", counts.calls,
                          counts.instructions, counts.rmw, counts.percpu_incs, counts.irq_off,
                          counts.locks);
  }
  return text;
}

}  // namespace memsim
