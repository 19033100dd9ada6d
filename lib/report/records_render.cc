#include "memsim/report/records_render.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "lib/report/json.h"
#include "lib/report/table.h"

namespace memsim {

namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kOverlap =
    "A time agrees where the two intervals overlap. They hold what varies inside a run; more varies from one "
    "run to the next.";

// "2026-12-03 05:11" of "2026-12-03T05:11:12Z".
std::string Minute(const std::string& time) {
  std::string text = time.substr(0, 16);
  if (text.size() > 10) text[10] = ' ';
  return text;
}

std::string Plural(size_t n, const char* what) { return absl::StrCat(n, " ", what, n == 1 ? "" : "s"); }

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// What follows from what changed between a record and today.
std::string ChangesText(const Repetition& r) {
  std::string text;
  for (const EnvironmentChange& change : r.changes) {
    absl::StrAppend(
        &text, Wrap(absl::StrCat("another ", change.what, ": ", change.then, " then, ", change.now, " now"),
                    kColumns, ""));
  }
  if (!r.changes.empty()) text += "Times of different hosts, compilers or builds are not compared.\n";
  return text;
}

std::string ExactText(const Repetition& r) {
  const bool timed = r.then.timed();
  if (r.different.empty()) {
    return timed ? "Configurations and exact counts are the same.\n"
                 : "Every number of the result is the same.\n";
  }
  constexpr size_t kShown = 5;
  std::string text = absl::StrCat(timed ? "Configurations or exact counts differ" : "The result differs",
                                  " in ", Plural(r.different.size(), "place"), ":\n");
  for (size_t i = 0; i < std::min(kShown, r.different.size()); ++i) {
    absl::StrAppend(&text, Wrap(r.different[i], kColumns, "  "));
  }
  if (r.different.size() > kShown) text += "  …\n";
  return text;
}

// A range, and what it covers when its column is headed by another.
std::string RangeUnder(const std::string& heading, const RecordedNumber& number) {
  if (number.range == heading) return number.RangeText();
  return absl::StrCat(number.RangeText(), " (", absl::StripSuffix(number.range, " interval"), ")");
}

std::string SeriesTitle(const RecordedNumber& number) {
  return absl::StrCat(number.what, ", ", number.unit, ": ", number.title);
}

// What the rows of a table have no room for.
std::string RowNotes(const LogSeries& series) {
  std::string text;
  for (const LogSeries::Row& row : series.rows) {
    if (row.partial) absl::StrAppend(&text, "record ", row.record, " is PARTIAL\n");
    if (row.changed.empty()) continue;
    absl::StrAppend(&text, Wrap(absl::StrCat("from record ", row.record, " on another ",
                                             absl::StrJoin(row.changed, ", ")),
                                kColumns, ""));
  }
  return text;
}

Json NumberJson(const RecordedNumber& number) {
  Json json = {{"value", number.value}, {"low", number.low}, {"high", number.high}};
  if (!number.verdict.empty()) json["verdict"] = number.verdict;
  return json;
}

Json SeriesJson(const RecordedNumber& number) {
  return {{"title", number.title}, {"number", number.what}, {"unit", number.unit}, {"range", number.range}};
}

}  // namespace

std::string RerunText(const Repetition& r) {
  std::string text = absl::StrCat("Beside record ", r.reference, " of ", Minute(r.then.environment.time),
                                  r.then.partial ? " UTC, which is PARTIAL\n" : " UTC\n");
  absl::StrAppend(&text, ChangesText(r), ExactText(r));
  if (r.pairs.empty()) return text;
  Table table("lrlrll");
  const std::string range = r.pairs[0].then.range;
  table.Row({r.pairs[0].then.unit, "then", range, "now", range, ""});
  table.Rule();
  for (const Repetition::Pair& pair : r.pairs) {
    const auto& now = pair.now;
    table.Row({pair.then.what, pair.then.ValueText(), RangeUnder(range, pair.then),
               now ? now->ValueText() : "-", now ? RangeUnder(range, *now) : "-",
               std::string(AgreementName(pair.agreement))});
  }
  absl::StrAppend(&text, "\n", table.Text());
  if (r.then.timed()) absl::StrAppend(&text, "\n", Wrap(kOverlap, kColumns, ""));
  return text;
}

std::string RerunJson(const Repetition& r) {
  Json json = {{"schema", "memsim.rerun/1"},    {"record", r.reference},
               {"arguments", r.then.arguments}, {"recorded", r.then.environment.time},
               {"changes", Json::array()},      {"different", r.different},
               {"numbers", Json::array()}};
  for (const EnvironmentChange& change : r.changes) {
    json["changes"].push_back({{"what", change.what}, {"then", change.then}, {"now", change.now}});
  }
  for (const Repetition::Pair& pair : r.pairs) {
    Json one = SeriesJson(pair.then);
    one["then"] = NumberJson(pair.then);
    one["now"] = pair.now ? NumberJson(*pair.now) : Json();
    one["agreement"] = std::string(AgreementName(pair.agreement));
    json["numbers"].push_back(std::move(one));
  }
  json["report"] = Json::parse(r.now.report, nullptr, /*allow_exceptions=*/false);
  return JsonText(json);
}

