#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/report/json.h"
#include "lib/report/mmtests_table.h"
#include "lib/report/table.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

// mmtests' report: rates with their percent to the first column, then the times of the whole run.
struct Report {
  std::vector<Titles> titles;
  std::vector<PftTotals> totals;  // by column
  int digits = 2;                 // of the totals
  std::function<std::optional<double>(size_t row, size_t column)> rate;
};

std::string ReportText(const std::vector<PftRow>& rows, const Report& report) {
  const std::string rates = InBlocks(report.titles, [&](size_t first, size_t last, Table& table) {
    for (size_t row = 0; row < rows.size(); ++row) {
      AddRow(table, MmtestsLabel("Hmean", PftRowName(rows[row].metric, rows[row].clients)), first, last,
             [&](size_t column) { return MmtestsCell(report.rate(row, 0), report.rate(row, column)); });
    }
  });
  const std::string totals = InBlocks(report.titles, [&](size_t first, size_t last, Table& table) {
    for (size_t i = 0; i < kPftTotals.size(); ++i) {
      AddRow(table, std::string(kPftTotals[i]), first, last, [&](size_t column) {
        const auto& seconds = report.totals[column][i];
        return seconds.has_value() ? Fixed(*seconds, report.digits) : "-";
      });
    }
  });
  return absl::StrCat(rates, "\n", totals);
}

std::string SimulatedReport(const PftTable& table) {
  Report report;
  report.digits = 4;
  for (const PftColumn& column : table.columns) {
    report.titles.push_back(TitlesOf(column.configuration));
    report.totals.push_back(column.totals);
  }
  report.rate = [&](size_t row, size_t column) { return table.rows[row].Rate(column); };
  return absl::StrCat("pft faults, simulated\n", ReportText(table.rows, report));
}

std::string Spreads(const PftTable& table) {
  if (table.seeds == 1) return "One seed: there is no spread to show.\n";
  std::vector<Titles> titles;
  for (const PftColumn& column : table.columns) titles.push_back(TitlesOf(column.configuration));
  return absl::StrCat(
      "Spread over the seeds: least…most, and their distance in percent of the mean\n",
      InBlocks(titles, [&](size_t first, size_t last, Table& text) {
        for (const PftRow& row : table.rows) {
          AddRow(text, PftRowName(row.metric, row.clients), first, last, [&](size_t column) -> std::string {
            if (!row.cells[column].has_value()) return "-";
            const SeedSpread& rate = row.cells[column]->rate;
            return absl::StrFormat("%.0f…%.0f (%.2f%%)", rate.low, rate.high,
                                   100 * (rate.high - rate.low) / rate.value);
          });
        }
      }));
}

std::string PublishedReport(const PftTable& table) {
  const PublishedThroughput& published = table.published;
  Report report;
  for (const PublishedThroughput::Column& column : published.columns) {
    report.titles.push_back({column.title, column.kernel, column.memcg});
    report.totals.push_back(column.totals);
  }
  // Rows of which something was published.
  std::vector<PftRow> rows;
  for (const PftRow& row : table.rows) {
    if (std::any_of(published.columns.begin(), published.columns.end(), [&](const auto& column) {
          return column.Rate(row.metric, row.clients).has_value();
        })) {
      rows.push_back(row);
    }
  }
  report.rate = [&](size_t row, size_t column) {
    return published.columns[column].Rate(rows[row].metric, rows[row].clients);
  };
  return absl::StrCat("pft faults, published\n",
                      Wrap(absl::StrCat(published.machine, "; ", published.source), kColumns, ""),
                      ReportText(rows, report));
}

std::string ErrorCell(const std::optional<PftCell>& cell) {
  if (!cell.has_value() || !cell->error.has_value()) return "-  ";
  return absl::StrFormat("%+.2f %%%s", *cell->error, cell->calibrated ? " *" : "  ");
}

std::string CalibrationNotes(const PftTable& table) {
  std::string text, last;
  for (const PftCalibration& one : table.machine.calibrated) {
    if (one.text == last) continue;  // one parameter, fitted to several cells
    last = one.text;
    const char* what = one.cell.empty() ? "The machine was also fitted to: "
                                        : "* fitted to, not predicted; not in the mean: ";
    absl::StrAppend(&text, Wrap(absl::StrCat(what, one.text), kColumns, ""));
  }
  return text;
}

