// The page fault test (pft) as mmtests reports it, for simulated machines, beside what was published.
//
// Shape     a cell is one configuration with n clients, simulated once per seed; a row is a metric and n
// Units     rates in faults per second; percent is positive where the rate is better
// Threads   MakePftTable() simulates cells on host threads; the table does not depend on which ends first
// Marks     a simulated rate is exact for its seeds and stands with its spread over them; published rates
//           stand with the published noise between equal kernels
// Errors    one line that says what would be valid
// Left out  published numbers of another machine than the simulated one: they are not compared
#ifndef MEMSIM_REPORT_PFT_H_
#define MEMSIM_REPORT_PFT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/measure/configuration.h"

namespace memsim {

enum class PftMetric : uint8_t { kFaultsPerCpu, kFaultsPerSec };

struct PftMetricInfo {
  PftMetric metric;
  absl::string_view name;  // as mmtests prints it
  absl::string_view id;    // in the id of a cell
};
inline constexpr std::array<PftMetricInfo, 2> kPftMetrics = {{
    {PftMetric::kFaultsPerCpu, "faults/cpu", "faults_cpu"},  // pages / CPU time of all clients
    {PftMetric::kFaultsPerSec, "faults/sec", "faults_sec"},  // pages / latest end - earliest start
}};

// "faults/cpu-3"
std::string PftRowName(PftMetric metric, int clients);

// User, System and Elapsed of a whole run, in seconds; a hole is not known.
using PftTotals = std::array<std::optional<double>, 3>;
inline constexpr std::array<absl::string_view, 3> kPftTotals = {"User", "System", "Elapsed"};

// One file of published pft rates. The first column of a kernel and memcg is the one that a simulated
// column is compared with.
struct PublishedThroughput {
  struct Column {
    std::string id, title, kernel, memcg, source;
    std::map<std::pair<PftMetric, int>, double> rates;  // absent: not published
    PftTotals totals;

    std::optional<double> Rate(PftMetric metric, int clients) const;
    // "chargefirst/faults_cpu/1"
    std::string CellId(PftMetric metric, int clients) const;
  };
  std::string name, machine, model, source;  // `model`: the simulated machine that it may stand beside
  double noise = 0;                          // percent, between runs of equal kernels
  std::string noise_source;
  std::vector<Column> columns;

