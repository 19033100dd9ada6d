// A comparison as mmtests' compare-kernels.sh prints it. It has no place for an interval, so the verdicts
// stand under the table.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/report/compare_parts.h"
#include "lib/report/mmtests_table.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

// Is the unmap timed apart? Else a page's whole time is that of its fault.
bool Apart(const CompareResult& r) {
  return std::any_of(r.arms.begin(), r.arms.end(),
                     [](const CompareArm& arm) { return arm.fault.values != arm.total.values; });
}

// One row of mmtests: a statistic of the values of each arm.
struct MmtestsRow {
  std::string statistic, name;
  Better better = Better::kMore;
  std::function<double(const CompareArm&)> value;
  std::function<bool(const CompareArm&)> significant = [](const CompareArm&) { return false; };
};

using ValuesOf = std::function<std::vector<double>(const CompareArm&)>;

// As mmtests sums up a rate.
void AddRates(const std::string& name, const ValuesOf& rates,
              const std::function<bool(const CompareArm&)>& significant, std::vector<MmtestsRow>& rows) {
  const auto row = [&](const char* statistic, Better better, double (*of)(const std::vector<double>&)) {
    rows.push_back({statistic, name, better, [=](const CompareArm& arm) { return of(rates(arm)); }});
  };
  using Values = std::vector<double>;
  row("Min", Better::kMore, [](const Values& v) { return *std::min_element(v.begin(), v.end()); });
  row("Hmean", Better::kMore, &HarmonicMean);
  if (significant) rows.back().significant = significant;
  row("Stddev", Better::kLess, &StandardDeviation);
  row("CoeffVar", Better::kLess, [](const Values& v) { return 100 * StandardDeviation(v) / Mean(v); });
  row("Max", Better::kMore, [](const Values& v) { return *std::max_element(v.begin(), v.end()); });
}

std::vector<MmtestsRow> MmtestsRows(const CompareResult& r) {
  std::vector<MmtestsRow> rows;
  const int clients = r.arms[0].configuration.threads;
  if (Timed(r)) {
    AddRates(PftRowName(PftMetric::kFaultsPerCpu, clients),
             [](const CompareArm& arm) { return Rates(arm.fault.values); },
             [](const CompareArm& arm) { return IsResolved(arm.fault.verdict.kind); }, rows);
    if (r.machine == MachineKind::kSimulated) {
      AddRates(PftRowName(PftMetric::kFaultsPerSec, clients),
               [](const CompareArm& arm) { return Rates(arm.wall); }, nullptr, rows);
    }
    if (Apart(r)) {
      AddRates(absl::StrCat("pages/cpu-", clients),
               [](const CompareArm& arm) { return Rates(arm.total.values); },
               [](const CompareArm& arm) { return IsResolved(arm.total.verdict.kind); }, rows);
    }
  }
  for (const PerPageField& field : kPerPageFields) {
    if (Timed(r) && field.value != &PerPage::instructions) continue;
    rows.push_back({"Amean", absl::StrCat(field.name, "/page"), Better::kLess,
                    [field](const CompareArm& arm) { return arm.counts.memcg_total.*field.value; }});
  }
  return rows;
}

}  // namespace

std::string CompareMmtests(const CompareResult& r, const Environment& environment) {
  std::vector<Titles> titles;
  for (size_t i = 0; i < r.arms.size(); ++i) {
    Titles title = TitlesOf(r.arms[i].configuration);
    title[0] = absl::StrCat(ArmLetter(i), " ", title[0]);
    titles.push_back(std::move(title));
  }
  const std::string table = InBlocks(titles, [&](size_t first, size_t last, Table& text) {
    for (const MmtestsRow& row : MmtestsRows(r)) {
      const double base = row.value(r.arms[0]);
      AddRow(text, MmtestsLabel(row.statistic, row.name), first, last, [&](size_t i) {
        const double value = row.value(r.arms[i]);
        // There is no percent of nothing, but nothing is as good as nothing.
        if (base == 0 && value != 0) return MmtestsCell(std::nullopt, value);
        return MmtestsCell(base, value, row.better, i > 0 && row.significant(r.arms[i]));
      });
    }
  });
  std::string text = absl::StrCat(CompareHeading(r, environment), "\n", ArmLines(r), "\n",
                                  r.arms[0].configuration.workload.name, " faults\n", table, "\n",
                                  VerdictLines(r), PublishedLines(r), "\n");
  std::string notes;
  if (Timed(r)) {
    absl::StrAppend(
        &notes, "Statistics over ", r.machine == MachineKind::kNative ? r.placements : r.seeds, " ",
        Repeated(r), ". faults/cpu: pages per CPU second of the faults",
        Apart(r)
            ? ", as pft has it; pages/cpu: of the faults and the unmap, of which the verdict speaks"
            : "",
        ". Percent is to A, positive is better; between asterisks: resolved. ");
  } else {
    notes = "Percent is to A, positive is better. ";
  }
  return absl::StrCat(text, Wrap(absl::StrCat(notes, "Counts are exact, in the controller."), kColumns, ""));
}

}  // namespace memsim
