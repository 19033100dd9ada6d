// The comparison of May 2015: what the controller costs in use, unused, disabled and compiled out, by
// function and in time, beside the two columns that were published then.
//
// Marks     times: paired rounds, medians with 95 % intervals. Shares: sampling intervals. Counts: exact.
//           Published columns: as published, see models/published/
#ifndef MEMSIM_REPORT_COMPARISON_H_
#define MEMSIM_REPORT_COMPARISON_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "memsim/report/profile.h"

namespace memsim {

// A published profile: percent of all samples by function.
struct PublishedProfile {
  struct Column {
    std::string id, kernel, memcg;
    double total = 0;         // percent, all of mm/memcontrol.c
    double ns_per_fault = 0;  // from the throughput of the same run
    std::map<std::string, double> percent;  // by function; absent: not in the published table
  };
  std::string name, machine, model, source;  // model: of models/machines/
  std::vector<std::string> functions;  // in the published order
  std::vector<Column> columns;
};

// Errors    NotFound, InvalidArgument: a missing or malformed file in models/published/
absl::StatusOr<PublishedProfile> LoadPublishedProfile(absl::string_view name);

// One timed arm: a kind of "off", or a child.
struct TimedArm {
  Configuration configuration;
  Interval total;       // ns per page
  Interval added;       // difference to the kernel without the controller, ns per page
  ExactCounts counts;
};

struct Comparison2015 {
  PublishedProfile published;
  std::vector<Profile> profiles;  // chargefirst root, disabled, child; v4.0 root
  std::vector<TimedArm> arms;     // compiled out first
  Interval residue;               // disabled as a share of enabled, 0..1
  int rounds = 0;      // all placements together
  int placements = 0;  // times the worlds were made anew
  uint64_t seed = 1;
  Interval irq_cost;
  Interval real_fault;            // ns of a real fault of this host, 4 KiB pages, no unmap
  bool partial = false;
};

struct ComparisonOptions {
  int placements = 25;         // times the arms get new worlds
  int rounds = 160;            // in each of them
  double timing_seconds = 10;  // at most, but never fewer than one placement
  int64_t samples = 24000;    // per profile, wanted
  double sample_seconds = 4;  // per profile, at most
  uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(absl::string_view what, double done)> progress;
};

absl::StatusOr<Comparison2015> Compare2015(const ComparisonOptions& options);

}  // namespace memsim

#endif  // MEMSIM_REPORT_COMPARISON_H_
