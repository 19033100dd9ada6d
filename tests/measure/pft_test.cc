#include "memsim/report/pft.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "memsim/report/render.h"

namespace memsim {
namespace {

constexpr PftMetric kCpu = PftMetric::kFaultsPerCpu;
constexpr PftMetric kSec = PftMetric::kFaultsPerSec;

std::vector<Configuration> Columns(const std::vector<std::string>& texts) {
  const auto columns = ParsePftColumns(texts, {});
  EXPECT_TRUE(columns.ok()) << columns.status();
  return *columns;
}

// Round numbers for the three kernels of the second series, and a first series with a hole.
PublishedThroughput FakePublished() {
  PublishedThroughput published;
  published.name = "fake";
  published.machine = "a machine of 2015";
  published.model = "fake";
  published.source = "a mail";
  published.noise = 1.5;
  published.noise_source = "between two runs";
  published.columns = {
      {"vanilla", "vanilla", "v4.0", "root", "", {{{kCpu, 1}, 1000}, {{kCpu, 2}, 800}}, {10, 20, 30}},
      {"on", "enabled-v2", "v4.0-chargefirst", "root", "",
       {{{kCpu, 1}, 1000}, {{kCpu, 2}, 800}, {{kSec, 1}, 500}}, {}},
      {"off", "disabled-v2", "v4.0-chargefirst", "disabled", "",
       {{{kCpu, 1}, 1010}, {{kCpu, 2}, 800}, {{kSec, 1}, 500}}, {}},
      {"on-v1", "enabled-v1", "v4.0-chargefirst", "root", "", {{{kCpu, 1}, 990}}, {}},
  };
  return published;
}

PftOptions FakeOptions() {
  PftOptions options;
  options.machine = {"fake", "fake.json", {}};
  options.pages = 1000;
  options.columns = Columns({});
  options.clients = {1, 2};
  options.seeds = 1;
  options.published = FakePublished();
  options.host_threads = 1;
  return options;
}

// A run of which faults/cpu and faults/sec are these: pages in 1000 s of CPU time, so that it is exact.
PftRun RunOf(double per_cpu, double per_sec) {
  PftRun run;
  run.pages = std::llround(per_cpu * 1000);
  run.user_ps = 250'000'000'000'000;
  run.system_ps = 750'000'000'000'000;
  run.wall_ps = std::llround(per_cpu / per_sec * 1e15);
  run.total_user_ps = 1'000'000'000'000;
  run.total_system_ps = 2'000'000'000'000;
  run.elapsed_ps = 500'000'000'000;
  return run;
}

// 1000 faults per second, more by what `percent` says of the configuration.
PftSource Faster(std::function<double(const Configuration&)> percent) {
  return [percent = std::move(percent)](const Configuration& c, int, uint64_t) -> absl::StatusOr<PftRun> {
    const double rate = 1000 * (1 + percent(c) / 100);
    return RunOf(rate, rate);
  };
}

PftTable Make(const PftOptions& options, const PftSource& source) {
  const auto table = MakePftTable(options, source);
  EXPECT_TRUE(table.ok()) << table.status();
  return *table;
}

const PftCell& CellAt(const PftTable& table, PftMetric metric, int clients, size_t column) {
  for (const PftRow& row : table.rows) {
    if (row.metric == metric && row.clients == clients) return *row.cells[column];
  }
  ADD_FAILURE() << "no row";
  return *table.rows[0].cells[0];
}

const PftDifference& DifferenceAt(const PftTable& table, PftMetric metric, int clients) {
  for (const PftDifference& one : table.differences) {
    if (one.metric == metric && one.clients == clients) return one;
  }
  ADD_FAILURE() << "no difference";
  return table.differences[0];
}

// A million pages in 1 s of user, 3 s of system and 2 s of wall time. Expect pages over CPU time of all
// clients, and pages over wall time.
TEST(PftTest, RatesArePagesOverTime) {
  PftRun run{1'000'000, 1'000'000'000'000, 3'000'000'000'000, 2'000'000'000'000, 1, 1, 1};
  const PftTable table = Make(FakeOptions(), [&](const Configuration&, int, uint64_t) { return run; });
  EXPECT_DOUBLE_EQ(CellAt(table, kCpu, 1, 0).rate.value, 250'000);
  EXPECT_DOUBLE_EQ(CellAt(table, kSec, 1, 0).rate.value, 500'000);
}

// Three seeds from 5, which give 2000, 3000 and 6000. Expect the harmonic mean, 3000, and least and most.
TEST(PftTest, SeedsAreAveragedHarmonically) {
  PftOptions options = FakeOptions();
  options.seeds = 3;
  options.seed = 5;
  const std::map<uint64_t, double> rates = {{5, 2000}, {6, 3000}, {7, 6000}};
  const PftTable table = Make(options, [&](const Configuration&, int, uint64_t seed) {
    return RunOf(rates.at(seed), rates.at(seed));
  });
  const PftCell& cell = CellAt(table, kCpu, 2, 1);
  EXPECT_DOUBLE_EQ(cell.rate.value, 3000);
  EXPECT_DOUBLE_EQ(cell.rate.low, 2000);
  EXPECT_DOUBLE_EQ(cell.rate.high, 6000);
  EXPECT_EQ(cell.rates, (std::vector<double>{2000, 3000, 6000}));
  EXPECT_EQ(*table.columns[1].totals[1], 12);  // 2 s, 2 numbers of clients, 3 seeds
}

// A column twice as fast as the first and one half as fast. Expect +100 % and -50 %, as mmtests prints them.
TEST(PftTest, PercentIsPositiveWhereBetter) {
  const PftTable table = Make(FakeOptions(), Faster([](const Configuration& c) {
                                return c.kernel->name == "v4.0" ? 0 : c.placement.enabled ? 100 : -50;
                              }));
  EXPECT_DOUBLE_EQ(*table.rows[0].PercentToFirst(0), 0);
  EXPECT_DOUBLE_EQ(*table.rows[0].PercentToFirst(1), 100);
  EXPECT_DOUBLE_EQ(*table.rows[0].PercentToFirst(2), -50);
  const std::string text = PftText(table);
  EXPECT_TRUE(absl::StrContains(text, "1000.0000 (  0.00%)  2000.0000 (100.00%)  500.0000 (-50.00%)"))
      << text;
}

// 1010 simulated everywhere. Expect the error against each published cell, nothing where nothing was
// published, and their mean without sign.
TEST(PftTest, ErrorIsSimulatedMinusPublished) {
  const PftTable table = Make(FakeOptions(), Faster([](const Configuration&) { return 1; }));
  EXPECT_DOUBLE_EQ(*CellAt(table, kCpu, 1, 1).error, 1);
  EXPECT_DOUBLE_EQ(*CellAt(table, kCpu, 1, 2).error, 0);
  EXPECT_DOUBLE_EQ(*CellAt(table, kCpu, 2, 1).error, 26.25);
  EXPECT_FALSE(CellAt(table, kSec, 1, 0).error.has_value());
  EXPECT_FALSE(CellAt(table, kSec, 2, 1).error.has_value());
  EXPECT_EQ(table.columns[1].published, "on");  // not the first series
  const PftMeanError& mean = table.columns[1].error[0];
  EXPECT_DOUBLE_EQ(mean.percent, (1 + 26.25) / 2);
  EXPECT_EQ(mean.cells, 2);
  EXPECT_EQ(table.columns[0].error[1].cells, 0);
}

// A machine fitted to one cell. Expect it shown with its error and a mark, and not counted; the same when
// it was fitted to that cell of the first series.
TEST(PftTest, CalibratedCellsAreShownButNotCounted) {
  for (const char* id : {"on/faults_cpu/1", "on-v1/faults_cpu/1"}) {
    PftOptions options = FakeOptions();
    options.machine.calibrated =
        FindCalibratedCells({absl::StrCat("stages.exception: ", id), "l1: a manual"}, options.published);
    const PftTable table = Make(options, Faster([](const Configuration&) { return 1; }));
    EXPECT_TRUE(CellAt(table, kCpu, 1, 1).calibrated);
    EXPECT_FALSE(CellAt(table, kCpu, 2, 1).calibrated);
    EXPECT_FALSE(CellAt(table, kCpu, 1, 2).calibrated);
    EXPECT_DOUBLE_EQ(table.columns[1].error[0].percent, 26.25);
    EXPECT_EQ(table.columns[1].error[0].left_out, 1);
    const std::string text = PftText(table);
    EXPECT_TRUE(absl::StrContains(text, "+1.00 % *")) << text;
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("not in the mean: stages.exception: ", id))) << text;
    EXPECT_TRUE(absl::StrContains(text, "also fitted to: l1: a manual")) << text;
  }
}

// Texts about what was fitted. Expect the cells in them found, and a text without one kept.
TEST(PftTest, CalibratedCellsAreFoundInTexts) {
  const auto found = FindCalibratedCells(
      {"a: on/faults_cpu/1 and (off/faults_cpu/2)", "b: on/faults_cpu/3", "c"}, FakePublished());
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].cell, "on/faults_cpu/1");
  EXPECT_EQ(found[1].cell, "off/faults_cpu/2");
  EXPECT_EQ(found[2].cell, "");  // not a cell: nobody published three clients
  EXPECT_EQ(found[3].text, "c");
}

