#include "memsim/measure/paired.h"

#include <numeric>
#include <utility>

namespace memsim {

absl::StatusOr<Timing> TimingOf(const ExecResult& result) {
  // Workers run side by side: time per page is each worker's own, averaged over its pages.
  const CpuResult total = result.Total();
  const auto per_page = [&](Phase phase) {
    const CpuResult::PerPhase& p = total.phase[static_cast<size_t>(phase)];
    return p.pages == 0 ? 0.0 : static_cast<double>(p.ns) / static_cast<double>(p.pages);
  };
  if (result.interrupted) return absl::CancelledError("interrupted");
  if (total.phase[static_cast<size_t>(Phase::kCharge)].pages == 0) {
    return absl::FailedPreconditionError("the workload faulted no page: every charge was refused");
  }
  return Timing{per_page(Phase::kCharge), per_page(Phase::kUncharge)};
}

absl::Status Paired::Round() {
  std::vector<size_t> order(arms_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
  std::vector<Timing> round(arms_.size());
  for (const size_t arm : order) {
    const auto timing = TimingOf(arms_[arm]->Execute());
    if (!timing.ok()) return timing.status();
    round[arm] = *timing;
  }
  if (!std::exchange(warm_, true)) return absl::OkStatus();
  for (size_t arm = 0; arm < arms_.size(); ++arm) timings_[arm].push_back(round[arm]);
  return absl::OkStatus();
}

template <class Get>
Interval Paired::Over(size_t arm, Get get) const {
  std::vector<double> values;
  for (const Timing& timing : timings_[arm]) values.push_back(get(timing));
  return MedianInterval(std::move(values));
}

Interval Paired::Charge(size_t arm) const {
  return Over(arm, [](const Timing& t) { return t.charge; });
}
Interval Paired::Uncharge(size_t arm) const {
  return Over(arm, [](const Timing& t) { return t.uncharge; });
}
Interval Paired::Total(size_t arm) const {
  return Over(arm, [](const Timing& t) { return t.total(); });
}

Interval Paired::Difference(size_t a, size_t b) const {
  std::vector<double> values;
  for (size_t r = 0; r < timings_[a].size(); ++r) {
    values.push_back(timings_[a][r].total() - timings_[b][r].total());
  }
  return MedianInterval(std::move(values));
}

Interval Paired::Residue(size_t base, size_t part, size_t whole) const {
  return BootstrapInterval(rounds(), 1, [&](const std::vector<int>& picked) {
    std::vector<double> parts, wholes;
    for (const int r : picked) {
      const size_t i = static_cast<size_t>(r);
      parts.push_back(timings_[part][i].total() - timings_[base][i].total());
      wholes.push_back(timings_[whole][i].total() - timings_[base][i].total());
    }
    const double added = Median(std::move(wholes));
    return added == 0 ? 0 : Median(std::move(parts)) / added;
  });
}

}  // namespace memsim
