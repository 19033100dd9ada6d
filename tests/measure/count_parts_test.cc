// What `memsim count` is made of: the profile that callgrind writes, the group that
// perf_event_open() reads, and the other program that is run.
#include <errno.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "lib/measure/callgrind.h"
#include "lib/measure/program.h"
#include "lib/measure/symbols.h"
#include "memsim/measure/configuration.h"
#include "memsim/measure/hardware_counters.h"

namespace memsim {
namespace {

// main calls f twice and f calls g from two lines; g is also called by main. The cost behind
// "calls=" belongs to the callee.
constexpr absl::string_view kProfile =
    "# callgrind format\nversion: 1\npositions: line\nevents: Ir\nsummary: 33\n\n"
    "ob=/a program\nfl=a.c\nfn=main\n7 1\ncfn=f'main\ncalls=2 4\n8 25\ncfn=g'main\ncalls=1 9\n9 "
    "6\n9 1\n\n"
    "fn=f'main\n4 5\nfi=b.h\n1 2\nfe=a.c\ncfn=g'f'main\ncalls=3 9\n5 18\n\n"
    "fn=g'f'main\n9 18\n\nfn=g'main\n9 6\n\ntotals: 33\n";

const CallgrindFunction* Find(const std::vector<CallgrindFunction>& all,
                              std::vector<std::string> chain) {
  for (const CallgrindFunction& one : all) {
    if (one.chain == chain) return &one;
  }
  return nullptr;
}

// The profile above. Expect self cost and calls of each chain, and g apart by who called it.
TEST(CallgrindTest, KeepsChainsApart) {
  const auto all = ParseCallgrind(kProfile);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 4u);
  const auto expect = [&](std::vector<std::string> chain, uint64_t instructions, uint64_t calls) {
    const CallgrindFunction* one = Find(*all, chain);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one->instructions, instructions) << chain[0];
    EXPECT_EQ(one->calls, calls) << chain[0];
  };
  expect({"main"}, 2, 0);
  expect({"f", "main"}, 7, 2);
  expect({"g", "f", "main"}, 18, 3);
  expect({"g", "main"}, 6, 1);
}

std::string Replaced(absl::string_view from, absl::string_view to) {
  return absl::StrReplaceAll(kProfile, {{from, to}});
}

// Profiles that are cut off, do not add up, or count something else. Expect each refused.
TEST(CallgrindTest, RefusesWhatDoesNotAddUp) {
  for (const std::string& text :
       {std::string(), Replaced("totals: 33\n", ""), Replaced("totals: 33", "totals: 34"),
        Replaced("9 18\n\n", ""), Replaced("events: Ir", "events: Ir Dr"),
        Replaced("fn=main\n", ""), Replaced("calls=2", "calls=two")}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseCallgrind(text).status())) << text;
  }
}

// Symbols as valgrind names them, mangled. Expect the function of the kernel, with split-off parts.
TEST(SymbolsTest, KnowMangledNames) {
  const Symbols symbols;
  EXPECT_EQ(symbols.Named("_ZN6memsim10ChargePathIXE21mem_cgroup_try_chargeEPv").fn,
            Fn::kMemCgroupTryCharge);
  EXPECT_EQ(symbols.Named("_ZN6memsim10ChargePathIXE10try_chargeEPv.cold").fn, Fn::kTryCharge);
  EXPECT_EQ(symbols.Named("_ZN6memsim10ChargePathIXE13TryChargeSlowEPv").fn, Fn::kTryCharge);
  EXPECT_EQ(symbols.Named("_ZN6memsim9EventPathIXE27mem_cgroup_count_vm_event__EPv").fn,
            Fn::kCountVmEvent);
  EXPECT_EQ(symbols.Named("malloc").kind, Symbols::Kind::kOther);
}

// A group of three that ran a quarter of the time it was enabled. Expect four times what it
// counted.
TEST(HardwareCountersTest, ScalesASharedGroup) {
  const auto values = internal::ScaledGroup({3, 4000, 1000, 10, 20, 0}, 3);
  ASSERT_TRUE(values.has_value());
  EXPECT_EQ(*values, (std::vector<double>{40, 80, 0}));
  // All of the time: as counted, also where the product of the words would not fit into one.
  const uint64_t long_run = uint64_t{1} << 40;
  const auto exact = internal::ScaledGroup({1, long_run, long_run, long_run}, 1);
  ASSERT_TRUE(exact.has_value());
  EXPECT_EQ((*exact)[0], static_cast<double>(long_run));
}