std::string Errors(const PftTable& table) {
  std::vector<Titles> titles;
  std::vector<size_t> columns;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].published.empty()) continue;
    columns.push_back(column);
    titles.push_back(TitlesOf(table.columns[column].configuration));
  }
  if (columns.empty()) return "Nothing was published for these columns.\n";
  return absl::StrCat(
      "Error: simulated minus published, percent of published\n",
      InBlocks(titles, [&](size_t first, size_t last, Table& text) {
        for (const PftRow& row : table.rows) {
          AddRow(text, PftRowName(row.metric, row.clients), first, last,
                 [&](size_t i) { return ErrorCell(row.cells[columns[i]]); });
        }
        text.Rule();
        for (const PftMetricInfo& metric : kPftMetrics) {
          AddRow(text, absl::StrCat("mean |error| ", metric.name), first, last, [&](size_t i) {
            const PftMeanError& mean = table.columns[columns[i]].error[static_cast<size_t>(metric.metric)];
            return mean.cells == 0 ? "-  " : absl::StrFormat("%.2f %%  ", mean.percent);
          });
        }
      }),
      CalibrationNotes(table));
}

// One line for each row that two columns share, and how many agree.
std::string Differences(const PftTable& table) {
  std::string text;
  for (size_t i = 0; i < table.differences.size();) {
    const PftDifference& head = table.differences[i];
    const Configuration& off = table.columns[head.disabled].configuration;
    absl::StrAppend(&text, "\n", off.kernel->name, ", gate ", GateName(off.gate),
                    ": from enabled and unused to ", off.memcg(), "\n");
    Table lines("ll");
    int agree = 0, counted = 0;
    for (; i < table.differences.size() && table.differences[i].enabled == head.enabled &&
           table.differences[i].disabled == head.disabled;
         ++i) {
      const PftDifference& one = table.differences[i];
      lines.Row({PftRowName(one.metric, one.clients), DifferenceText(one, table.published.noise)});
      agree += one.verdict == PftVerdict::kAgrees;
      counted += one.verdict == PftVerdict::kAgrees || one.verdict == PftVerdict::kDisagrees;
    }
    absl::StrAppend(&text, lines.Text());
    if (counted > 0) absl::StrAppend(&text, agree, " of ", counted, " agree within the published noise.\n");
  }
  if (text.empty()) return text;
  std::string heading = "What switching the controller off brings: percent, positive is better";
  if (table.seeds > 1) absl::StrAppend(&heading, "; in parentheses the spread over the seeds");
  if (table.comparable) {
    absl::StrAppend(&heading, ". Published noise: ", Fixed(table.published.noise, 1), " % ",
                    table.published.noise_source);
  }
  return absl::StrCat("\n", Wrap(absl::StrCat(heading, "."), kColumns, ""), text);
}

}  // namespace

std::string PftText(const PftTable& table) {
  std::string text = absl::StrCat(PartialNote(table.partial), Wrap(table.command, kColumns, ""));
  absl::StrAppend(&text, Wrap(absl::StrCat("Machine ", table.machine.name, ", ", table.pages,
                                           " pages a client, ", table.seeds, " seed",
                                           table.seeds == 1 ? "" : "s", " from ", table.seed,
                                           ". Rates are exact for their seeds. Percent is to the first "
                                           "column, positive is better."),
                              kColumns, ""),
                  "\n");
  if (table.Empty()) return absl::StrCat(text, "no cell was finished\n");
  absl::StrAppend(&text, SimulatedReport(table), "\n", Spreads(table), "\n");
  if (table.comparable) {
    absl::StrAppend(&text, PublishedReport(table), "\n", Errors(table));
  } else {
    absl::StrAppend(&text, Wrap(absl::StrCat("Published numbers are those of machine ", table.published.model,
                                             "; they say nothing about ", table.machine.name, "."),
                                kColumns, ""));
  }
  return absl::StrCat(text, Differences(table));
}

std::string PftJson(const PftTable& table, const Environment& environment) {
  return JsonDocument("memsim.pft/1", table.partial, ToJson(table), environment);
}

std::string PftCsv(const PftTable& table) {
  const auto optional = [](const std::optional<double>& value) {
    return value.has_value() ? absl::StrFormat("%.4f", *value) : "";
  };
  std::string text =
      "column,metric,clients,rate,low,high,percent_to_first,published,error_percent,calibrated\n";
  for (const PftRow& row : table.rows) {
    for (size_t column = 0; column < row.cells.size(); ++column) {
      const auto& cell = row.cells[column];
      if (!cell.has_value()) continue;
      absl::StrAppend(&text,
                      absl::StrJoin({PftColumnName(table.columns[column].configuration),
                                     std::string(kPftMetrics[static_cast<size_t>(row.metric)].name),
                                     absl::StrCat(row.clients), optional(cell->rate.value),
                                     optional(cell->rate.low), optional(cell->rate.high),
                                     optional(row.PercentToFirst(column)), optional(cell->published),
                                     optional(cell->error), std::string(cell->calibrated ? "yes" : "no")},
                                    ","),
                      "\n");
    }
  }
  return text;
}

}  // namespace memsim
