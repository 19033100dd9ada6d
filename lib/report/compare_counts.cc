// The exact side of a comparison, the same on all machines; and the rows by function.
#include <algorithm>
#include <utility>

#include "lib/report/compare_parts.h"

namespace memsim {

namespace {

void AddSum(CompareResult& result, const CompareGroupInfo& group) {
  CompareFunction sum{std::string(group.name), group.group, true, {}};
  sum.cells.resize(result.arms.size());
  for (const CompareFunction& function : result.functions) {
    if (function.group != group.group) continue;
    for (size_t arm = 0; arm < sum.cells.size(); ++arm) {
      sum.cells[arm].present |= function.cells[arm].present;
      sum.cells[arm].counts += function.cells[arm].counts;
    }
  }
  result.functions.push_back(std::move(sum));
}

// Orders the functions of a group: the most that an arm spends there.
double Weight(const CompareFunction& function, MachineKind machine) {
  double weight = 0;
  for (const CompareFunction::Cell& cell : function.cells) {
    weight = std::max(weight, machine == MachineKind::kTracing ? cell.counts.instructions
                                                               : cell.ns.value.centre);
  }
  return weight;
}

}  // namespace

CompareFunction& FunctionNamed(CompareResult& result, absl::string_view name, CompareGroup group) {
  const auto known = std::find_if(result.functions.begin(), result.functions.end(),
                                  [&](const CompareFunction& one) { return one.name == name; });
  if (known != result.functions.end()) return *known;
  CompareFunction& made = result.functions.emplace_back();
  made.name = std::string(name);
  made.group = group;
  made.cells.resize(result.arms.size());
  return made;
}

absl::Status CountArms(CompareResult& result) {
  const size_t arms = result.arms.size();
  for (size_t i = 0; i < arms; ++i) {
    if (result.options.progress) {
      result.options.progress("counting", static_cast<double>(i) / static_cast<double>(arms));
    }
    auto counts = CountExactly(result.arms[i].configuration, result.options.stop);
    if (!counts.ok()) return counts.status();
    result.arms[i].counts = *std::move(counts);
  }
  for (const FnInfo& info : kFunctions) {
    const size_t fn = static_cast<size_t>(info.id);
    if (std::all_of(result.arms.begin(), result.arms.end(),
                    [&](const CompareArm& arm) { return arm.counts.by_function[fn].calls == 0; })) {
      continue;
    }
    CompareFunction& function = FunctionNamed(result, info.name, GroupOf(info.id));
    for (size_t i = 0; i < arms; ++i) {
      function.cells[i].counts = result.arms[i].counts.by_function[fn];
      function.cells[i].present = function.cells[i].counts.calls > 0;
    }
  }
  for (const CompareGroupInfo& group : kCompareGroups) {
    if (group.group != CompareGroup::kOutside) AddSum(result, group);
  }
  for (CompareFunction& function : result.functions) {
    for (CompareFunction::Cell& cell : function.cells) {
      cell.exact = JudgeCounts(cell.counts.instructions, function.cells[0].counts.instructions);
    }
  }
  for (CompareArm& arm : result.arms) {
    arm.exact = JudgeCounts(arm.counts.memcg_total.instructions,
                            result.arms[0].counts.memcg_total.instructions);
  }
  return absl::OkStatus();
}

void SortFunctions(CompareResult& result) {
  std::stable_sort(result.functions.begin(), result.functions.end(),
                   [&](const CompareFunction& a, const CompareFunction& b) {
                     if (a.group != b.group) return a.group < b.group;
                     if (a.sum != b.sum) return a.sum;
                     return Weight(a, result.machine) > Weight(b, result.machine);
                   });
}

}  // namespace memsim
