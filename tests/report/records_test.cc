// What records say of each other: series, agreement, what has to be equal, and the plot of hostile words.
#include "memsim/report/records.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "lib/report/table.h"
#include "memsim/report/records_render.h"
#include "tests/report/record_of.h"

namespace memsim {
namespace {

Records RecordsOf(const std::vector<nlohmann::json>& reports) {
  Records all;
  for (const nlohmann::json& report : reports) {
    all.records.push_back(RecordOf(report));
    all.records.back().number = ++all.lines;
  }
  return all;
}

nlohmann::json On(const char* field, const char* value, nlohmann::json report) {
  report["environment"][field] = value;
  return report;
}

// A report that no clock had a part in.
nlohmann::json Untimed(nlohmann::json report) {
  report["environment"].erase("notes");
  return report;
}

// One configuration four times: again with another seed, slower, and on another compiler. Expect one series;
// the seed makes no other, the slower one differs, and nothing is said across compilers.
TEST(LogTest, SaysWhatCanBeCompared) {
  const Records all = RecordsOf({ReportOf(-8.1), ReportOf(-8.05, /*seed=*/2), ReportOf(-7.0),
                                 On("compiler", "clang++ 14.0", ReportOf(-8.1)), ReportOf(-8.1)});
  const auto log = MakeLog(all, {});
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_EQ(log->size(), 1u);
  const auto& rows = log->front().rows;
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].beside, "");
  EXPECT_EQ(rows[1].beside, "agrees with 1");
  EXPECT_EQ(rows[2].beside, "differs from 2");
  EXPECT_EQ(rows[3].beside, "not compared");
  EXPECT_EQ(rows[3].changed, std::vector<std::string>{"compiler"});
  EXPECT_EQ(rows[4].beside, "differs from 3");
  const std::string text = LogText("r.jsonl", all, *log);
  for (const char* part : {"A v4.0,memcg=root and B v4.0,memcg=disabled", "B minus A, ns a page",
                           "-8.200…-8.000", "from record 4 on another compiler\n", "2026-12-03 05:11"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
  for (const absl::string_view line : absl::StrSplit(text, '\n')) EXPECT_LE(Width(line), kColumns) << line;
}

// Two configurations. Expect two series, and one of them for the record that is asked for.
TEST(LogTest, ConfigurationsAreApart) {
  nlohmann::json other = ReportOf(1);
  other["result"]["arms"][0]["configuration"]["command"] = "memsim run --memcg depth:3";
  const Records all = RecordsOf({ReportOf(-8), other, ReportOf(-8)});
  EXPECT_EQ(MakeLog(all, {})->size(), 2u);
  const auto one = MakeLog(all, 2);
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ(one->front().rows.size(), 1u);
  EXPECT_TRUE(absl::StrContains(MakeLog(all, 4).status().message(), "valid: one of 1 to 3"));
}

// Without a clock, a number is the same or another one, wherever it was made.
TEST(LogTest, WhatIsExactIsComparedAcrossHosts) {
  const Records all = RecordsOf(
      {Untimed(ReportOf(-8)), Untimed(On("cpu", "Model A", ReportOf(-8))), Untimed(ReportOf(-8.01))});
  const auto log = MakeLog(all, {});
  ASSERT_EQ(log->size(), 1u);
  EXPECT_EQ(log->front().rows[1].beside, "the same as 1");
  EXPECT_TRUE(log->front().rows[1].changed.empty());
  EXPECT_EQ(log->front().rows[2].beside, "another than 2");
}

// The host, the compiler and the build, each changed alone. Expect each named, and no times compared.
TEST(RepeatTest, AnotherHostCompilerOrBuildIsFlagged) {
  const std::map<std::string, std::string> fields = {
      {"cpu", "CPU"},     {"os", "host kernel"},  {"compiler", "compiler"},
      {"build", "build"}, {"program", "program"}, {"static_keys", "static keys"}};
  for (const auto& [field, name] : fields) {
    const Repetition r =
        Repeat("r#1", RecordOf(ReportOf(-8)), RecordOf(On(field.c_str(), "new", ReportOf(-8))));
    ASSERT_EQ(r.changes.size(), 1u) << field;
    EXPECT_EQ(r.changes[0].what, name);
    EXPECT_EQ(r.pairs.at(0).agreement, Agreement::kNotCompared);
    EXPECT_TRUE(absl::StrContains(RerunText(r), absl::StrCat("another ", name, ": "))) << RerunText(r);
  }
  const Repetition same = Repeat("r#1", RecordOf(ReportOf(-8)), RecordOf(ReportOf(-8.05)));
  EXPECT_TRUE(same.changes.empty());
  EXPECT_EQ(same.pairs.at(0).agreement, Agreement::kAgrees);
  EXPECT_EQ(Repeat("r#1", RecordOf(ReportOf(-8)), RecordOf(ReportOf(-9))).pairs.at(0).agreement,
            Agreement::kDiffers);
}

// Counts and configurations that changed, beside times that always do. Expect the first named by their
// place; the times too when no clock was read.
TEST(RepeatTest, WhatHasToBeEqualIsNamed) {
  nlohmann::json now = ReportOf(-8.3);
  EXPECT_TRUE(Repeat("r#1", RecordOf(ReportOf(-8)), RecordOf(now)).different.empty());
  now["result"]["arms"][1]["counts"]["pages"] = 512;
  now["result"]["arms"][1]["configuration"]["memcg"] = "depth:1";
  const std::vector<std::string> expected = {
      "/arms/1/configuration/memcg: \"disabled\" then, \"depth:1\" now",
      "/arms/1/counts/pages: 1024 then, 512 now"};
  EXPECT_EQ(Repeat("r#1", RecordOf(ReportOf(-8)), RecordOf(now)).different, expected);
  EXPECT_EQ(Repeat("r#1", RecordOf(Untimed(ReportOf(-8))), RecordOf(Untimed(now))).different.size(), 5u);
  const Repetition same = Repeat("r#1", RecordOf(Untimed(ReportOf(-8))), RecordOf(Untimed(ReportOf(-8))));
  EXPECT_TRUE(absl::StrContains(RerunText(same), "Every number of the result is the same."))
      << RerunText(same);
}

// A report of another version that lacks what is followed. Expect a record without numbers.
TEST(RecordTest, ReportsOfOtherVersionsAreKept) {
  nlohmann::json report = ReportOf(1);
  report["schema"] = "memsim.compare/9";
  report["result"]["arms"] = "none";
  EXPECT_TRUE(RecordOf(report).numbers.empty());
  report["schema"] = "memsim.novel/1";
  EXPECT_TRUE(RecordOf(report).numbers.empty());
}

// Words of a file from somebody else that are commands of gnuplot and of the shell. Expect them inside '…',
// on one line.
TEST(PlotTest, WordsOfTheFileAreNoCommands) {
  nlohmann::json report = ReportOf(1);
  report["result"]["arms"][0]["arm"] = "a'\n!touch x\n`touch y`";
  const auto log = MakeLog(RecordsOf({report}), {});
  const std::string script = LogPlot(*log, PlotKind::kSvg);
  EXPECT_TRUE(absl::StrContains(script, "set title 'A a''!touch x`touch y` and B ")) << script;
  EXPECT_FALSE(absl::StrContains(script, "\n!")) << script;
}

// Two hosts, eleven series. Expect a mark where the host changed and eight panels.
TEST(PlotTest, MarksWhereTheHostChanged) {
  std::vector<nlohmann::json> reports;
  for (int i = 0; i < 11; ++i) {
    nlohmann::json report = ReportOf(i);
    report["result"]["arms"][0]["configuration"]["command"] = absl::StrCat("memsim run --batch ", i);
    reports.push_back(report);
  }
  reports.push_back(On("cpu", "Model A", reports[0]));
  const std::string script = LogPlot(*MakeLog(RecordsOf(reports), {}), PlotKind::kPng);
  EXPECT_TRUE(absl::StrContains(script, "set label 'another CPU'")) << script;
  EXPECT_TRUE(absl::StrContains(script, "layout 8,1")) << script;
}

}  // namespace
}  // namespace memsim
