#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/report/jobs.h"
#include "memsim/internal/range.h"
#include "memsim/measure/statistics.h"
#include "memsim/report/pft.h"

namespace memsim {

namespace {

constexpr double kPsPerSecond = 1e12;

SeedSpread SpreadOf(double value, const std::vector<double>& by_seed) {
  const auto [low, high] = std::minmax_element(by_seed.begin(), by_seed.end());
  return {value, *low, *high, static_cast<int>(by_seed.size())};
}

double Rate(const PftRun& run, PftMetric metric) {
  const int64_t ps =
      metric == PftMetric::kFaultsPerCpu ? run.user_ps + run.system_ps : run.wall_ps;
  return static_cast<double>(run.pages) * kPsPerSecond / static_cast<double>(ps);
}

absl::Status Check(const PftOptions& options) {
  if (options.columns.empty() || options.clients.empty()) {
    return absl::InvalidArgumentError("a pft table needs at least one column and one number of clients");
  }
  for (const PftCalibration& one : options.machine.calibrated) {
    if (one.cell.empty() || options.published.HasCell(one.cell)) continue;
    return absl::InvalidArgumentError(absl::StrCat("calibrated cell '", one.cell,
                                                   "'; valid: an id of a cell of ", options.published.name));
  }
  return internal::CheckRange("--seeds", options.seeds, 1, kMaxPftSeeds);
}

// Every simulation of the table at its own place: clients outermost and seeds innermost, so that what is
// finished when somebody interrupts is whole rows.
class Runs {
 public:
  explicit Runs(const PftOptions& options)
      : options_(options),
        runs_(options.clients.size() * options.columns.size() * static_cast<size_t>(options.seeds)) {}

  absl::Status Simulate(const PftSource& source);
  // The runs of a cell by seed; empty unless all seeds were finished.
  std::vector<PftRun> Cell(size_t row, size_t column) const;

 private:
  absl::Status SimulateOne(size_t i, const PftSource& source);
  size_t First(size_t row, size_t column) const {
    return (row * options_.columns.size() + column) * static_cast<size_t>(options_.seeds);
  }

