// --out, rerun and log as a user meets them.
#include <sys/resource.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/program.h"

namespace memsim {
namespace {

constexpr absl::string_view kCompare = "compare v4.0,memcg=root v4.0,memcg=disabled --seconds 0.1";
constexpr absl::string_view kPft =
    "pft --clients 1 --pages 64 --seeds 1 --column v4.0 --column v4.0:disabled";
constexpr absl::string_view kSimulate = "run --machine i7-3770 --faults 512 --seeds 2 --memcg depth:1";

class RecordsCliTest : public testing::Test {
 protected:
  RecordsCliTest()
      : dir_(absl::StrCat(testing::TempDir(), "memsim_out_", getpid())), file_(dir_ + "/r.jsonl") {
    std::filesystem::create_directories(dir_);
  }
  ~RecordsCliTest() override { std::filesystem::remove_all(dir_); }

  Outcome Keep(absl::string_view command) { return Memsim(absl::StrCat(command, " --out ", file_)); }
  Outcome Rerun(int record, absl::string_view more = "") {
    return Memsim(absl::StrCat("rerun '", file_, "#", record, "'", more));
  }

  std::string dir_, file_;
};

void ExpectHolds(const Outcome& outcome, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  ExpectFits(outcome.out);
  for (const std::string& part : parts)
    EXPECT_TRUE(absl::StrContains(outcome.out, part)) << part << "\n" << outcome.out;
}

// A comparison in time, kept and repeated into the same file. Expect the line that gives it again, the same
// configurations and counts, an interval of then and one of now, and a log of both.
TEST_F(RecordsCliTest, AComparisonIsKeptRepeatedAndFollowed) {
  const Outcome first = Keep(kCompare);
  if (absl::StrContains(first.err, "sanitizer build")) GTEST_SKIP() << first.err;
  ExpectHolds(first, {absl::StrCat("added as record 1; again: memsim rerun '", file_, "#1'")});
  ExpectHolds(Rerun(1, absl::StrCat(" --out ", file_)),
              {"Configurations and exact counts are the same.", "B minus A", "as record 2"});
  const auto again = nlohmann::json::parse(Rerun(2, " --format json").out);
  EXPECT_EQ(again["schema"], "memsim.rerun/1");
  EXPECT_EQ(again["different"].size(), 0u);
  EXPECT_EQ(again["changes"].size(), 0u);
  EXPECT_EQ(again["report"]["schema"],
            nlohmann::json::parse(Memsim(absl::StrCat(kCompare, " --format json")).out)["schema"]);
  ExpectHolds(Memsim("log " + file_),
              {"2 records, 1 number followed", "A v4.0,memcg=root and B v4.0,memcg=disabled"});
  const auto log = nlohmann::json::parse(Memsim("log --format json " + file_).out);
  EXPECT_EQ(log["series"].at(0)["rows"].size(), 2u);
  const Outcome csv = Memsim(absl::StrCat("log --format csv '", file_, "#1'"));
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 3) << csv.out;
}

// What no clock had a part in: the pft table, a simulated run, comparisons on tracing and simulated machines.
// Expect every number the same again, no word about the host, and another number found when the file says
// something else.
TEST_F(RecordsCliTest, WhatIsExactIsTheSameAgain) {
  const std::string compare = "compare v4.0,memcg=root v4.0,memcg=disabled --faults 512 --machine ";
  for (const std::string& command : {std::string(kPft), absl::StrCat(kSimulate, " --format json"),
                                     compare + "tracing", compare + "i7-3770 --seeds 2"}) {
    EXPECT_EQ(Keep(command).status, 0) << command;
  }
  for (const int record : {1, 2, 3, 4}) {
    ExpectHolds(Rerun(record), {"Every number of the result is the same."});
    const auto json = nlohmann::json::parse(Rerun(record, " --format json").out);
    EXPECT_FALSE(json["report"]["environment"].contains("notes")) << record;
    EXPECT_GT(json["numbers"].size(), 0u) << record;
    for (const auto& number : json["numbers"]) EXPECT_EQ(number["agreement"], "agrees") << number;
  }
  // The simulated run says another time than it did.
  std::string text = ReadAll(file_);
  const auto line = text.find('\n') + 1;
  auto json = nlohmann::json::parse(text.substr(line, text.find('\n', line) - line));
  json["report"]["result"]["ns_per_page"]["total"]["mean"] = 1;
  std::ofstream(file_) << text.substr(0, line) << json.dump() << "\n";
  ExpectHolds(Rerun(2), {"The result differs in 1 place:", "/ns_per_page/total/mean: 1 then, ", "differs"});
  ExpectHolds(Memsim("log " + file_), {"pft on i7-3770", "one page, ns a page: "});
}

// The program killed at random moments of a comparison. Expect the records of those that were finished.
TEST_F(RecordsCliTest, KilledComparisonsLoseOnlyThemselves) {
  EXPECT_EQ(Keep(kPft).status, 0);
  std::mt19937 random(1);
  size_t least = 1;
  for (int i = 0; i < 12; ++i) {
    Child child(absl::StrCat(kPft, " --out ", file_, " --seed ", i));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 80));
    child.Signal(SIGKILL);
    const bool finished = child.Wait().status == 0;
    const Outcome log = Memsim("log --format json " + file_);
    ASSERT_EQ(log.status, 0) << log.err;
    const size_t records = nlohmann::json::parse(log.out)["records"];
    EXPECT_GE(records, least + (finished ? 1 : 0));
    EXPECT_LE(records, least + 1);
    least = records;
  }
  const Outcome last = Keep(kPft);
  EXPECT_EQ(last.status, 0);
  EXPECT_TRUE(absl::StrContains(last.out, absl::StrCat("as record ", least + 1))) << last.out;
}