std::string RerunCsv(const Repetition& r) {
  std::string text = "title,number,unit,then,then_low,then_high,now,now_low,now_high,agreement\n";
  for (const Repetition::Pair& pair : r.pairs) {
    const RecordedNumber& then = pair.then;
    absl::StrAppendFormat(&text, "%s,%s,%s,%g,%g,%g,", Quoted(then.title), then.what, then.unit, then.value,
                          then.low, then.high);
    if (pair.now) {
      absl::StrAppendFormat(&text, "%g,%g,%g,", pair.now->value, pair.now->low, pair.now->high);
    } else {
      text += ",,,";
    }
    absl::StrAppend(&text, AgreementName(pair.agreement), "\n");
  }
  return text;
}

std::string LogText(const std::string& path, const Records& records, const std::vector<LogSeries>& log) {
  std::string text = absl::StrCat("memsim log ", path, "\n", Plural(records.records.size(), "record"), ", ",
                                  Plural(log.size(), "number"), " followed over time\n");
  bool changed = false;
  for (const LogSeries& series : log) {
    absl::StrAppend(&text, "\n", Wrap(SeriesTitle(series.first), kColumns, ""));
    const std::string range = series.first.range;
    Table table("llrllrl");
    table.Row({"#", "UTC", "value", range == "exact" ? "" : range,
               series.first.verdict.empty() ? "" : "verdict", series.rows[0].load.has_value() ? "load" : "",
               "beside earlier"});
    table.Rule();
    for (const LogSeries::Row& row : series.rows) {
      table.Row({absl::StrCat(row.record), Minute(row.time), row.number.ValueText(),
                 RangeUnder(range, row.number), row.number.verdict,
                 row.load.has_value() ? Fixed(*row.load, 1) : "", row.beside});
      changed = changed || !row.changed.empty();
    }
    absl::StrAppend(&text, table.Text(), RowNotes(series));
  }
  const bool timed = std::any_of(log.begin(), log.end(),
                                 [](const LogSeries& series) { return series.rows[0].load.has_value(); });
  if (timed) absl::StrAppend(&text, "\n", Wrap(kOverlap, kColumns, ""));
  if (changed) {
    absl::StrAppend(
        &text,
        Wrap("A time is compared with the last one of its own host, compiler and build; others are not "
             "compared.",
             kColumns, ""));
  }
  const auto without = std::count_if(records.records.begin(), records.records.end(),
                                     [](const Record& one) { return one.numbers.empty(); });
  if (without > 0) {
    absl::StrAppend(&text, "\n", Plural(static_cast<size_t>(without), "record"),
                    " without a number to follow; `memsim rerun` repeats any\n");
  }
  return text;
}

std::string LogJson(const std::string& path, const Records& records, const std::vector<LogSeries>& log) {
  Json json = {{"schema", "memsim.log/1"},
               {"file", path},
               {"records", records.records.size()},
               {"left_out", records.warnings},
               {"series", Json::array()}};
  for (const LogSeries& series : log) {
    Json one = SeriesJson(series.first);
    for (const LogSeries::Row& row : series.rows) {
      Json entry = {{"record", row.record}, {"time", row.time}, {"partial", row.partial}};
      entry.update(NumberJson(row.number));
      if (row.load.has_value()) entry["load"] = *row.load;
      entry["beside"] = row.beside;
      entry["changed"] = row.changed;
      one["rows"].push_back(std::move(entry));
    }
    json["series"].push_back(std::move(one));
  }
  return JsonText(json);
}

std::string LogCsv(const std::vector<LogSeries>& log) {
  std::string text = "title,number,unit,record,time,partial,value,low,high,verdict,load,beside,changed\n";
  for (const LogSeries& series : log) {
    for (const LogSeries::Row& row : series.rows) {
      const RecordedNumber& n = row.number;
      absl::StrAppendFormat(&text, "%s,%s,%s,%d,%s,%d,%g,%g,%g,%s,%s,%s,%s\n", Quoted(series.first.title),
                            n.what, n.unit, row.record, row.time, row.partial, n.value, n.low, n.high,
                            n.verdict, row.load.has_value() ? Fixed(*row.load, 2) : "", row.beside,
                            Quoted(absl::StrJoin(row.changed, ", ")));
    }
  }
  return text;
}

}  // namespace memsim
