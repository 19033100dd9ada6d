// What a run on the simulated machine gives: exact for its seed.
//
// Units     ps of simulated time, per run unless said otherwise
#ifndef MEMSIM_MACHINE_SIM_RESULT_H_
#define MEMSIM_MACHINE_SIM_RESULT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "memsim/machine/counts.h"
#include "memsim/machine/machine_model.h"

namespace memsim {

// Why time passed. The causes of a run add up to its CPU time.
enum class Cause : uint8_t {
  kInstructions,
  kL1,
  kL2,
  kL3,
  kDram,
  kTransfer,
  kRmw,
  kIrq,
  kLockWait,
  kBandwidth,
  kStage,  // parts of the fault outside the model: a number of the machine file
  kCount,
};
inline constexpr size_t kCauseCount = static_cast<size_t>(Cause::kCount);

struct CauseInfo {
  Cause cause;
  absl::string_view name;     // in JSON
  absl::string_view heading;  // in tables
};
inline constexpr std::array<CauseInfo, kCauseCount> kCauses = {{
    {Cause::kInstructions, "instructions", "insns"},
    {Cause::kL1, "l1", "L1"},
    {Cause::kL2, "l2", "L2"},
    {Cause::kL3, "l3", "L3"},
    {Cause::kDram, "dram", "DRAM"},
    {Cause::kTransfer, "transfer", "xfer"},
    {Cause::kRmw, "rmw", "LOCK"},
    {Cause::kIrq, "irq", "irq"},
    {Cause::kLockWait, "lock_wait", "lock"},
    {Cause::kBandwidth, "bandwidth_wait", "bandw"},
    {Cause::kStage, "stage", "stage"},
}};

// Where time passed: a function, or a part of the fault that is a number of the machine file.
inline constexpr size_t kSimClearPage = kFnCount + kStageCount;
inline constexpr size_t kSimTimer = kSimClearPage + 1;
inline constexpr size_t kSimMmapLock = kSimTimer + 1;
inline constexpr size_t kSimRows = kSimMmapLock + 1;
absl::string_view SimRowName(size_t row);
constexpr bool IsMemcgRow(size_t row) { return row < kFnCount && IsMemcg(static_cast<Fn>(row)); }

using CauseTimes = std::array<uint64_t, kCauseCount>;
using RowTimes = std::array<CauseTimes, kSimRows>;

// What made one charge longer than the usual one; the first that applies names it.
enum class ChargeKind : uint8_t { kReclaim, kDrain, kMiss, kTail, kPlain, kCount };
inline constexpr size_t kChargeKindCount = static_cast<size_t>(ChargeKind::kCount);
inline constexpr std::array<absl::string_view, kChargeKindCount> kChargeKindNames = {
    "reclaim", "drain", "stock miss", "threshold tail", "plain"};

// Time of the controller's functions in one fault, over all faults; the LRU batch is not in it.
struct ChargeTimes {
  static constexpr int kBuckets = 64;  // of half an octave: bucket b begins at 2^(b/2) ps
  struct Kind {
    uint64_t n = 0;
    uint64_t sum = 0;
    uint64_t worst = 0;
    std::array<uint64_t, kBuckets> histogram{};
  };
  std::array<Kind, kChargeKindCount> kind{};
};

// One cache line in traffic. Lines of an array of equal objects (pages) are taken together.
struct LineReport {
  struct Word {
    uint64_t reads = 0;   // by run: with line detail alone
    uint64_t writes = 0;
    uint64_t misses = 0;  // accesses that left the core
    uint64_t cost = 0;    // of these, ps
  };
  // An access to one word that waited because another CPU had written another (or, if equal, the same)
  // word of the line before; line detail alone.
  struct Pair {
    uint8_t waiter, writer;
    uint64_t n;
  };
  uint64_t offset = 0;   // of the line in the arena
  bool array = false;    // stands for all lines of its kind
  uint64_t cost = 0;     // ps
  uint64_t transfers = 0, misses = 0, lock_waits = 0;
  uint64_t lock_wait = 0;  // ps
  std::array<Word, 8> words{};
  std::vector<Pair> pairs;
};

struct SimCpuTimes {
  uint64_t clock = 0;     // at the end
  uint64_t accesses = 0;
  uint64_t user = 0;      // of the clock
  uint64_t idle = 0;      // of the clock: after its own operations
  // By phase: CPU time, first begin and last end.
  struct PerPhase {
    uint64_t time = 0, begin = 0, end = 0, user = 0;
    bool any = false;
  };
  std::array<PerPhase, 3> phase{};
};

struct SimResult {
  uint64_t hash = 0;  // of every CPU's accesses, times and values
  std::vector<SimCpuTimes> cpus;
  int runs = 0;                // rehearsals included
  uint64_t all_accesses = 0;   // of all runs
  uint64_t turns = 0;          // times a CPU had to be the earliest
  uint64_t ordered_lines = 0;
  bool strict = false;   // asked for, or the fallback after too many rehearsals
  std::string deadlock;  // empty, or what waits for what

  TraceCounts counts;
  std::array<RowTimes, kPartCount> times{};
  std::array<uint64_t, kSimRows> samples{};
  ChargeTimes charges;
  std::vector<LineReport> lines;  // most expensive first

  uint64_t accesses() const;
  uint64_t Time() const;                     // all CPUs, all causes
  uint64_t Wall(size_t phase) const;         // from the first CPU's start to the last one's end
  uint64_t RowTime(size_t row) const;        // all parts and causes
  CauseTimes RowCauses(size_t row) const;    // all parts
  uint64_t Samples() const;
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_SIM_RESULT_H_
