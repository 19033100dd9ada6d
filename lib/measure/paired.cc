#include "memsim/measure/paired.h"

#include <utility>

namespace memsim {

namespace {

double PartOf(const Timing& timing, TimingPart part) {
  return part == TimingPart::kCharge ? timing.charge : timing.total();
}

}  // namespace

absl::StatusOr<Timing> TimingOf(const ExecResult& result) {
  // Workers run side by side: time per page is each worker's own, averaged over its pages.
  const CpuResult total = result.Total();
  const auto per_page = [&](Phase phase) {
    const CpuResult::PerPhase& p = total.phase[static_cast<size_t>(phase)];
    return p.pages == 0 ? 0.0 : static_cast<double>(p.ns) / static_cast<double>(p.pages);
  };
  if (!result.status.ok()) return result.status;
  if (result.interrupted) return absl::CancelledError("interrupted");
  if (total.phase[static_cast<size_t>(Phase::kCharge)].pages == 0) {
    return absl::FailedPreconditionError("the workload faulted no page: every charge was refused");
  }
  return Timing{per_page(Phase::kCharge), per_page(Phase::kUncharge)};
}

absl::StatusOr<RestObjects> SharedRest(RestKind kind) {
  auto rest = RestOfFault::Create(kind);
  if (!rest.ok()) return rest.status();
  RestObjects objects;
  objects.push_back(*std::move(rest));
  return objects;
}

absl::StatusOr<std::vector<std::unique_ptr<Runner>>> OpenArms(
    const std::vector<const Configuration*>& arms, const std::atomic<bool>* stop, Random& random,
    const std::vector<CpuObserver*>& observers) {
  const auto rest = SharedRest(arms[0]->rest);
  if (!rest.ok()) return rest.status();
  std::vector<std::unique_ptr<Runner>> runners(arms.size());
  for (const size_t arm : ShuffledOrder(arms.size(), random)) {
    CpuObserver* const observer = observers.empty() ? nullptr : observers[arm];
    auto runner =
        Runner::Open(*arms[arm], MachineKind::kNative, {.stop = stop, .observer = observer, .rest = *rest});
    if (!runner.ok()) return runner.status();
    runners[arm] = *std::move(runner);
  }
  return runners;
}

std::vector<Runner*> Pointers(const std::vector<std::unique_ptr<Runner>>& runners) {
  std::vector<Runner*> pointers;
  for (const auto& runner : runners) pointers.push_back(runner.get());
  return pointers;
}

absl::Status Paired::Round() {
  std::vector<Timing> round(arms_.size());
  for (const size_t arm : ShuffledOrder(arms_.size(), random_)) {
    // The first slice runs in what another arm left in the caches and the branch predictor: up to 2 ns a page
    // more, but less when that arm has the same code. So it says who came before, and is not kept.
    arms_[arm]->Execute();
    const auto timing = TimingOf(arms_[arm]->Execute());
    if (!timing.ok()) return timing.status();
    round[arm] = *timing;
  }
  if (!std::exchange(warm_, true)) return absl::OkStatus();
  for (size_t arm = 0; arm < arms_.size(); ++arm) timings_[arm].push_back(round[arm]);
  return absl::OkStatus();
}

void Paired::Replace(std::vector<Runner*> arms, int replica) {
  arms_ = std::move(arms);
  warm_ = false;
  if (placements_.back().begin != timings_[0].size()) {
    placements_.push_back({timings_[0].size(), replica});
  } else {
    placements_.back().replica = replica;
  }
}

template <class Get>
std::vector<Placed> Paired::PlacedValues(Get get) const {
  std::vector<Placed> all;
  for (size_t p = 0; p < placements_.size(); ++p) {
    const size_t end = p + 1 < placements_.size() ? placements_[p + 1].begin : timings_[0].size();
    std::vector<double> values;
    for (size_t r = placements_[p].begin; r < end; ++r) values.push_back(get(r));
    if (!values.empty()) all.push_back({Median(std::move(values)), placements_[p].replica});
  }
  return all;
}

template <class Get>
std::vector<double> Paired::PlacementValues(Get get) const {
  std::vector<double> values;
  if (placements_.size() == 1) {
    for (size_t r = 0; r < timings_[0].size(); ++r) values.push_back(get(r));
  } else {
    for (const Placed& one : PlacedValues(get)) values.push_back(one.value);
  }
  return values;
}

template <class Get>
std::vector<double> Paired::Values(Get get) const {
  const std::vector<Placed> placed = PlacedValues(get);
  return ReplicasIn(placed) > 1 ? ByReplica(placed) : PlacementValues(get);
}

template <class Get>
Interval Paired::IntervalOf(Get get, double confidence) const {
  const std::vector<Placed> placed = PlacedValues(get);
  return ReplicasIn(placed) > 1 ? WithLayout(placed, confidence)
                                : MedianInterval(PlacementValues(get), confidence);
}

Interval Paired::Charge(size_t arm) const {
  return IntervalOf([&](size_t r) { return timings_[arm][r].charge; });
}
Interval Paired::Uncharge(size_t arm) const {
  return IntervalOf([&](size_t r) { return timings_[arm][r].uncharge; });
}
Interval Paired::Total(size_t arm) const {
  return IntervalOf([&](size_t r) { return timings_[arm][r].total(); });
}

Interval Paired::Difference(size_t a, size_t b, double confidence, TimingPart part) const {
  return IntervalOf([&](size_t r) { return PartOf(timings_[a][r], part) - PartOf(timings_[b][r], part); },
                    confidence);
}

Interval Paired::DifferenceInPlace(size_t a, size_t b, double confidence, TimingPart part) const {
  return InPlace(
      PlacedValues([&](size_t r) { return PartOf(timings_[a][r], part) - PartOf(timings_[b][r], part); }),
      confidence);
}

std::vector<double> Paired::DifferencesByReplica(size_t a, size_t b) const {
  return ByReplica(
      PlacedValues([&](size_t r) { return timings_[a][r].total() - timings_[b][r].total(); }));
}

Interval Paired::Ratio(size_t a, size_t b) const {
  return IntervalOf([&](size_t r) { return timings_[a][r].total() / timings_[b][r].total(); });
}

std::vector<double> Paired::Medians(size_t arm, TimingPart part) const {
  return PlacementValues([&](size_t r) { return PartOf(timings_[arm][r], part); });
}

Interval Paired::Residue(size_t base, size_t part, size_t whole) const {
  const auto added = [&](size_t arm) {
    return Values([&](size_t r) { return timings_[arm][r].total() - timings_[base][r].total(); });
  };
  const std::vector<double> parts = added(part);
  const std::vector<double> wholes = added(whole);
  return BootstrapInterval(static_cast<int>(parts.size()), 1, [&](const std::vector<int>& picked) {
    std::vector<double> some_parts, some_wholes;
    for (const int i : picked) {
      some_parts.push_back(parts[static_cast<size_t>(i)]);
      some_wholes.push_back(wholes[static_cast<size_t>(i)]);
    }
    const double all = Median(std::move(some_wholes));
    return all == 0 ? 0 : Median(std::move(some_parts)) / all;
  });
}

}  // namespace memsim