// Switched off: published +1.00 % and 0 %, noise 1.5 %. Expect agreement up to the noise, and words that
// hold both numbers.
TEST(PftTest, AgreementIsWithinThePublishedNoise) {
  for (const auto& [gain, agrees] : {std::pair{2.49, true}, {2.51, false}, {-0.49, true}, {-0.51, false}}) {
    const PftTable table = Make(FakeOptions(), Faster([gain = gain](const Configuration& c) {
                                  return c.placement.enabled ? 0 : gain;
                                }));
    const PftDifference& one = DifferenceAt(table, kCpu, 1);
    EXPECT_EQ(one.verdict, agrees ? PftVerdict::kAgrees : PftVerdict::kDisagrees) << gain;
    EXPECT_NEAR(*one.published, 1, 1e-9);
    EXPECT_EQ(DifferenceAt(table, kSec, 2).verdict, PftVerdict::kNothingPublished);
    EXPECT_EQ(table.differences.size(), 4u);  // v4.0 is not there disabled
  }
  PftDifference one;
  one.simulated = {3.9, 3.8, 4.04, 3};
  EXPECT_EQ(DifferenceText(one, 1.4), "nothing published: simulated +3.90 % (+3.80…+4.04)");
  one.published = -0.01;
  one.verdict = PftVerdict::kDisagrees;
  EXPECT_EQ(DifferenceText(one, 1.4),
            "does not agree: simulated +3.90 % (+3.80…+4.04), published -0.01 % ± 1.4 %");
  one.verdict = PftVerdict::kAgrees;
  one.simulated.n = 1;
  EXPECT_EQ(DifferenceText(one, 1.4), "agrees: simulated +3.90 %, published -0.01 % ± 1.4 %");
}

