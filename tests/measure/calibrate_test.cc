// Only orders and ratios: what a host takes is its own affair, and a neighbour may be on it.
#include "memsim/measure/calibrate.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "lib/measure/calibrate/host.h"
#include "lib/measure/calibrate/pairs.h"
#include "memsim/internal/compiler.h"
#include "memsim/report/render.h"
#include "memsim/session/threads.h"

namespace memsim {
namespace {

namespace fs = std::filesystem;
using calibrate::Distance;

CalibrateOptions Quick() {
  CalibrateOptions options;
  options.repetitions = MEMSIM_SANITIZED ? 2 : 11;
  options.most_memory = uint64_t{64} << 20;
  return options;
}

const Calibration& Once() {
  static const absl::StatusOr<Calibration> calibration = Calibrate(Quick());
  EXPECT_TRUE(calibration.ok()) << calibration.status();
  return *calibration;
}

// This host. Expect the levels of memory in their order, and what is a part to be less than the whole.
TEST(CalibrateTest, ValuesAreInTheirOrder) {
  const MachineModel& m = Once().model;
  EXPECT_FALSE(Once().partial);
  EXPECT_GT(m.cycle, 0u);
  EXPECT_GT(m.instruction, 0u);
  EXPECT_GT(m.l1.latency, 0u);
  if (MEMSIM_SANITIZED) GTEST_SKIP() << "sanitizers add accesses of their own";
  EXPECT_LT(m.instruction, m.l1.latency);
  EXPECT_LE(m.l1.latency, m.l2.latency);
  EXPECT_LE(m.l2.latency, m.dram);
  if (m.l3.bytes != 0) {
    EXPECT_LE(m.l2.latency, m.l3.latency);
  }
  EXPECT_GT(m.rmw, m.instruction);
  EXPECT_GT(m.clear_page, m.l1.latency);
  EXPECT_GT(m.clear_page, m.dram_line);
  EXPECT_GT(m.stage[static_cast<size_t>(Stage::kException)], m.l2.latency);
  for (const uint64_t transfer : {m.transfer_smt, m.transfer_core, m.transfer_socket}) {
    EXPECT_GT(transfer, m.l1.latency);
  }
  EXPECT_GT(m.lock_handoff, m.l1.latency);
  EXPECT_GT(m.ipi, m.l2.latency);
  EXPECT_GE(m.cpus(), 1);
}

// Each field. Expect it measured or assumed, and never both; a stage inside another one to be zero.
TEST(CalibrateTest, EveryValueSaysWhereItIsFrom) {
  std::set<std::string> measured;
  for (const FieldSource& source : Once().sources) {
    EXPECT_EQ(source.source.rfind("measured: ", 0), 0u) << source.field << ": " << source.source;
    EXPECT_TRUE(measured.insert(source.field).second) << source.field;
  }
  for (const std::string& field : Once().model.assumed) EXPECT_EQ(measured.count(field), 0u) << field;
  for (const char* field :
       {"clock", "operations.instruction", "caches.l1.size", "caches.l1.latency", "memory.dram",
        "operations.rmw", "operations.call", "operations.irq_save", "operations.irq_disable",
        "memory.clear_page", "memory.bandwidth", "stages.exception", "stages.user"}) {
    EXPECT_EQ(measured.count(field), 1u) << field;
  }
  EXPECT_EQ(Once().model.assumed.size(), Once().assumed.size());
  EXPECT_EQ(Once().model.stage[static_cast<size_t>(Stage::kRmap)], 0u);
}

// The intervals. Expect the centre inside, and a value for every round.
TEST(CalibrateTest, IntervalsHoldTheirCentre) {
  for (const CalibratedValue& value : Once().values) {
    ASSERT_GT(value.interval.n, 0) << value.what;
    EXPECT_LE(value.interval.low, value.interval.centre) << value.what;
    EXPECT_GE(value.interval.high, value.interval.centre) << value.what;
    EXPECT_LE(value.interval.n, 15) << value.what;
  }
}

// The report in its forms. Expect lines that fit, JSON that parses and holds the machine file.
TEST(CalibrateTest, Renders) {
  const Environment environment = ReadEnvironment();
  const std::string text = CalibrationText(Once(), environment);
  size_t column = 0;
  for (const char c : text) {
    column = c == '\n' ? 0 : column + ((c & 0xc0) != 0x80 ? 1 : 0);
    ASSERT_LE(column, 100u) << text;
  }
  const auto json = nlohmann::json::parse(CalibrationJson(Once(), environment), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["schema"], "memsim.calibrate/1");
  EXPECT_TRUE(json["result"]["machine"].is_object());
  EXPECT_EQ(json["result"]["values"].size(), Once().values.size());
  const auto machine = nlohmann::json::parse(MachineModelJson(Once().model, Once().sources), nullptr, false);
  EXPECT_FALSE(machine.is_discarded());
}

// Interrupted before the first round. Expect what there is, marked partial.
TEST(CalibrateTest, StopsAtOnce) {
  const std::atomic<bool> stop{true};
  CalibrateOptions options = Quick();
  options.most_memory = uint64_t{4} << 20;
  options.stop = &stop;
  const auto calibration = Calibrate(options);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_TRUE(calibration->partial);
  const auto json = nlohmann::json::parse(CalibrationJson(*calibration, ReadEnvironment()), nullptr, false);
  EXPECT_EQ(json["partial"], true);
  EXPECT_FALSE(json["result"].contains("machine"));
}

class SysTest : public testing::Test {
 protected:
  SysTest() : root_(fs::path(testing::TempDir()) / ("memsim_sys_" + std::to_string(getpid()))) {}
  ~SysTest() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void Cpu(int cpu, int core, int package) {
    const std::string folder = "cpu" + std::to_string(cpu) + "/topology/";
    Write(folder + "core_id", std::to_string(core));
    Write(folder + "physical_package_id", std::to_string(package));
  }
  fs::path root_;
};

// Two sockets of two cores of two threads. Expect that, and the pairs of each distance; with only four
// CPUs allowed, what those four are.
TEST_F(SysTest, TopologyIsThatOfTheAllowedCpus) {
  for (int cpu = 0; cpu < 8; ++cpu) Cpu(cpu, cpu % 2, cpu / 2 % 2);
  const auto all = calibrate::ReadTopology(root_.string(), {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(all.sockets, 2);
  EXPECT_EQ(all.cores_per_socket, 2);
  EXPECT_EQ(all.threads_per_core, 2);
  EXPECT_FALSE(all.source.empty());
  EXPECT_EQ(PairsOf(all, Distance::kSmt, 100).size(), 4u);
  EXPECT_EQ(PairsOf(all, Distance::kCore, 100).size(), 8u);
  EXPECT_EQ(PairsOf(all, Distance::kSocket, 100).size(), 16u);
  const auto some = PairsOf(all, Distance::kSocket, 6);
  ASSERT_EQ(some.size(), 6u);
  EXPECT_EQ(some[0].a, 0);
  EXPECT_EQ(some[5].b, 7);
  const auto half = calibrate::ReadTopology(root_.string(), {0, 1, 4, 5});
  EXPECT_EQ(half.sockets, 1);
  EXPECT_EQ(half.cores_per_socket, 2);
  EXPECT_EQ(half.threads_per_core, 2);
}

// A host that says nothing. Expect cores of one socket, caches from elsewhere or marked as assumed.
TEST_F(SysTest, WhatIsNotSaidIsMarked) {
  const auto topology = calibrate::ReadTopology(root_.string(), {3, 5});
  EXPECT_EQ(topology.sockets, 1);
  EXPECT_EQ(topology.cores_per_socket, 2);
  EXPECT_EQ(topology.threads_per_core, 1);
  EXPECT_EQ(topology.source, "");
  const auto caches = calibrate::ReadCaches(root_.string(), 3);
  EXPECT_GT(caches.l1.bytes, 0u);
  EXPECT_GT(caches.l1.ways, 0);
}

// Cache files as the kernel writes them; no L3. Expect sizes and ways, the instruction cache passed over.
TEST_F(SysTest, CachesAreRead) {
  const auto index = [&](int i, const std::string& type, const std::string& level, const std::string& size) {
    const std::string folder = "cpu0/cache/index" + std::to_string(i) + "/";
    Write(folder + "type", type);
    Write(folder + "level", level);
    Write(folder + "size", size);
    Write(folder + "ways_of_associativity", "8");
  };
  index(0, "Data", "1", "32K");
  index(1, "Instruction", "1", "64K");
  index(2, "Unified", "2", "2M");
  const auto caches = calibrate::ReadCaches(root_.string(), 0);
  EXPECT_EQ(caches.l1.bytes, uint64_t{32} << 10);
  EXPECT_EQ(caches.l1.ways, 8);
  EXPECT_EQ(caches.l2.bytes, uint64_t{2} << 20);
  EXPECT_EQ(caches.l3.bytes, 0u);
}

// A CPU that does not exist. Expect no value, and the threads joined.
TEST(PairsTest, WhoCannotBePinnedGivesNoValue) {
  EXPECT_FALSE(calibrate::TransferNs({AllowedCpus()[0], CPU_SETSIZE - 1}).has_value());
}

}  // namespace
}  // namespace memsim
