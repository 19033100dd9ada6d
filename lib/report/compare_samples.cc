// Native: the time of each function and its difference, from samples.
//
// Rounds    as those that are timed: the same slices, in turn, in new worlds now and then. The clock of the
//           samples of an arm stands still while another has its turn
// Times     the share of the samples times the arm's time of a page, which is known so much better that only
//           the samples make the interval
// Verdicts  99 % for all differences of the table together: each has its part of the hundredth
#include <algorithm>
#include <memory>
#include <utility>

#include "lib/measure/symbols.h"
#include "lib/report/compare_parts.h"
#include "memsim/machine/native.h"

namespace memsim {

namespace {

constexpr int kSampledPlacements = 24;
constexpr double kLeastSampledSeconds = 0.004;  // of a placement

using Groups = std::vector<std::vector<SampleCounts>>;  // [arm][placement]
using Hits = std::function<int64_t(const SampleCounts&)>;

// One placement of all arms, for about `seconds`.
absl::Status SampleOnce(const std::vector<const Configuration*>& arms, double seconds,
                        const CompareOptions& options, Random& random, Symbols& symbols, Groups& groups,
                        CompareResult::Sampling& sampling) {
  std::vector<std::unique_ptr<Sampler>> samplers;
  std::vector<CpuObserver*> observers;
  for (size_t i = 0; i < arms.size(); ++i) {
    samplers.push_back(std::make_unique<Sampler>(ProfileOptions().hz, SamplerThreads::kCallers));
    observers.push_back(samplers.back().get());
  }
  auto runners = OpenArms(arms, options.stop, random, observers);
  if (!runners.ok()) return runners.status();
  Paired rounds(Pointers(*runners), options.seed + groups[0].size());
  absl::Status status = rounds.Round();  // warms
  for (const auto& sampler : samplers) sampler->Clear();
  const uint64_t begin = native::NowNs();
  do {
    if (status.ok()) status = rounds.Round();
  } while (status.ok() && static_cast<double>(native::NowNs() - begin) * 1e-9 < seconds);
  if (!status.ok()) return status;
  for (size_t i = 0; i < arms.size(); ++i) groups[i].push_back(samplers[i]->Symbolise(symbols));
  sampling.mechanism = std::string(samplers[0]->mechanism());
  sampling.why = std::string(samplers[0]->why());
  return absl::OkStatus();
}

// The time of some functions in every arm. The last group is the control.
class Judged {
 public:
  Judged(const Groups& groups, const Paired& paired, double strict) : groups_(groups), strict_(strict) {
    for (size_t arm = 0; arm < groups.size(); ++arm) ns_.push_back(paired.Total(arm).centre);
  }

  void Fill(const Hits& hits, CompareFunction& function) const {
    const size_t control = groups_.size() - 1;
    const Interval again = DifferenceInterval(Ns(control, hits, strict_), Ns(0, hits, strict_));
    const auto ns = [&](size_t arm, double confidence) {
      const bool modelled = function.group != CompareGroup::kOutside;
      // What the counts know to be never called takes no time, and there is no doubt of it.
      if (modelled && function.cells[arm].counts.calls == 0) {
        return Interval{.confidence = confidence, .n = static_cast<int>(groups_[arm].size())};
      }
      return Ns(arm, hits, confidence);
    };
    for (size_t i = 0; i < function.cells.size(); ++i) {
      CompareFunction::Cell& cell = function.cells[i];
      cell.ns.value = ns(i, kConfidence);
      for (const SampleCounts& group : groups_[i]) {
        const double share = group.total == 0 ? 0 : static_cast<double>(hits(group)) /
                                                        static_cast<double>(group.total);
        cell.shares.push_back(share);
        cell.ns.values.push_back(share * ns_[i]);
      }
      cell.present |= cell.ns.value.centre > 0;
      if (i == 0) continue;
      cell.ns.difference = DifferenceInterval(cell.ns.value, function.cells[0].ns.value);
      cell.ns.verdict = Judge(cell.ns.difference, DifferenceInterval(ns(i, strict_), ns(0, strict_)), again,
                              function.cells[0].ns.value.centre);
    }
  }