// The machine was fitted to one, then to both of the cells a difference is made of. Expect the first to
// count as a prediction, the second not.
TEST(PftTest, DifferenceOfTwoCalibratedCellsIsNotCounted) {
  PftOptions options = FakeOptions();
  options.machine.calibrated = {{"on/faults_cpu/1", "x"}};
  const PftSource same = Faster([](const Configuration&) { return 0; });
  EXPECT_EQ(DifferenceAt(Make(options, same), kCpu, 1).verdict, PftVerdict::kAgrees);
  options.machine.calibrated.push_back({"off/faults_cpu/1", "y"});
  EXPECT_EQ(DifferenceAt(Make(options, same), kCpu, 1).verdict, PftVerdict::kCalibrated);
}

// Two seeds that disturb both columns alike. Expect the spread of the difference made seed by seed: none.
TEST(PftTest, DifferenceIsPairedBySeed) {
  PftOptions options = FakeOptions();
  options.seeds = 2;
  const PftTable table = Make(options, [](const Configuration& c, int, uint64_t seed) {
    const double rate = 1000.0 * static_cast<double>(seed) * (c.placement.enabled ? 1 : 2);
    return RunOf(rate, rate);
  });
  const SeedSpread& spread = DifferenceAt(table, kCpu, 1).simulated;
  EXPECT_NEAR(spread.value, 100, 1e-6);
  EXPECT_NEAR(spread.low, 100, 1e-6);
  EXPECT_NEAR(spread.high, 100, 1e-6);
}

// A gate other than the kernel's, and a machine other than the published one. Expect no comparison.
TEST(PftTest, OnlyTheSameKernelOnTheSameMachineIsCompared) {
  PftOptions options = FakeOptions();
  options.columns = Columns({"v4.0:root:constant", "v4.0-chargefirst", "v4.4:depth:2", "v4.4:disabled"});
  const PftSource same = Faster([](const Configuration&) { return 0; });
  PftTable table = Make(options, same);
  EXPECT_EQ(table.columns[0].published, "");
  EXPECT_EQ(table.columns[1].published, "on");
  EXPECT_EQ(table.columns[2].published, "");
  EXPECT_TRUE(table.differences.empty());  // depth:2 is in use, so it has no disabled counterpart
  options.machine.name = "other";
  table = Make(options, same);
  EXPECT_FALSE(table.comparable);
  EXPECT_EQ(table.columns[1].published, "");
  EXPECT_TRUE(absl::StrContains(PftText(table), "they say nothing about other")) << PftText(table);
}

