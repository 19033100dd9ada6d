// A simulated profile: what one configuration costs on a machine file, by function, cause and cache line,
// and three views of the same run side by side.
//
//   attributed  where the time was spent, to the picosecond
//   sampled     where a sampling profiler would have seen it (lib/simulated/samples.cc)
//   marginal    what goes away when the function's own steps take no time and touch no cache: the difference
//               of two runs. Less than attributed where the next function pays for a miss instead
//
// Units     ns per page; shares 0…1 of the whole run, exit included
// Marks     exact for its seeds; the spread is the least and the most over the seeds
// Errors    as Resolve() and Kernel::Open(); a deadlock, a simulated time beyond 17 s
#ifndef MEMSIM_REPORT_SIM_PROFILE_H_
#define MEMSIM_REPORT_SIM_PROFILE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/measure/configuration.h"
#include "memsim/report/comparison.h"
#include "memsim/report/profile.h"

namespace memsim {

struct Spread {
  double mean = 0, least = 0, most = 0;
};
Spread SpreadOf(const std::vector<double>& values);

struct SimRow {
  size_t row = 0;  // see SimRowName()
  Spread ns;       // attributed
  Spread share;
  Spread sampled;  // share of samples
  std::optional<Spread> marginal;  // ns
  std::array<double, kCauseCount> causes{};  // ns, mean over the seeds
  double calls = 0, instructions = 0;        // per page
};

// A cache line in traffic, with names.
struct SimLine {
  struct Field {
    std::string name;
    uint64_t reads = 0, writes = 0;  // by run; with detail alone
    double misses = 0, ns = 0;       // per page
  };
  struct Pair {
    std::string waiter, writer;  // fields
    double per_page = 0;
    bool false_sharing = false;  // two fields: the waiter did not want what was written
  };
  std::string name;     // of the object; "page[*]" for all of them
  uint64_t offset = 0;  // of the line in the object
  double ns = 0, lock_wait_ns = 0, transfers = 0, misses = 0;  // per page
  std::vector<Field> fields;
  std::vector<Pair> pairs;
};

// What was published of the same kernel on the same machine, in percent of samples.
struct SimPublished {
  std::string source;
  PublishedProfile::Column column;
  double rank_correlation = 0;  // of its functions, by sampled share; NaN for fewer than three
};

struct SimProfile {
  Configuration configuration;
  std::string command;  // the line that gives this profile again
  SamplerKind sampler = SamplerKind::kNmi;
  double period_ns = 0;
  int seeds = 0;
  bool partial = false;  // interrupted: of fewer seeds than asked for

  double pages = 0;  // of one run
  Spread charge, uncharge, total;  // ns of CPU time per page
  Spread wall;  // ns per page from the first CPU's first fault to the last one's last
  std::array<double, kCauseCount> causes{}, memcg_causes{};  // ns, mean
  Spread memcg, memcg_share, memcg_sampled;
  std::optional<Spread> memcg_marginal;  // all of the controller's functions at once
  std::vector<SimRow> rows;              // most time first
  std::optional<SimPublished> published;
  ChargeTimes charges;                   // all seeds
  std::vector<SimLine> lines;            // of the first seed
  double samples = 0;                    // all seeds
  // What the simulation itself took.
  uint64_t accesses = 0, all_accesses = 0;
  int runs = 0;
  uint64_t ordered_lines = 0;
  bool strict = false;
};

struct SimProfileOptions {
  int seeds = 3;
  bool marginal = false;
  bool line_detail = false;
  bool strict = false;
  SamplerKind sampler = SamplerKind::kNmi;  // as perf's cycles event on real hardware
  bool interrupts_charge = false;           // as SimOptions
  uint64_t sample_period = 9700;  // ps; dense: a simulated sample costs nothing
  const std::atomic<bool>* stop = nullptr;
  std::function<void(absl::string_view what, double done)> progress;
};

// The configuration has a machine. Errors    Cancelled when nothing was finished
absl::StatusOr<SimProfile> MakeSimProfile(const Configuration& configuration,
                                          const SimProfileOptions& options);

absl::StatusOr<SamplerKind> FindSampler(absl::string_view name);
absl::string_view SamplerName(SamplerKind sampler);

}  // namespace memsim

#endif  // MEMSIM_REPORT_SIM_PROFILE_H_