  // Null when nothing was published for this configuration.
  const Column* Find(const Configuration& configuration) const;
  bool HasCell(absl::string_view id) const;
};

// Errors    NotFound, InvalidArgument: a missing or malformed file in models/published/
absl::StatusOr<PublishedThroughput> LoadPublishedThroughput(absl::string_view name);

// What one simulation says. All clients together.
struct PftRun {
  int64_t pages = 0;
  int64_t user_ps = 0, system_ps = 0;  // CPU time in the timed part
  int64_t wall_ps = 0;                 // latest end - earliest start of the timed part
  int64_t total_user_ps = 0, total_system_ps = 0, elapsed_ps = 0;  // with start and exit
};

// Simulates one cell with one seed. Called from several threads at once.
// Errors    Cancelled when it was stopped: the cell stays empty. Any other ends the table
using PftSource =
    std::function<absl::StatusOr<PftRun>(const Configuration&, int clients, uint64_t seed)>;

// The source that simulates: `machine` as LoadMachineModel() takes it, `pages` for each client.
absl::StatusOr<PftSource> SimulatedPftSource(absl::string_view machine, int64_t pages,
                                             const std::atomic<bool>* stop);

// A parameter of the machine that was fitted to a published number. Where that is a cell of this table, its
// id is in `cell`, and the cell is shown but not counted.
struct PftCalibration {
  std::string cell;
  std::string text;
};

// Finds the cells in texts like "stages.exception: chargefirst/faults_cpu/1". A text that names none is
// kept without a cell, so that the report shows it.
std::vector<PftCalibration> FindCalibratedCells(const std::vector<std::string>& texts,
                                                const PublishedThroughput& published);

inline constexpr int kMaxPftSeeds = 1000;

struct PftMachine {
  std::string name;
  std::string given;  // what it was loaded as, for the command line
  std::vector<PftCalibration> calibrated;
};

struct PftOptions {
  PftMachine machine;
  int64_t pages = 0;  // of a client, for the command line
  std::vector<Configuration> columns;
  std::vector<int> clients{1, 3, 5, 7, 8};
  int seeds = 3;
  uint64_t seed = 1;  // the first
  PublishedThroughput published;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(absl::string_view what, double done)> progress;
  int host_threads = 0;  // 0: the CPUs this process may use
};

// "1,3,5", each from 1 to `cpus`, none twice.
absl::StatusOr<std::vector<int>> ParsePftClients(absl::string_view text, int cpus);
// What mmtests takes: 1 to 8 in steps of two and the maximum; fewer where the machine has fewer CPUs.
std::vector<int> DefaultPftClients(int cpus);

// Columns "KERNEL[:MEMCG[:GATE]]". None: the three kernels of the second series of 2015.
// `shared`: what all columns have in common, such as the seed
absl::StatusOr<std::vector<Configuration>> ParsePftColumns(const std::vector<std::string>& texts,
                                                           const ConfigurationText& shared);
// The text that gives the column: "v4.0-chargefirst:disabled:flag".
std::string PftColumnName(const Configuration& configuration);

// A value made from n seeds and where it lies with each of them.
struct SeedSpread {
  double value = 0;
  double low = 0, high = 0;
  int n = 0;
};

struct PftCell {
  std::vector<double> rates;  // by seed
  SeedSpread rate;            // harmonic mean
  std::optional<double> published;
  std::optional<double> error;  // simulated minus published, percent of published
  bool calibrated = false;      // fitted to, not predicted
};

struct PftRow {
  PftMetric metric;
  int clients;
  std::vector<std::optional<PftCell>> cells;  // by column; empty: not finished

  std::optional<double> Rate(size_t column) const;
  // The percent that mmtests prints in parentheses.
  std::optional<double> PercentToFirst(size_t column) const;
};

struct PftMeanError {
  double percent = 0;  // mean of the absolute errors
  int cells = 0;       // that it is the mean of
  int left_out = 0;    // calibrated ones
};

struct PftColumn {
  Configuration configuration;
  std::string published;  // id of the published column, or empty
  PftTotals totals;       // over all cells and seeds; empty unless all are finished
  std::array<PftMeanError, kPftMetrics.size()> error;
};

enum class PftVerdict : uint8_t { kNothingPublished, kCalibrated, kAgrees, kDisagrees };

// What switching the controller off brings, for one kernel, metric and number of clients.
struct PftDifference {
  size_t enabled = 0, disabled = 0;  // columns
  PftMetric metric = PftMetric::kFaultsPerCpu;
  int clients = 0;
  SeedSpread simulated;  // percent; the spread is of the same seed in both columns
  std::optional<double> published;
  PftVerdict verdict = PftVerdict::kNothingPublished;
};

struct PftTable {
  PftMachine machine;
  std::string command;  // the line that gives this table again
  int64_t pages = 0;
  std::vector<int> clients;
  int seeds = 0;
  uint64_t seed = 0;
  PublishedThroughput published;
  bool comparable = false;  // the published numbers are of this machine
  std::vector<PftColumn> columns;
  std::vector<PftRow> rows;
  std::vector<PftDifference> differences;
  bool partial = false;

  bool Empty() const;  // no cell was finished
};

absl::StatusOr<PftTable> MakePftTable(const PftOptions& options, const PftSource& source);

// How much better `value` is than `base`, percent.
double PercentBetter(double base, double value);

// "agrees: simulated +0.42 % (+0.40…+0.45), published -0.01 % ± 1.4 %"; `noise` in percent
std::string DifferenceText(const PftDifference& difference, double noise);
absl::string_view VerdictName(PftVerdict verdict);

}  // namespace memsim

#endif  // MEMSIM_REPORT_PFT_H_
