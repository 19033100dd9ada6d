#include "lib/measure/calibrate/rounds.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "lib/measure/calibrate/core.h"
#include "lib/measure/calibrate/memory.h"
#include "memsim/report/profile.h"
#include "memsim/session/threads.h"
#include "memsim/units.h"

namespace memsim::calibrate {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// Pairs of each distance that take part in a round: on a large host there are thousands.
constexpr size_t kMostPairs = 6;

class Progress {
 public:
  explicit Progress(const CalibrateOptions& options) : options_(options) {}
  void Show(absl::string_view what, double done) const {
    if (options_.progress) options_.progress(what, done);
  }
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

 private:
  const CalibrateOptions& options_;
};

// The buffers of one CPU's measurements.
class CoreRounds {
 public:
  static absl::StatusOr<std::unique_ptr<CoreRounds>> Create(const Sizes& sizes, uint64_t seed) {
    auto rest = RestOfFault::Create(RestKind::kFault);
    if (!rest.ok()) return rest.status();
    std::unique_ptr<CoreRounds> rounds(new CoreRounds(sizes, seed, *std::move(rest)));
    for (const auto& [quantity, chase] : rounds->chases_) {
      if (!chase->ok()) return absl::ResourceExhaustedError("the host has no memory for the buffers");
    }
    if (rounds->pages_.base() == nullptr) {
      return absl::ResourceExhaustedError("the host has no memory for the buffers");
    }
    std::fill_n(rounds->pages_.base(), sizes.dram, std::byte{1});
    return rounds;
  }

  // Appends one value to each quantity, or none of them when it is stopped.
  void Round(const Progress& progress, Rounds* to) {
    std::vector<std::pair<Quantity, double>> values;
    const auto add = [&](Quantity quantity, double value) { values.push_back({quantity, value}); };
    add(kClock, ClockGhz());
    const double instruction = InstructionNs();
    add(kInstruction, instruction);
    add(kRmw, RmwNs());
    add(kCall, CallNs() - 2 * instruction);
    add(kEmptyCall, EmptyCallNs() - 2 * instruction);
    for (const auto& [quantity, chase] : chases_) {
      if (progress.stopped()) return;
      add(quantity, quantity == kL3 ? chase->SharedHitNs() : chase->LoadNs());
    }
    add(kClearL2, clear_l2_.PageNs());
    const double clear = clear_l3_.PageNs();
    add(kClearL3, clear);
    add(kClear, clear_.PageNs());
    if (progress.stopped()) return;
    const FaultNs fault = MeasureFaults(*rest_);
    add(kFault, fault.fault);
    add(kException, fault.fault - clear);
    add(kUnmap, fault.unmap);
    for (const auto& [quantity, value] : values) to->values[quantity].push_back(value);
  }

  absl::Span<std::byte> pages() const { return {pages_.base(), pages_.size()}; }

 private:
  CoreRounds(const Sizes& sizes, uint64_t seed, std::unique_ptr<RestOfFault> rest)
      : rest_(std::move(rest)),
        pages_(sizes.dram),
        clear_l2_(pages_.base(), sizes.clear_l2),
        clear_l3_(pages_.base(), sizes.clear_l3),
        clear_(pages_.base(), sizes.dram) {
    const auto add = [&](Quantity quantity, uint64_t bytes, Chase::Laps laps) {
      if (bytes != 0) chases_.push_back({quantity, std::make_unique<Chase>(bytes, laps, seed)});
    };
    add(kL1, sizes.l1, Chase::Laps::kWarm);
    add(kL2, sizes.l2, Chase::Laps::kWarm);
    add(kL3, sizes.l3, Chase::Laps::kWarm);
    add(kHalfL3, sizes.half_l3, Chase::Laps::kWarm);
    add(kDram, sizes.dram, Chase::Laps::kCold);
  }