// No room for the record. Expect the report, one line why it was not kept, status 2, and the file as it was.
TEST_F(RecordsCliTest, AReportThatCannotBeKeptIsPrinted) {
  EXPECT_EQ(Keep(kPft).status, 0);
  const std::string before = ReadAll(file_);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit room = {before.size() + 100, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &room), 0);
  const Outcome outcome = Keep(kPft);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(absl::StrContains(outcome.out, "Hmean")) << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.err, "File too large, the record is not in it")) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(ReadAll(file_), before);
}

// Files, records and names that are not there. Expect one line with what is valid, before anything is
// measured.
TEST_F(RecordsCliTest, WrongInputIsAnsweredWithWhatIsValid) {
  EXPECT_EQ(Keep(kPft).status, 0);
  ExpectRefused(absl::StrCat(kCompare, " --out /nowhere/r.jsonl"),
                "valid: a new file, or one that --out wrote");
  ExpectRefused(absl::StrCat(kCompare, " --out /dev/full"), "is not a regular file");
  ExpectRefused(absl::StrCat(kCompare, " --out ", MEMSIM_SOURCE_DIR, "/README.md"), "holds no record");
  ExpectRefused("rerun " + file_, "#N with N from 1 to 1");
  ExpectRefused(absl::StrCat("rerun '", file_, "#2'"), "is not there; valid: ");
  ExpectRefused("rerun '/nowhere#1'", "valid: a file that `memsim compare ... --out FILE` wrote");
  ExpectRefused("log /nowhere", "No such file");
  ExpectRefused("log " MEMSIM_SOURCE_DIR "/README.md", "holds no record");
  ExpectRefused(absl::StrCat("log '", file_, "#7'"), "there is no record 7");
  ExpectRefused(absl::StrCat("log --plot x.pdf ", file_), "valid: a file that ends in .svg or .png");
  ExpectRefused(absl::StrCat("log --plot /nowhere/x.svg ", file_), "--plot '/nowhere/x.svg'");
  ExpectRefused(absl::StrCat("log --format xml ", file_), "valid: text, json, csv");
  // A record of somebody else whose command line would write a file.
  auto json = nlohmann::json::parse(ReadAll(file_));
  json["arguments"] = {"calibrate", "--output", dir_ + "/host.json"};
  std::ofstream(file_) << json.dump() << "\n";
  ExpectRefused(absl::StrCat("rerun '", file_, "#1'"), "valid: that of run, compare or pft");
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/host.json"));
}

// No gnuplot, and a gnuplot that fails. Expect one line each and no picture.
TEST_F(RecordsCliTest, APlotNeedsGnuplot) {
  EXPECT_EQ(Keep(kPft).status, 0);
  const std::string path = getenv("PATH"), picture = dir_ + "/log.svg";
  std::ofstream(dir_ + "/gnuplot") << "#!/bin/sh\necho no fonts >&2\nexit 1\n";
  setenv("PATH", "/nowhere", 1);
  ExpectRefused(absl::StrCat("log --plot ", picture, " ", file_),
                "gnuplot, which is not installed; valid: install it");
  setenv("PATH", dir_.c_str(), 1);
  std::filesystem::permissions(dir_ + "/gnuplot", std::filesystem::perms::owner_all);
  ExpectRefused(absl::StrCat("log --plot ", picture, " ", file_), "gnuplot: no fonts; valid: ");
  setenv("PATH", path.c_str(), 1);
  EXPECT_FALSE(std::filesystem::exists(picture));
}

// Expect pictures of both kinds, whole, with the title of the series.
TEST_F(RecordsCliTest, PlotsAreWhatTheirNamesSay) {
  EXPECT_EQ(Keep(kPft).status, 0);
  const Outcome svg = Memsim(absl::StrCat("log --plot ", dir_, "/log.svg ", file_));
  if (absl::StrContains(svg.err, "not installed")) GTEST_SKIP() << svg.err;
  ExpectHolds(svg, {dir_ + "/log.svg: drawn"});
  const std::string drawn = ReadAll(dir_ + "/log.svg");
  EXPECT_TRUE(absl::StrContains(drawn, "pft on i7-3770")) << drawn;
  EXPECT_TRUE(absl::StrContains(drawn, "</svg>"));
  EXPECT_EQ(Memsim(absl::StrCat("log --plot ", dir_, "/log.png ", file_)).status, 0);
  EXPECT_TRUE(absl::StrContains(ReadAll(dir_ + "/log.png").substr(0, 8), "PNG"));
}

}  // namespace
}  // namespace memsim
