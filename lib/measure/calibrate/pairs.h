// What passes between two CPUs: a line, a lock, an interrupt; and what CPUs share: a core, memory.
//
// Units     ns of the steady clock, except where said
// Threads   each function starts pinned threads, joins them and returns one value of one round
// Errors    no value when a thread cannot be pinned or the host refuses what is measured
// Shared    a slice takes some 10 us, so that most are over before a neighbour takes either CPU. Who waits
//           long yields: two threads on one CPU end, they only end late
#ifndef MEMSIM_LIB_MEASURE_CALIBRATE_PAIRS_H_
#define MEMSIM_LIB_MEASURE_CALIBRATE_PAIRS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "lib/measure/calibrate/host.h"

namespace memsim::calibrate {

struct CpuPair {
  int a = 0, b = 0;
};

enum class Distance { kSmt, kCore, kSocket };

// Pairs of CPUs that far apart; at most `most`, spread over all of them.
std::vector<CpuPair> PairsOf(const Topology& topology, Distance distance, size_t most);

// A line that both write in turn, half the round trip: it has arrived and is owned.
std::optional<double> TransferNs(CpuPair pair);

// A ticket lock that both want all the time: from one release to the next.
std::optional<double> LockHandoffNs(CpuPair pair);

// InstructionNs() on `a` while `b` does the same.
std::optional<double> SharedInstructionNs(CpuPair pair);

// What membarrier() takes longer while another thread of the process runs on `b`: an interrupt there and
// its answer.
std::optional<double> IpiNs(CpuPair pair);

// The same for madvise() that unmaps a page: the flush of the other CPU's TLB.
std::optional<double> ShootdownNs(CpuPair pair);

// Lines of memory that all of `cpus` together write in a ns of their CPU time when they do nothing but
// zero pages of `memory`, a part each.
std::optional<double> LinesPerNs(const std::vector<int>& cpus, absl::Span<std::byte> memory);

}  // namespace memsim::calibrate

#endif  // MEMSIM_LIB_MEASURE_CALIBRATE_PAIRS_H_