// One host thread and four. Expect the same documents.
TEST(PftTest, DoesNotDependOnTheOrder) {
  PftOptions options = FakeOptions();
  options.seeds = 5;
  const PftSource source = [](const Configuration& c, int clients, uint64_t seed) {
    const double rate = 1000.0 + 10.0 * static_cast<double>(seed) + clients + (c.placement.enabled ? 0 : 3);
    return RunOf(rate, rate);
  };
  const PftTable one = Make(options, source);
  options.host_threads = 4;
  const PftTable four = Make(options, source);
  EXPECT_EQ(PftText(one), PftText(four));
  EXPECT_EQ(PftCsv(one), PftCsv(four));
  EXPECT_EQ(PftJson(one, {}), PftJson(four, {}));
}

// Stopped while the first cell of the second row runs. Expect the first row, the note, no totals, and no
// difference that lacks a side.
TEST(PftTest, WhatIsFinishedIsKeptWhenInterrupted) {
  std::atomic<bool> stop{false};
  PftOptions options = FakeOptions();
  options.stop = &stop;
  double last = 0;
  options.progress = [&](absl::string_view, double done) { last = done; };
  int calls = 0;
  const PftTable table =
      Make(options, [&](const Configuration&, int, uint64_t) -> absl::StatusOr<PftRun> {
        if (++calls <= 4) return RunOf(1000, 1000);
        stop = true;
        return absl::CancelledError("");
      });
  EXPECT_EQ(calls, 5);
  EXPECT_DOUBLE_EQ(last, 5.0 / 6);
  EXPECT_TRUE(table.partial);
  EXPECT_TRUE(table.rows[0].cells[2].has_value());
  EXPECT_TRUE(table.rows[1].cells[0].has_value());
  EXPECT_FALSE(table.rows[1].cells[1].has_value());
  EXPECT_FALSE(table.columns[1].totals[0].has_value());
  EXPECT_TRUE(table.columns[0].totals[0].has_value());
  EXPECT_EQ(table.differences.size(), 2u);
  EXPECT_TRUE(absl::StartsWith(PftText(table), "PARTIAL")) << PftText(table);
  EXPECT_TRUE(absl::StrContains(PftJson(table, {}), "\"partial\": true"));
}

// Stopped before anything was done. Expect that said.
TEST(PftTest, NothingFinishedIsSaid) {
  const std::atomic<bool> stop{true};
  PftOptions options = FakeOptions();
  options.stop = &stop;
  const PftTable table = Make(options, Faster([](const Configuration&) { return 0; }));
  EXPECT_TRUE(table.Empty());
  EXPECT_TRUE(absl::StrContains(PftText(table), "no cell was finished"));
}

// A source that refuses two cells, one that reports no time, and options that are wrong. Expect the first
// refusal in the table's order, or one line that says what is wrong.
TEST(PftTest, ErrorsEndTheTable) {
  PftOptions options = FakeOptions();
  options.host_threads = 3;
  const auto refused = MakePftTable(options, [](const Configuration& c, int clients, uint64_t) {
    if (c.placement.enabled) return absl::StatusOr<PftRun>(RunOf(1, 1));
    return absl::StatusOr<PftRun>(absl::NotFoundError(absl::StrCat("refused ", clients)));
  });
  EXPECT_EQ(refused.status().message(), "refused 1");
  const auto message = [](const PftOptions& with, const PftSource& source) {
    return std::string(MakePftTable(with, source).status().message());
  };
  EXPECT_EQ(message(options, [](const Configuration&, int, uint64_t) { return PftRun(); }),
            "v4.0:root:flag with 1 clients: the machine reported no pages or no time");
  const PftSource same = Faster([](const Configuration&) { return 0; });
  options.machine.calibrated = {{"on/faults_cpu/77", "x"}};
  EXPECT_EQ(message(options, same), "calibrated cell 'on/faults_cpu/77'; valid: an id of a cell of fake");
  options = FakeOptions();
  options.seeds = 0;
  EXPECT_EQ(message(options, same), "--seeds 0; valid: 1 to 1000");
  options.columns.clear();
  EXPECT_TRUE(absl::StrContains(message(options, same), "at least one column"));
}