 private:
  Interval Ns(size_t arm, const Hits& hits, double confidence) const {
    std::vector<int64_t> some, all;
    for (const SampleCounts& group : groups_[arm]) {
      some.push_back(hits(group));
      all.push_back(group.total);
    }
    Interval interval = GroupedShareInterval(some, all, confidence);
    for (double* value : {&interval.centre, &interval.low, &interval.high}) *value *= ns_[arm];
    return interval;
  }

  const Groups& groups_;
  std::vector<double> ns_;  // of a page, by arm
  double strict_;
};

int64_t SumOf(const SampleCounts& counts, CompareGroup group) {
  int64_t sum = 0;
  if (group == CompareGroup::kOutside) {
    for (const auto& [name, hits] : counts.Outside()) sum += hits;
    return sum;
  }
  for (const FnInfo& info : kFunctions) {
    if (GroupOf(info.id) == group) sum += counts.by_function[static_cast<size_t>(info.id)];
  }
  return sum;
}

bool Sampled(const Groups& groups, const Hits& hits) {
  return std::any_of(groups.begin(), groups.end(), [&](const std::vector<SampleCounts>& arm) {
    return std::any_of(arm.begin(), arm.end(), [&](const SampleCounts& counts) { return hits(counts) > 0; });
  });
}

}  // namespace

absl::Status SampleArms(const std::vector<const Configuration*>& arms, const Paired& paired, double seconds,
                        CompareResult& result) {
  Groups groups(arms.size());
  CompareResult::Sampling& sampling = result.sampling;
  Random random(result.options.seed + 2);
  Symbols symbols;
  const uint64_t begin = native::NowNs();
  const auto passed = [&] { return static_cast<double>(native::NowNs() - begin) * 1e-9; };
  const double each = std::max(seconds / kSampledPlacements, kLeastSampledSeconds);
  do {
    if (result.options.progress) result.options.progress("sampling", std::min(1.0, passed() / seconds));
    const absl::Status status =
        SampleOnce(arms, each, result.options, random, symbols, groups, sampling);
    if (absl::IsCancelled(status)) {
      result.partial = true;
      break;
    }
    if (!status.ok()) return status;
    ++sampling.placements;
  } while (passed() < seconds);
  sampling.seconds = passed();
  sampling.samples = INT64_MAX;
  for (const std::vector<SampleCounts>& arm : groups) {
    int64_t samples = 0;
    for (const SampleCounts& group : arm) samples += group.total;
    sampling.samples = std::min(sampling.samples, samples);
  }
  if (sampling.samples == 0) return absl::OkStatus();

  std::vector<std::pair<std::string, Hits>> rows;
  for (const FnInfo& info : kFunctions) {
    const Hits hits = [fn = static_cast<size_t>(info.id)](const SampleCounts& counts) {
      return counts.by_function[fn];
    };
    if (Sampled(groups, hits)) FunctionNamed(result, info.name, GroupOf(info.id));
    rows.emplace_back(info.name, hits);
  }
  for (size_t row = 0; row < SampleCounts().Outside().size(); ++row) {
    const Hits hits = [row](const SampleCounts& counts) { return counts.Outside()[row].second; };
    const absl::string_view name = SampleCounts().Outside()[row].first;
    if (Sampled(groups, hits)) FunctionNamed(result, name, CompareGroup::kOutside);
    rows.emplace_back(name, hits);
  }
  for (const CompareGroupInfo& group : kCompareGroups) {
    const Hits hits = [group](const SampleCounts& counts) { return SumOf(counts, group.group); };
    if (Sampled(groups, hits)) FunctionNamed(result, group.name, group.group).sum = true;
    rows.emplace_back(group.name, hits);
  }
  const size_t differences = result.functions.size() * (result.arms.size() - 1);
  const Judged judged(groups, paired, 1 - (1 - kVerdictConfidence) / static_cast<double>(differences));
  for (CompareFunction& function : result.functions) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& one) { return one.first == function.name; });
    judged.Fill(row->second, function);
  }
  return absl::OkStatus();
}

}  // namespace memsim
