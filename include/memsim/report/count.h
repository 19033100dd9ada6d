// `memsim count`: instructions per page by function as callgrind counts them, beside the model's own exact
// count and, where the CPU gives them, hardware counters.
//
// How       memsim starts itself under valgrind. That process executes the workload twice, as CountExactly()
//           does on the tracing machine; callgrind collects inside the second time only, so nothing has to be
//           subtracted and the rate-limited tails are in. Every count is apart by its chain of callers, which
//           tells charge from uncharge
// Marks     instructions and calls: exact for this binary. Hardware counters: interval over repetitions
// Units     per page charged
// Threads   one worker: valgrind lets threads take turns, and a wait would be counted
// Errors    FailedPrecondition without valgrind, or in a build that it cannot run
#ifndef MEMSIM_REPORT_COUNT_H_
#define MEMSIM_REPORT_COUNT_H_

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/measure/hardware_counters.h"
#include "memsim/report/profile.h"

namespace memsim {

struct CountedRow {
  std::string name;    // the kernel's function, or "(elsewhere)"
  Fn fn = Fn::kCount;  // kCount: not a modelled function
  double charge = 0;   // instructions below handle_mm_fault()
  double uncharge = 0;  // below zap_pte_range()
  double total = 0;     // with what is below neither
  double calls = 0;

  void Add(const CountedRow& other);
};

struct HardwareRow {
  absl::string_view name;
  Interval per_page;  // n == 0: not available
  std::string why;    // when it is not
};

struct CountResult {
  Configuration configuration;
  double pages = 0;              // that were counted
  std::vector<CountedRow> rows;  // most instructions first
  ExactCounts model;
  std::string valgrind;          // its name and version
  std::string static_keys;       // how they worked under valgrind
  std::array<HardwareRow, kHardwareEvents> hardware;
  bool partial = false;          // interrupted: some of the hardware counters are missing

  std::string command() const;  // the line that gives this result again
  // Sums of a group of functions, and of everything.
  CountedRow Sum(FnGroup group) const;
  CountedRow All() const;
  // The model's count for a row; null for what is not modelled.
  const PerPage* Model(const CountedRow& row) const;
};

struct CountOptions {
  // The program and arguments that end in ExecuteCounted() with the same configuration.
  std::vector<std::string> inside;
  int repetitions = 21;  // with hardware counters
  const std::atomic<bool>* stop = nullptr;
  std::function<void(absl::string_view what, double done)> progress;
};

absl::StatusOr<CountResult> CountInstructions(const Configuration& configuration,
                                              const CountOptions& options);

// The part that runs under valgrind: executes the workload and says in JSON what only it can know.
absl::StatusOr<std::string> ExecuteCounted(const Configuration& configuration);

}  // namespace memsim

#endif  // MEMSIM_REPORT_COUNT_H_