// Seven columns with the longest titles. Expect several tables of at most 100 columns, and no cell lost.
TEST(PftTest, ManyColumnsAreBroken) {
  PftOptions options = FakeOptions();
  options.seeds = 2;
  options.columns = Columns({"v4.0", "v4.0-chargefirst:depth:64:static_key", "v4.0-chargefirst:root",
                             "v4.0-chargefirst:disabled", "v4.2", "v4.4:root", "v4.4:disabled"});
  const PftTable table = Make(options, [](const Configuration&, int, uint64_t seed) {
    const double rate = 12345678.25 * static_cast<double>(seed);
    return RunOf(rate, rate);
  });
  int cells = 0;
  for (const absl::string_view line : absl::StrSplit(PftText(table), '\n')) {
    const auto width = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    EXPECT_LE(width, 100) << line;
    if (absl::StrContains(line, "Hmean") && absl::StrContains(line, "16460904.")) {
      cells += static_cast<int>(std::count(line.begin(), line.end(), '('));
    }
  }
  EXPECT_EQ(cells, 7 * 4);
}

// A small table with a hole, a calibrated cell and both verdicts. Expect this text.
TEST(PftTest, TextLooksLikeMmtests) {
  PftOptions options = FakeOptions();
  options.seeds = 2;
  options.published.columns.pop_back();
  options.machine.calibrated = {{"on/faults_cpu/1", "stages.exception: on/faults_cpu/1"}};
  const PftTable table = Make(options, [](const Configuration& c, int clients, uint64_t seed) {
    const double rate = (c.placement.enabled ? 1000 : 1005) * (seed == 1 ? 1 : 1.02);
    return RunOf(rate / clients, rate * clients * (c.placement.enabled ? 1 : 1.0125));
  });
  const std::string expected = R"(
memsim pft --machine fake.json --column v4.0:root:flag --column v4.0-chargefirst:root:flag --column
v4.0-chargefirst:disabled:flag --clients 1,2 --pages 1000 --seeds 2 --seed 1
Machine fake, 1000 pages a client, 2 seeds from 1. Rates are exact for their seeds. Percent is to
the first column, positive is better.

pft faults, simulated
                                      v4.0     v4.0-chargefirst     v4.0-chargefirst
                                      root                 root             disabled
Hmean    faults/cpu-1  1009.9010 (  0.00%)  1009.9010 (  0.00%)  1014.9505 (  0.50%)
Hmean    faults/cpu-2   504.9505 (  0.00%)   504.9505 (  0.00%)   507.4752 (  0.50%)
Hmean    faults/sec-1  1009.9010 (  0.00%)  1009.9010 (  0.00%)  1027.6374 (  1.76%)
Hmean    faults/sec-2  2019.8020 (  0.00%)  2019.8020 (  0.00%)  2055.2748 (  1.76%)

           v4.0  v4.0-chargefirst  v4.0-chargefirst
           root              root          disabled
User     4.0000            4.0000            4.0000
System   8.0000            8.0000            8.0000
Elapsed  2.0000            2.0000            2.0000

Spread over the seeds: least…most, and their distance in percent of the mean
                           v4.0   v4.0-chargefirst   v4.0-chargefirst
                           root               root           disabled
faults/cpu-1  1000…1020 (1.98%)  1000…1020 (1.98%)  1005…1025 (1.98%)
faults/cpu-2    500…510 (1.98%)    500…510 (1.98%)    502…513 (1.98%)
faults/sec-1  1000…1020 (1.98%)  1000…1020 (1.98%)  1018…1038 (1.98%)
faults/sec-2  2000…2040 (1.98%)  2000…2040 (1.98%)  2035…2076 (1.98%)

pft faults, published
a machine of 2015; a mail
                                   vanilla           enabled-v2          disabled-v2
                                      v4.0     v4.0-chargefirst     v4.0-chargefirst
                                      root                 root             disabled
Hmean    faults/cpu-1  1000.0000 (  0.00%)  1000.0000 (  0.00%)  1010.0000 (  1.00%)
Hmean    faults/cpu-2   800.0000 (  0.00%)   800.0000 (  0.00%)   800.0000 (  0.00%)
Hmean    faults/sec-1          -             500.0000             500.0000

         vanilla        enabled-v2       disabled-v2
            v4.0  v4.0-chargefirst  v4.0-chargefirst
            root              root          disabled
User       10.00                 -                 -
System     20.00                 -                 -
Elapsed    30.00                 -                 -

Error: simulated minus published, percent of published
                               v4.0  v4.0-chargefirst  v4.0-chargefirst
                               root              root          disabled
faults/cpu-1              +0.99 %           +0.99 % *         +0.49 %
faults/cpu-2             -36.88 %          -36.88 %          -36.57 %
faults/sec-1                    -         +101.98 %         +105.53 %
faults/sec-2                    -                 -                 -
-----------------------------------------------------------------------
mean |error| faults/cpu   18.94 %           36.88 %           18.53 %
mean |error| faults/sec         -          101.98 %          105.53 %
* fitted to, not predicted; not in the mean: stages.exception: on/faults_cpu/1

What switching the controller off brings: percent, positive is better; in parentheses the spread
over the seeds. Published noise: 1.5 % between two runs.

v4.0-chargefirst, gate flag: from enabled and unused to disabled
faults/cpu-1  agrees: simulated +0.50 % (+0.50…+0.50), published +1.00 % ± 1.5 %
faults/cpu-2  agrees: simulated +0.50 % (+0.50…+0.50), published +0.00 % ± 1.5 %
faults/sec-1  does not agree: simulated +1.76 % (+1.76…+1.76), published +0.00 % ± 1.5 %
faults/sec-2  nothing published: simulated +1.76 % (+1.76…+1.76)
2 of 3 agree within the published noise.
)";
  EXPECT_EQ("\n" + PftText(table), expected);
}