  const PftOptions& options_;
  std::vector<std::optional<PftRun>> runs_;
};

absl::Status Runs::SimulateOne(size_t i, const PftSource& source) {
  const size_t seeds = static_cast<size_t>(options_.seeds), columns = options_.columns.size();
  const Configuration& configuration = options_.columns[i / seeds % columns];
  const int clients = options_.clients[i / seeds / columns];
  const auto run = source(configuration, clients, options_.seed + i % seeds);
  if (absl::IsCancelled(run.status())) return absl::OkStatus();
  if (!run.ok()) return run.status();
  if (run->pages <= 0 || run->user_ps + run->system_ps <= 0 || run->wall_ps <= 0) {
    return absl::InternalError(absl::StrCat(PftColumnName(configuration), " with ", clients,
                                            " clients: the machine reported no pages or no time"));
  }
  runs_[i] = *run;
  return absl::OkStatus();
}

absl::Status Runs::Simulate(const PftSource& source) {
  return RunJobs(runs_.size(), {options_.host_threads, options_.stop, options_.progress},
                 [&](size_t i) { return SimulateOne(i, source); });
}

std::vector<PftRun> Runs::Cell(size_t row, size_t column) const {
  std::vector<PftRun> cell;
  for (size_t i = First(row, column); i < First(row, column) + static_cast<size_t>(options_.seeds); ++i) {
    if (!runs_[i].has_value()) return {};
    cell.push_back(*runs_[i]);
  }
  return cell;
}

// Fitted to this cell, or to the same one of another published run of that kernel.
bool IsCalibrated(const PftOptions& options, const PublishedThroughput::Column& published,
                  PftMetric metric, int clients) {
  for (const PublishedThroughput::Column& column : options.published.columns) {
    if (column.kernel != published.kernel || column.memcg != published.memcg) continue;
    for (const PftCalibration& one : options.machine.calibrated) {
      if (one.cell == column.CellId(metric, clients)) return true;
    }
  }
  return false;
}

PftCell MakeCell(const std::vector<PftRun>& runs, PftMetric metric, int clients,
                 const PublishedThroughput::Column* published, const PftOptions& options) {
  PftCell cell;
  for (const PftRun& run : runs) cell.rates.push_back(Rate(run, metric));
  cell.rate = SpreadOf(HarmonicMean(cell.rates), cell.rates);
  if (published == nullptr) return cell;
  cell.calibrated = IsCalibrated(options, *published, metric, clients);
  cell.published = published->Rate(metric, clients);
  if (cell.published.has_value()) cell.error = PercentBetter(*cell.published, cell.rate.value);
  return cell;
}

PftMeanError MeanError(const PftTable& table, size_t column, PftMetric metric) {
  PftMeanError mean;
  double sum = 0;
  for (const PftRow& row : table.rows) {
    const auto& cell = row.cells[column];
    if (row.metric != metric || !cell.has_value() || !cell->error.has_value()) continue;
    if (cell->calibrated) {
      ++mean.left_out;
      continue;
    }
    ++mean.cells;
    sum += std::abs(*cell->error);
  }
  if (mean.cells > 0) mean.percent = sum / mean.cells;
  return mean;
}

// As mmtests does, over the whole run; a column that lacks cells has no total to compare.
PftTotals TotalsOf(const Runs& runs, size_t rows, size_t column) {
  std::array<int64_t, 3> ps = {};
  for (size_t row = 0; row < rows; ++row) {
    const std::vector<PftRun> cell = runs.Cell(row, column);
    if (cell.empty()) return {};
    for (const PftRun& run : cell) {
      ps[0] += run.total_user_ps;
      ps[1] += run.total_system_ps;
      ps[2] += run.elapsed_ps;
    }
  }
  PftTotals totals;
  for (size_t i = 0; i < ps.size(); ++i) totals[i] = static_cast<double>(ps[i]) / kPsPerSecond;
  return totals;
}

PftDifference MakeDifference(const PftTable& table, const PftRow& row, size_t enabled, size_t disabled) {
  const PftCell& on = *row.cells[enabled];
  const PftCell& off = *row.cells[disabled];
  std::vector<double> by_seed;
  for (size_t i = 0; i < on.rates.size(); ++i) by_seed.push_back(PercentBetter(on.rates[i], off.rates[i]));
  PftDifference difference{enabled, disabled, row.metric, row.clients,
                           SpreadOf(PercentBetter(on.rate.value, off.rate.value), by_seed),
                           std::nullopt, PftVerdict::kNothingPublished};
  if (!on.published.has_value() || !off.published.has_value()) return difference;
  difference.published = PercentBetter(*on.published, *off.published);
  // With one of the two fitted, their difference is still a prediction.
  if (on.calibrated && off.calibrated) {
    difference.verdict = PftVerdict::kCalibrated;
    return difference;
  }
  const bool within =
      std::abs(difference.simulated.value - *difference.published) <= table.published.noise;
  difference.verdict = within ? PftVerdict::kAgrees : PftVerdict::kDisagrees;
  return difference;
}

void AddDifferences(PftTable* table) {
  const size_t columns = table->columns.size();
  for (size_t enabled = 0; enabled < columns; ++enabled) {
    const Configuration& on = table->columns[enabled].configuration;
    if (on.off() != OffKind::kEnabledUnused) continue;
    for (size_t disabled = 0; disabled < columns; ++disabled) {
      const Configuration& off = table->columns[disabled].configuration;
      if (off.placement.enabled || off.kernel != on.kernel || off.gate != on.gate) continue;
      for (const PftRow& row : table->rows) {
        if (!row.cells[enabled].has_value() || !row.cells[disabled].has_value()) continue;
        table->differences.push_back(MakeDifference(*table, row, enabled, disabled));
      }
    }
  }
}

std::string Command(const PftOptions& options) {
  std::string line = absl::StrCat("memsim pft --machine ", options.machine.given);
  for (const Configuration& column : options.columns) {
    absl::StrAppend(&line, " --column ", PftColumnName(column));
  }
  absl::StrAppend(&line, " --clients ", absl::StrJoin(options.clients, ","), " --pages ", options.pages,
                  " --seeds ", options.seeds, " --seed ", options.seed);
  return line;
}

}  // namespace

double PercentBetter(double base, double value) { return 100 * (value - base) / base; }

std::optional<double> PftRow::Rate(size_t column) const {
  if (!cells[column].has_value()) return std::nullopt;
  return cells[column]->rate.value;
}

std::optional<double> PftRow::PercentToFirst(size_t column) const {
  const auto base = Rate(0), rate = Rate(column);
  if (!base.has_value() || !rate.has_value()) return std::nullopt;
  return PercentBetter(*base, *rate);
}

bool PftTable::Empty() const {
  for (const PftRow& row : rows) {
    for (const auto& cell : row.cells) {
      if (cell.has_value()) return false;
    }
  }
  return true;
}

absl::StatusOr<PftTable> MakePftTable(const PftOptions& options, const PftSource& source) {
  if (const absl::Status status = Check(options); !status.ok()) return status;
  Runs runs(options);
  if (const absl::Status status = runs.Simulate(source); !status.ok()) return status;
  PftTable table{options.machine, Command(options), options.pages, options.clients,  options.seeds,
                 options.seed,    options.published, options.machine.name == options.published.model,
                 {}, {}, {}, false};
  std::vector<const PublishedThroughput::Column*> published;
  for (const Configuration& column : options.columns) {
    published.push_back(table.comparable ? options.published.Find(column) : nullptr);
  }
  for (const PftMetricInfo& metric : kPftMetrics) {
    for (size_t row = 0; row < options.clients.size(); ++row) {
      const int clients = options.clients[row];
      PftRow made{metric.metric, clients, {}};
      for (size_t column = 0; column < options.columns.size(); ++column) {
        const std::vector<PftRun> cell = runs.Cell(row, column);
        table.partial |= cell.empty();
        std::optional<PftCell>& to = made.cells.emplace_back();
        if (!cell.empty()) to = MakeCell(cell, metric.metric, clients, published[column], options);
      }
      table.rows.push_back(std::move(made));
    }
  }
  for (size_t column = 0; column < options.columns.size(); ++column) {
    PftColumn made{options.columns[column], published[column] == nullptr ? "" : published[column]->id,
                   TotalsOf(runs, options.clients.size(), column), {}};
    for (const PftMetricInfo& metric : kPftMetrics) {
      made.error[static_cast<size_t>(metric.metric)] = MeanError(table, column, metric.metric);
    }
    table.columns.push_back(std::move(made));
  }
  AddDifferences(&table);
  return table;
}

absl::string_view VerdictName(PftVerdict verdict) {
  switch (verdict) {
    case PftVerdict::kNothingPublished: return "nothing published";
    case PftVerdict::kCalibrated: return "calibrated";
    case PftVerdict::kAgrees: return "agrees";
    case PftVerdict::kDisagrees: return "does not agree";
  }
  return "?";
}

std::string DifferenceText(const PftDifference& difference, double noise) {
  const SeedSpread& simulated = difference.simulated;
  std::string text =
      absl::StrFormat("%s: simulated %+.2f %%", VerdictName(difference.verdict), simulated.value);
  if (simulated.n > 1) absl::StrAppendFormat(&text, " (%+.2f…%+.2f)", simulated.low, simulated.high);
  if (difference.published.has_value()) {
    absl::StrAppendFormat(&text, ", published %+.2f %% ± %.1f %%", *difference.published, noise);
  }
  return text;
}

}  // namespace memsim