// A group that never got onto the CPU, and reads of another shape. Expect no value, rather than 0.
TEST(HardwareCountersTest, HasNoValueWithoutTime) {
  EXPECT_FALSE(internal::ScaledGroup({2, 4000, 0, 0, 0}, 2).has_value());
  EXPECT_FALSE(internal::ScaledGroup({2, 4000, 4000, 1}, 2).has_value());
  EXPECT_FALSE(internal::ScaledGroup({1, 4000, 4000, 1, 1}, 2).has_value());
  EXPECT_FALSE(internal::ScaledGroup({}, 1).has_value());
}

// The ways perf_event_open() refuses. Expect the reason, and of permissions the setting that would
// do.
TEST(HardwareCountersTest, SaysWhyThereIsNone) {
  EXPECT_TRUE(absl::StrContains(internal::WhyNoCounter(ENOENT, 2), "no such counter"));
  EXPECT_TRUE(
      absl::StrContains(internal::WhyNoCounter(EACCES, 4), "perf_event_paranoid is 4, 2 would do"));
  EXPECT_TRUE(absl::StrContains(internal::WhyNoCounter(EPERM, 1), "forbidden"));
  EXPECT_TRUE(absl::StrContains(internal::WhyNoCounter(EACCES, std::nullopt), "forbidden"));
  EXPECT_TRUE(
      absl::StrContains(internal::WhyNoCounter(ENOSYS, std::nullopt), "without perf events"));
  EXPECT_TRUE(absl::StrContains(internal::WhyNoCounter(EBADF, 2), "Bad file descriptor"));
}

// Two threads. Expect the sum; when one has no count, its reason; one that counted nothing yet
// changes nothing.
TEST(HardwareCountersTest, ASumWithAHoleIsAHole) {
  EXPECT_EQ(*internal::Sum({2.0, ""}, {3.0, ""}).count, 5.0);
  EXPECT_EQ(*internal::Sum({}, {3.0, ""}).count, 3.0);
  for (const HardwareCount& sum : {internal::Sum({2.0, ""}, {std::nullopt, "busy"}),
                                   internal::Sum({std::nullopt, "busy"}, {2.0, ""})}) {
    EXPECT_FALSE(sum.count.has_value());
    EXPECT_EQ(sum.why, "busy");
  }
}

// A real session of two threads on this host. Expect of each counter a count above 0 or a reason,
// and after Take() nothing left.
TEST(HardwareCountersTest, CountsOrSaysWhyNot) {
  ConfigurationText text;
  text.threads = 2;
  text.faults = 4096;
  const auto configuration = Resolve(text);
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  HardwareCounters counters;
  auto runner = Runner::Open(*configuration, MachineKind::kNative, {.observer = &counters});
  ASSERT_TRUE(runner.ok()) << runner.status();
  (*runner)->Execute();
  for (const HardwareCount& count : counters.Take()) {
    EXPECT_NE(count.count.has_value(), !count.why.empty());
    EXPECT_GT(count.count.value_or(1), 0);
  }
  for (const HardwareCount& count : counters.Take()) EXPECT_FALSE(count.count.has_value());
}

// A program that writes to its three files and fails. Expect all of it.
TEST(ProgramTest, HasItsOutputAndStatus) {
  const auto result =
      RunProgram({"sh", "-c", "echo out; echo err >&2; echo extra >&3; exit 7"}, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->status, 7);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->extra, "extra\n");
}

// A file given by name, more of it than one read takes; a program that kills itself; one that does
// not exist.
TEST(ProgramTest, KnowsOtherEnds) {
  const std::string write = "head -c 200000 /dev/zero >" + std::string(kExtraPath);
  EXPECT_EQ(RunProgram({"sh", "-c", write}, nullptr)->extra.size(), 200000u);
  EXPECT_EQ(RunProgram({"sh", "-c", "kill -TERM $$"}, nullptr)->status, -SIGTERM);
  EXPECT_TRUE(absl::IsNotFound(RunProgram({"no-such-program"}, nullptr).status()));
}

// A program that would take a minute, stopped from outside. Expect it killed: the call is over at
// once.
TEST(ProgramTest, IsKilledOnStop) {
  std::atomic<bool> stop{false};
  const auto begin = std::chrono::steady_clock::now();
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.store(true);
  });
  EXPECT_TRUE(absl::IsCancelled(RunProgram({"sleep", "60"}, &stop).status()));
  user.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace memsim