// What people write. Expect clients within the machine's CPUs, and columns by name.
TEST(PftTest, ReadsWhatPeopleWrite) {
  EXPECT_EQ(*ParsePftClients("3,1,8", 8), (std::vector<int>{3, 1, 8}));
  for (const char* wrong : {"", "0", "a", "9", "1,1", "1,", "-1", "1.5"}) {
    const auto clients = ParsePftClients(wrong, 8);
    EXPECT_TRUE(absl::StrContains(clients.status().message(), "valid: numbers from 1 to 8")) << wrong;
  }
  EXPECT_EQ(DefaultPftClients(8), (std::vector<int>{1, 3, 5, 7, 8}));
  EXPECT_EQ(DefaultPftClients(64), (std::vector<int>{1, 3, 5, 7, 8}));
  EXPECT_EQ(DefaultPftClients(3), (std::vector<int>{1, 3}));
  EXPECT_EQ(DefaultPftClients(1), (std::vector<int>{1}));

  ConfigurationText shared;
  shared.seed = 9;
  const auto columns = ParsePftColumns(
      {"v4.0", "v4.4:depth:3", "v4.4:depth:3:flag", "v4.2:disabled:constant"}, shared);
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ(PftColumnName((*columns)[0]), "v4.0:root:flag");
  EXPECT_EQ(PftColumnName((*columns)[1]), "v4.4:depth:3:static_key");
  EXPECT_EQ(PftColumnName((*columns)[2]), "v4.4:depth:3:flag");
  EXPECT_EQ(PftColumnName((*columns)[3]), "v4.2:disabled:constant");
  EXPECT_EQ((*columns)[0].seed, 9u);
  for (const auto& [wrong, valid] :
       {std::pair{"v9.9", "valid: v4.0, v4.0-chargefirst"}, {"v4.0:attic", "valid: disabled, root"},
        {"v4.0:root:magnetic", "valid: constant, flag"}, {"v4.0:root:flag:x", "valid: KERNEL[:MEMCG[:GATE]]"},
        {"", "valid: KERNEL"}, {"v4.0::flag", "valid: KERNEL"}, {"v4.0:depth:x", "valid: disabled"}}) {
    const auto refused = ParsePftColumns({wrong}, {});
    EXPECT_TRUE(absl::StrContains(refused.status().message(), valid)) << wrong << refused.status();
  }
}

