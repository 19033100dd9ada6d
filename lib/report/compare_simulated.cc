// Simulated: every arm with every seed, compared seed by seed.
#include <algorithm>
#include <optional>
#include <utility>

#include "lib/report/compare_parts.h"
#include "lib/report/jobs.h"
#include "memsim/report/sim_profile.h"

namespace memsim {

namespace {

using Profiles = std::vector<SimProfile>;  // of an arm, by seed

// Jobs are seed by seed, so that what is finished when somebody interrupts is whole seeds.
absl::StatusOr<std::vector<Profiles>> Simulate(CompareResult& result) {
  const size_t arms = result.arms.size();
  const CompareOptions& options = result.options;
  std::vector<std::optional<SimProfile>> jobs(arms * static_cast<size_t>(options.seeds));
  const auto simulate = [&](size_t job) {
    Configuration configuration = result.arms[job % arms].configuration;
    configuration.seed = options.seed + job / arms;
    SimProfileOptions one;
    one.seeds = 1;
    one.stop = options.stop;
    auto profile = MakeSimProfile(configuration, one);
    if (profile.ok()) jobs[job] = *std::move(profile);
    return absl::IsCancelled(profile.status()) ? absl::OkStatus() : profile.status();
  };
  const absl::Status status = RunJobs(jobs.size(), {0, options.stop, options.progress}, simulate);
  if (!status.ok()) return status;
  std::vector<Profiles> profiles(arms);
  for (size_t seed = 0; seed < static_cast<size_t>(options.seeds); ++seed) {
    const auto first = jobs.begin() + static_cast<std::ptrdiff_t>(seed * arms);
    const auto last = first + static_cast<std::ptrdiff_t>(arms);
    if (!std::all_of(first, last, [](const auto& job) { return job.has_value(); })) {
      result.partial = true;
      break;
    }
    for (size_t arm = 0; arm < arms; ++arm) profiles[arm].push_back(*std::move(first[static_cast<int>(arm)]));
    ++result.seeds;
  }
  if (result.seeds == 0) return absl::CancelledError("interrupted");
  return profiles;
}

// The values of an arm by seed, and their differences to those of the first.
void Fill(std::vector<double> values, const Compared* first, Compared& to) {
  to.values = std::move(values);
  to.value = SeedRange(to.values);
  if (first == nullptr) return;
  std::vector<double> differences;
  for (size_t seed = 0; seed < to.values.size(); ++seed) {
    differences.push_back(to.values[seed] - first->values[seed]);
  }
  to.difference = SeedRange(differences);
  to.verdict = JudgeSeeds(differences, first->value.centre);
}

template <class Of>
std::vector<double> BySeed(const Profiles& profiles, Of of) {
  std::vector<double> values;
  for (const SimProfile& profile : profiles) values.push_back(of(profile));
  return values;
}

CompareGroup GroupOfRow(size_t row) {
  return row < kFnCount ? GroupOf(static_cast<Fn>(row)) : CompareGroup::kOutside;
}

// Sums over the rows that are wanted.
template <class Wanted>
void FillFunction(const std::vector<Profiles>& profiles, Wanted wanted, CompareFunction& function) {
  for (size_t arm = 0; arm < profiles.size(); ++arm) {
    CompareFunction::Cell& cell = function.cells[arm];
    const auto sum = [&](Spread SimRow::*what) {
      return BySeed(profiles[arm], [&](const SimProfile& profile) {
        double all = 0;
        for (const SimRow& row : profile.rows) {
          if (wanted(row.row)) all += (row.*what).mean;
        }
        return all;
      });
    };
    Fill(sum(&SimRow::ns), arm == 0 ? nullptr : &function.cells[0].ns, cell.ns);
    cell.shares = sum(&SimRow::sampled);
    cell.present |= cell.ns.value.high > 0;
  }
}

void FillFunctions(const std::vector<Profiles>& profiles, CompareResult& result) {
  for (const Profiles& arm : profiles) {
    for (const SimProfile& profile : arm) {
      for (const SimRow& row : profile.rows) {
        FunctionNamed(result, SimRowName(row.row), GroupOfRow(row.row));
        if (row.row >= kFnCount) {
          FunctionNamed(result, kCompareGroups.back().name, CompareGroup::kOutside).sum = true;
        }
      }
    }
  }
  for (CompareFunction& function : result.functions) {
    if (function.sum) {
      FillFunction(profiles, [&](size_t row) { return GroupOfRow(row) == function.group; }, function);
    } else {
      FillFunction(profiles, [&](size_t row) { return SimRowName(row) == function.name; }, function);
    }
  }
}

}  // namespace

absl::Status SimulateArms(CompareResult& result) {
  const auto profiles = Simulate(result);
  if (!profiles.ok()) return profiles.status();
  for (size_t i = 0; i < result.arms.size(); ++i) {
    CompareArm& arm = result.arms[i];
    const CompareArm* first = i == 0 ? nullptr : &result.arms[0];
    const Profiles& of = (*profiles)[i];
    Fill(BySeed(of, [](const SimProfile& one) { return one.total.mean; }),
         first == nullptr ? nullptr : &first->total, arm.total);
    Fill(BySeed(of, [](const SimProfile& one) { return one.charge.mean; }),
         first == nullptr ? nullptr : &first->fault, arm.fault);
    arm.wall = BySeed(of, [](const SimProfile& one) { return one.wall.mean; });
  }
  FillFunctions(*profiles, result);
  return absl::OkStatus();
}

}  // namespace memsim
