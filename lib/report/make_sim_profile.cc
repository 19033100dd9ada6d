#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "memsim/report/sim_profile.h"

namespace memsim {

namespace {

constexpr uint64_t kLongest = uint64_t{1} << 44;  // ps: what a line's history can hold

// One finished simulation and the world it ran in.
struct Finished {
  std::unique_ptr<Runner> runner;
  std::shared_ptr<const SimResult> sim;
  double pages = 0;
  double charge = 0, uncharge = 0, total = 0, wall = 0;  // ns per page
};

absl::StatusOr<Finished> SimulateOnce(const Configuration& configuration, RunnerOptions options) {
  auto runner = Runner::Open(configuration, MachineKind::kSimulated, options);
  if (!runner.ok()) return runner.status();
  const ExecResult result = (*runner)->Execute();
  if (!result.status.ok()) return result.status;
  if (result.interrupted) return absl::CancelledError("interrupted");
  const SimResult& sim = *result.sim;
  if (!sim.deadlock.empty()) return absl::InternalError(absl::StrCat("deadlock: ", sim.deadlock));
  for (const SimCpuTimes& cpu : sim.cpus) {
    if (cpu.clock >= kLongest) {
      return absl::OutOfRangeError("the run takes more than 17 s of simulated time; give fewer --faults");
    }
  }
  Finished finished;
  finished.sim = result.sim;
  finished.pages =
      static_cast<double>(result.Total().phase[static_cast<size_t>(Phase::kCharge)].pages);
  if (finished.pages <= 0) {
    return absl::FailedPreconditionError("the workload faulted no page: every charge was refused");
  }
  const auto per_page = [&](Phase phase) {
    uint64_t ps = 0;
    for (const SimCpuTimes& cpu : sim.cpus) ps += cpu.phase[static_cast<size_t>(phase)].time;
    return static_cast<double>(ps) * 1e-3 / finished.pages;
  };
  finished.charge = per_page(Phase::kCharge);
  finished.uncharge = per_page(Phase::kUncharge);
  finished.total = static_cast<double>(sim.Time()) * 1e-3 / finished.pages;
  finished.wall = static_cast<double>(sim.Wall(static_cast<size_t>(Phase::kCharge))) * 1e-3 / finished.pages;
  finished.runner = *std::move(runner);
  return finished;
}

// The spread of one number over the runs.
template <class Of>
Spread Over(const std::vector<Finished>& runs, Of of) {
  std::vector<double> values;
  for (const Finished& run : runs) values.push_back(of(run));
  return SpreadOf(values);
}

double NsOf(const Finished& run, uint64_t ps) { return static_cast<double>(ps) * 1e-3 / run.pages; }

template <class Count>  // of a row
double SumOverMemcg(Count count) {
  double sum = 0;
  for (size_t row = 0; row < kFnCount; ++row) {
    if (IsMemcgRow(row)) sum += count(row);
  }
  return sum;
}

double SampledShare(const Finished& run, size_t row) {
  const uint64_t all = run.sim->Samples();
  return all == 0 ? 0 : static_cast<double>(run.sim->samples[row]) / static_cast<double>(all);
}

void AddRows(const std::vector<Finished>& runs, SimProfile& profile) {
  for (size_t row = 0; row < kSimRows; ++row) {
    SimRow one;
    one.row = row;
    one.ns = Over(runs, [&](const Finished& run) { return NsOf(run, run.sim->RowTime(row)); });
    one.share = Over(runs, [&](const Finished& run) {
      return NsOf(run, run.sim->RowTime(row)) / run.total;
    });
    one.sampled = Over(runs, [&](const Finished& run) { return SampledShare(run, row); });
    if (one.ns.most == 0 && one.sampled.most == 0) continue;
    for (const Finished& run : runs) {
      const CauseTimes causes = run.sim->RowCauses(row);
      for (size_t c = 0; c < kCauseCount; ++c) {
        one.causes[c] += NsOf(run, causes[c]) / static_cast<double>(runs.size());
      }
    }
    if (row < kFnCount) {
      for (const auto& part : runs.front().sim->counts.by_function) {
        one.calls += static_cast<double>(part[row].calls) / runs.front().pages;
        one.instructions += static_cast<double>(part[row].instructions) / runs.front().pages;
      }
    }
    for (size_t c = 0; c < kCauseCount; ++c) {
      profile.causes[c] += one.causes[c];
      if (IsMemcgRow(row)) profile.memcg_causes[c] += one.causes[c];
    }
    profile.rows.push_back(one);
  }
  std::stable_sort(profile.rows.begin(), profile.rows.end(),
                   [](const SimRow& a, const SimRow& b) { return a.ns.mean > b.ns.mean; });
}

void AddCharges(const std::vector<Finished>& runs, ChargeTimes& to) {
  for (const Finished& run : runs) {
    for (size_t k = 0; k < kChargeKindCount; ++k) {
      const ChargeTimes::Kind& from = run.sim->charges.kind[k];
      ChargeTimes::Kind& sum = to.kind[k];
      sum.n += from.n;
      sum.sum += from.sum;
      sum.worst = std::max(sum.worst, from.worst);
      for (size_t b = 0; b < from.histogram.size(); ++b) sum.histogram[b] += from.histogram[b];
    }
  }
}

// Field names of the words of one line.
std::string FieldAt(const Arena& arena, uint64_t offset) {
  const Arena::Location at = arena.Find(offset);
  if (at.region == nullptr) return "(unnamed)";
  if (at.field == nullptr) return "(padding)";
  std::string name(at.field->name);
  if (at.field->element != 0) absl::StrAppend(&name, "[", at.element, "]");
  return name;
}

SimLine NameLine(const LineReport& report, const Arena& arena, double pages) {
  SimLine line;
  // The first word that somebody used says which object it is.
  size_t first = 0;
  while (first < 7 && report.words[first].misses == 0 && report.words[first].reads == 0 &&
         report.words[first].writes == 0) {
    ++first;
  }
  const Arena::Location at = arena.Find(report.offset + 8 * first);
  if (at.region != nullptr) {
    line.name = at.region->name;
    if (report.array) absl::StrAppend(&line.name, "[*]");
    else if (at.region->count > 1) absl::StrAppend(&line.name, "[", at.index, "]");
    line.offset = at.object_offset / kCacheLine * kCacheLine;
  }
  const auto per_page = [&](uint64_t n) { return static_cast<double>(n) / pages; };
  line.ns = per_page(report.cost) * 1e-3;
  line.lock_wait_ns = per_page(report.lock_wait) * 1e-3;
  line.transfers = per_page(report.transfers);
  line.misses = per_page(report.misses);
  std::array<std::string, 8> names;
  for (size_t w = 0; w < report.words.size(); ++w) {
    const LineReport::Word& word = report.words[w];
    names[w] = FieldAt(arena, report.offset + 8 * w);
    if (word.misses == 0 && word.reads == 0 && word.writes == 0) continue;
    line.fields.push_back({names[w], word.reads, word.writes, per_page(word.misses),
                           per_page(word.cost) * 1e-3});
  }
  for (const LineReport::Pair& pair : report.pairs) {
    line.pairs.push_back({names[pair.waiter], names[pair.writer], per_page(pair.n),
                          pair.waiter != pair.writer && !report.array});
  }
  return line;
}

// One client on the machine of the published profile, with a kernel of it and that kernel's gate.
absl::Status AddPublished(const Configuration& c, SimProfile& profile) {
  if (c.threads != 1 || c.rest != RestKind::kFault || c.workload.name != "pft") return absl::OkStatus();
  if (c.gate != c.kernel->default_gate || !(c.build == c.kernel->build) || c.charge_first.has_value()) {
    return absl::OkStatus();
  }
  const auto published = LoadPublishedProfile("pft-profile-2015");
  if (!published.ok()) return published.status();
  for (const PublishedProfile::Column& column : published->columns) {
    if (published->model != c.machine->given || column.kernel != c.kernel->name ||
        column.memcg != c.memcg()) {
      continue;
    }
    std::vector<double> ours, theirs;
    for (const SimRow& row : profile.rows) {
      const auto percent = column.percent.find(std::string(SimRowName(row.row)));
      if (percent == column.percent.end()) continue;
      ours.push_back(row.sampled.mean);
      theirs.push_back(percent->second);
    }
    profile.published = {published->source, column, RankCorrelation(ours, theirs)};
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

std::string CommandOf(const Configuration& configuration, const SimProfileOptions& options) {
  std::string line = configuration.command();
  if (options.line_detail) line = absl::StrReplaceAll(line, {{"memsim run", "memsim lines"}});
  absl::StrAppend(&line, " --seeds ", options.seeds);
  if (options.strict) absl::StrAppend(&line, " --strict");
  if (options.interrupts_charge) absl::StrAppend(&line, " --timer-charge");
  if (options.line_detail) return line;
  absl::StrAppend(&line, " --sampler ", SamplerName(options.sampler));
  if (options.marginal) absl::StrAppend(&line, " --profile marginal");
  return line;
}

}  // namespace

Spread SpreadOf(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()), *least,
          *most};
}

absl::StatusOr<SimProfile> MakeSimProfile(const Configuration& configuration,
                                          const SimProfileOptions& options) {
  SimProfile profile;
  profile.configuration = configuration;
  profile.command = CommandOf(configuration, options);
  profile.sampler = options.sampler;
  profile.period_ns = static_cast<double>(options.sample_period) * 1e-3;
  RunnerOptions running;
  running.stop = options.stop;
  running.strict = options.strict;
  running.sim.sampler = options.sampler;
  running.sim.sample_period = options.sample_period;
  running.sim.interrupts_charge = options.interrupts_charge;
  std::vector<Finished> runs;
  const auto seeded = [&](int s) {
    Configuration one = configuration;
    one.seed = configuration.seed + static_cast<uint64_t>(s);
    return one;
  };
  for (int s = 0; s < options.seeds; ++s) {
    if (options.progress) options.progress("simulating", static_cast<double>(s) / options.seeds);
    running.sim.line_detail = options.line_detail && s == 0;
    auto run = SimulateOnce(seeded(s), running);
    if (absl::IsCancelled(run.status())) break;
    if (!run.ok()) return run.status();
    if (s > 0) run->runner.reset();  // the lines are those of the first seed
    runs.push_back(*std::move(run));
  }
  if (runs.empty()) return absl::CancelledError("interrupted");
  profile.partial = static_cast<int>(runs.size()) < options.seeds;
  profile.seeds = static_cast<int>(runs.size());
  profile.pages = runs.front().pages;
  profile.charge = Over(runs, [](const Finished& run) { return run.charge; });
  profile.uncharge = Over(runs, [](const Finished& run) { return run.uncharge; });
  profile.total = Over(runs, [](const Finished& run) { return run.total; });
  profile.wall = Over(runs, [](const Finished& run) { return run.wall; });
  const auto memcg_ns = [](const Finished& run) {
    return SumOverMemcg([&](size_t row) { return NsOf(run, run.sim->RowTime(row)); });
  };
  profile.memcg = Over(runs, memcg_ns);
  profile.memcg_share = Over(runs, [&](const Finished& run) { return memcg_ns(run) / run.total; });
  profile.memcg_sampled = Over(runs, [](const Finished& run) {
    return SumOverMemcg([&](size_t row) { return SampledShare(run, row); });
  });
  AddRows(runs, profile);
  if (auto status = AddPublished(configuration, profile); !status.ok()) return status;
  AddCharges(runs, profile.charges);
  for (const Finished& run : runs) {
    profile.samples += static_cast<double>(run.sim->Samples());
    profile.accesses += run.sim->accesses();
    profile.all_accesses += run.sim->all_accesses;
    profile.runs += run.sim->runs;
    profile.ordered_lines = std::max(profile.ordered_lines, run.sim->ordered_lines);
    profile.strict |= run.sim->strict;
  }
  const Arena& arena = runs.front().runner->session().arena();
  for (const LineReport& line : runs.front().sim->lines) {
    profile.lines.push_back(NameLine(line, arena, runs.front().pages));
  }

  // What goes away: the same seeds again with the function muted.
  const auto marginal = [&](FnSet muted) -> absl::StatusOr<Spread> {
    std::vector<double> differences;
    for (size_t s = 0; s < runs.size(); ++s) {
      RunnerOptions again = running;
      again.sim.line_detail = false;
      again.sim.muted = muted;
      const auto run = SimulateOnce(seeded(static_cast<int>(s)), again);
      if (!run.ok()) return run.status();
      differences.push_back(runs[s].total - run->total);
    }
    return SpreadOf(differences);
  };
  if (!options.marginal || profile.partial) return profile;
  FnSet all;
  double done = 0;
  for (SimRow& row : profile.rows) {
    if (options.progress) {
      options.progress("muting one function after the other",
                       done++ / static_cast<double>(profile.rows.size()));
    }
    if (!IsMemcgRow(row.row)) continue;
    const Fn fn = static_cast<Fn>(row.row);
    all = all.With(fn);
    const auto spread = marginal(FnSet().With(fn));
    if (absl::IsCancelled(spread.status())) {
      profile.partial = true;
      return profile;
    }
    if (!spread.ok()) return spread.status();
    row.marginal = *spread;
  }
  const auto spread = marginal(all);
  if (spread.ok()) profile.memcg_marginal = *spread;
  else profile.partial = true;
  return profile;
}

absl::StatusOr<SamplerKind> FindSampler(absl::string_view name) {
  if (name == "timer") return SamplerKind::kTimer;
  if (name == "nmi") return SamplerKind::kNmi;
  return absl::NotFoundError(absl::StrCat("--sampler '", name, "'; valid: timer, nmi"));
}

absl::string_view SamplerName(SamplerKind sampler) {
  return sampler == SamplerKind::kTimer ? "timer" : "nmi";
}

}  // namespace memsim
