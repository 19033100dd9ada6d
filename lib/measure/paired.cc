#include "memsim/measure/paired.h"

#include <numeric>
#include <utility>

namespace memsim {

namespace {

// 0 to n - 1 in an order drawn from `random`.
std::vector<size_t> ShuffledOrder(size_t n, Random& random) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return order;
}

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
    const auto timing = TimingOf(arms_[arm]->Execute());
    if (!timing.ok()) return timing.status();
    round[arm] = *timing;
  }
  if (!std::exchange(warm_, true)) return absl::OkStatus();
  for (size_t arm = 0; arm < arms_.size(); ++arm) timings_[arm].push_back(round[arm]);
  return absl::OkStatus();
}

void Paired::Replace(std::vector<Runner*> arms) {
  arms_ = std::move(arms);
  warm_ = false;
  if (placements_.back() != timings_[0].size()) placements_.push_back(timings_[0].size());
}

template <class Get>
std::vector<double> Paired::Values(Get get) const {
  const size_t rounds = timings_[0].size();
  std::vector<double> all;
  for (size_t p = 0; p < placements_.size(); ++p) {
    const size_t end = p + 1 < placements_.size() ? placements_[p + 1] : rounds;
    std::vector<double> values;
    for (size_t r = placements_[p]; r < end; ++r) values.push_back(get(r));
    if (placements_.size() == 1) return values;
    if (!values.empty()) all.push_back(Median(std::move(values)));
  }
  return all;
}

Interval Paired::Charge(size_t arm) const {
  return MedianInterval(Values([&](size_t r) { return timings_[arm][r].charge; }));
}
Interval Paired::Uncharge(size_t arm) const {
  return MedianInterval(Values([&](size_t r) { return timings_[arm][r].uncharge; }));
}
Interval Paired::Total(size_t arm) const {
  return MedianInterval(Values([&](size_t r) { return timings_[arm][r].total(); }));
}

Interval Paired::Difference(size_t a, size_t b, double confidence, TimingPart part) const {
  return MedianInterval(
      Values([&](size_t r) { return PartOf(timings_[a][r], part) - PartOf(timings_[b][r], part); }),
      confidence);
}

std::vector<double> Paired::Medians(size_t arm, TimingPart part) const {
  return Values([&](size_t r) { return PartOf(timings_[arm][r], part); });
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