// The published file. Expect 41 cells, the differences that the mail printed, and holes where the first
// series is not known.
TEST(PublishedThroughputTest, HoldsTheMailsTable) {
  const auto published = LoadPublishedThroughput("pft-throughput-2015");
  ASSERT_TRUE(published.ok()) << published.status();
  std::map<std::string, const PublishedThroughput::Column*> columns;
  size_t cells = 0;
  for (const auto& column : published->columns) {
    columns[column.id] = &column;
    cells += column.rates.size();
  }
  EXPECT_EQ(cells, 41u);
  const auto percent = [&](const char* from, const char* to, PftMetric metric, int clients) {
    const double value =
        PercentBetter(*columns[from]->Rate(metric, clients), *columns[to]->Rate(metric, clients));
    return std::round(100 * value) / 100;
  };
  EXPECT_EQ(percent("chargefirst", "disabled", kCpu, 1), -0.01);
  EXPECT_EQ(percent("chargefirst", "disabled", kCpu, 3), 3.01);
  EXPECT_EQ(percent("chargefirst", "disabled", kCpu, 8), 0.01);
  EXPECT_EQ(percent("chargefirst", "disabled", kSec, 5), 1.37);
  EXPECT_EQ(percent("chargefirst", "disabled", kSec, 8), -0.22);
  EXPECT_EQ(percent("vanilla", "nomemcg-v1", kCpu, 1), 6.05);
  EXPECT_EQ(percent("vanilla", "chargefirst-v1", kCpu, 1), 3.07);
  EXPECT_FALSE(columns["chargefirst-v1"]->Rate(kSec, 1).has_value());
  EXPECT_FALSE(columns["chargefirst-v1"]->totals[0].has_value());
  EXPECT_EQ(columns["disabled"]->totals[1], 405.50);
  EXPECT_TRUE(published->HasCell("chargefirst/faults_cpu/1"));
  EXPECT_EQ(published->Find(Columns({})[1]), columns["chargefirst"]);
}

// Files with one mistake each. Expect one line with file, field and what is wrong.
TEST(PublishedThroughputTest, MistakesAreNamed) {
  const std::string file = absl::StrCat(testing::TempDir(), "pft_throughput_test.json");
  const std::string head = R"({"name": "n", "machine": "m", "model": "m", "source": "s", )";
  const std::string noise = R"("noise": {"percent": 1, "source": "s"}, )";
  const std::string column = R"({"id": "a", "title": "t", "kernel": "k", "memcg": "root", "source": "s"})";
  const std::string columns = absl::StrCat("\"columns\": [", column, "], ");
  const std::string cell = R"({"id": "a/faults_cpu/1", "rate": 5})";
  const auto with = [&](const std::string& text) {
    std::ofstream(file) << text;
    return std::string(LoadPublishedThroughput(file).status().message());
  };
  EXPECT_EQ(with(absl::StrCat(head, noise, columns, "\"cells\": [", cell, "]}")), "");
  for (const auto& [text, wrong] : std::vector<std::pair<std::string, std::string>>{
           {R"({"name": "n"})", "/machine: is missing"},
           {absl::StrCat(head, "\"noise\": {\"percent\": -1, \"source\": \"\"}}"),
            "/noise/percent: -1; valid: a number above 0"},
           {absl::StrCat(head, noise, "\"columns\": 3}"), "/columns: is missing; a list is expected"},
           {absl::StrCat(head, noise, "\"columns\": [", column, ",", column, "]}"),
            "/columns/1/id: 'a' is there twice"},
           {absl::StrCat(head, noise, "\"columns\": [{\"id\": 4}]}"), "/columns/0/id: 4 is not a text"},
           {absl::StrCat(head, noise, columns, "\"x\": []}"), "/cells: is missing"},
           {absl::StrCat(head, noise, columns, R"("cells": [{"id": "a/faults_cpu/1", "rate": 0}]})"),
            "/cells/0/rate: 0; valid: a number above 0"},
           {absl::StrCat(head, noise, columns, "\"cells\": [", cell, ",", cell, "]}"),
            "/cells/1/id: 'a/faults_cpu/1' is there twice"}}) {
    EXPECT_TRUE(absl::StrContains(with(text), absl::StrCat(file, ": ", wrong))) << with(text);
  }
  for (const char* id : {"b/faults_cpu/1", "a/faults/1", "a/faults_cpu/0", "a/faults_cpu", "a"}) {
    const std::string message =
        with(absl::StrCat(head, noise, columns, "\"cells\": [{\"id\": \"", id, "\", \"rate\": 5}]}"));
    EXPECT_TRUE(absl::StrContains(message, "valid: COLUMN/faults_cpu/CLIENTS")) << message;
  }
}

}  // namespace
}  // namespace memsim