  std::unique_ptr<RestOfFault> rest_;
  internal::HugeMapping pages_;
  Clears clear_l2_, clear_l3_, clear_;
  std::vector<std::pair<Quantity, std::unique_ptr<Chase>>> chases_;
};

void RoundBetween(const Plan& plan, absl::Span<std::byte> memory, Rounds* to) {
  const auto add = [to](Quantity quantity, std::optional<double> value) {
    if (value.has_value()) to->values[quantity].push_back(*value);
  };
  for (const auto& [distance, quantity] : {std::pair{Distance::kSmt, kTransferSmt},
                                           std::pair{Distance::kCore, kTransferCore},
                                           std::pair{Distance::kSocket, kTransferSocket}}) {
    std::vector<double> values;
    for (const CpuPair pair : plan.pairs[static_cast<size_t>(distance)]) {
      if (const auto ns = TransferNs(pair)) values.push_back(*ns);
    }
    if (!values.empty()) add(quantity, Median(std::move(values)));
  }
  if (plan.has_pair) {
    add(kLock, LockHandoffNs(plan.pair));
    add(kIpi, IpiNs(plan.pair));
    add(kShootdown, ShootdownNs(plan.pair));
  }
  if (const auto& smt = plan.pairs[static_cast<size_t>(Distance::kSmt)]; !smt.empty()) {
    add(kSharedInstruction, SharedInstructionNs(smt[0]));
  }
  if (const auto lines = LinesPerNs(plan.memory_cpus, memory)) add(kLine, 1 / *lines);
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const CalibrateOptions& options) {
  Plan plan;
  plan.topology = ReadTopology(kSysCpu, AllowedCpus());
  const std::vector<HostCpu>& cpus = plan.topology.cpus;
  plan.caches = ReadCaches(kSysCpu, cpus[0].cpu);
  const Caches& caches = plan.caches;
  const uint64_t last = std::max({caches.l1.bytes, caches.l2.bytes, caches.l3.bytes});
  Sizes& sizes = plan.sizes;
  sizes.dram = std::min({options.most_memory, std::max(4 * last, 64 * kMiB), FreeMemory() / 8});
  sizes.dram = sizes.dram / (2 * kMiB) * (2 * kMiB);
  if (sizes.dram == 0) {
    return absl::ResourceExhaustedError("too little free memory; valid: 16 MiB for each buffer");
  }
  sizes.l1 = caches.l1.bytes / 2;
  sizes.l2 = caches.l2.bytes / 2;
  // Who shares an L3 with neighbours may find nine tenths of it taken (seen: 3 of 32 MiB left): twice the
  // L2 is too much for the L2 and as little as possible beyond.
  sizes.half_l3 = std::min(caches.l3.bytes / 2, sizes.dram / 2);
  sizes.l3 = std::min(2 * std::max(caches.l1.bytes, caches.l2.bytes), sizes.half_l3);
  if (sizes.l3 == sizes.half_l3) sizes.half_l3 = 0;
  sizes.clear_l2 = std::min(std::max(sizes.l2, sizes.l1), sizes.dram);
  sizes.clear_l3 = std::min(uint64_t{kFaults} * kPageSize, sizes.dram);
  for (const Distance distance : {Distance::kSmt, Distance::kCore, Distance::kSocket}) {
    plan.pairs[static_cast<size_t>(distance)] = PairsOf(plan.topology, distance, kMostPairs);
  }
  for (const Distance distance : {Distance::kCore, Distance::kSmt, Distance::kSocket}) {
    const auto& pairs = plan.pairs[static_cast<size_t>(distance)];
    if (plan.has_pair || pairs.empty()) continue;
    plan.pair = pairs[0];
    plan.has_pair = true;
  }
  for (const HostCpu& cpu : cpus) {
    if (cpu.package == cpus[0].package) plan.memory_cpus.push_back(cpu.cpu);
  }
  return plan;
}

absl::StatusOr<Rounds> RunRounds(const Plan& plan, const CalibrateOptions& options) {
  const Progress progress(options);
  Rounds rounds;
  absl::StatusOr<std::unique_ptr<CoreRounds>> core = nullptr;
  progress.Show("making buffers", 0);
  RunOnCpus(1, [&](CpuId) {
    core = CoreRounds::Create(plan.sizes, options.seed);
    if (!core.ok()) return;
    Rounds warm;
    (*core)->Round(progress, &warm);
    // One after the other in each round: a hypervisor that moves a CPU half way is seen in the intervals.
    for (int r = 0; r < options.repetitions && !progress.stopped(); ++r) {
      progress.Show("measuring", static_cast<double>(r) / options.repetitions);
      (*core)->Round(progress, &rounds);
      if (!progress.stopped()) RoundBetween(plan, (*core)->pages(), &rounds);
    }
    if (progress.stopped()) return;
    rounds.irq_flag = MeasureIrqStandIn(IrqStandIn::kFlag);
    rounds.irq_popf = MeasureIrqStandIn(IrqStandIn::kPopf);
  });
  if (!core.ok()) return core.status();
  rounds.partial = progress.stopped();
  return rounds;
}

}  // namespace memsim::calibrate
