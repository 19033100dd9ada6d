#include "memsim/machine/machine_model.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace memsim {
namespace {

using nlohmann::json;

// A file of one test, removed with it.
class TempFile {
 public:
  explicit TempFile(const std::string& text)
      : path_(absl::StrCat(testing::TempDir(), "memsim_machine_", getpid(), "_", ++count_, ".json")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  static inline int count_ = 0;
  std::string path_;
};

std::string Shipped(const std::string& name) {
  std::ifstream in(absl::StrCat(MEMSIM_SOURCE_DIR, "/models/", name));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// A machine with two of everything, so that every field is needed.
json TwoSockets() { return json::parse(Shipped("machines/xeon-8176-2s.json")); }

json& At(json& document, const std::string& pointer) { return document[json::json_pointer(pointer)]; }

// The error of a file with that text: one line with the file, then `expected`.
void ExpectWrong(const std::string& text, const std::string& expected) {
  const TempFile file(text);
  const auto model = LoadMachineModel(file.path());
  ASSERT_FALSE(model.ok()) << expected;
  const std::string message(model.status().message());
  EXPECT_TRUE(absl::StartsWith(message, file.path() + ": ")) << message;
  EXPECT_TRUE(absl::StrContains(message, expected)) << message << "\n  instead of: " << expected;
  EXPECT_FALSE(absl::StrContains(message, "\n")) << message;
  EXPECT_LT(message.size(), 500u) << message;
}

// The same of the two-socket machine with one thing changed.
void ExpectWrongWith(const std::function<void(json&)>& change, const std::string& expected) {
  json document = TwoSockets();
  change(document);
  ExpectWrong(document.dump(), expected);
}

void ExpectWrongAt(const std::string& pointer, const json& value, const std::string& expected) {
  ExpectWrongWith([&](json& document) { At(document, pointer) = value; }, expected);
}

// The shipped machines. Expect all to load under their names, to be plausible, and to cover 1 to 1024 CPUs.
TEST(MachineModelTest, ShippedMachinesArePlausible) {
  const auto all = AllMachineModels();
  ASSERT_TRUE(all.ok()) << all.status();
  std::set<std::string> names;
  for (const MachineModel& model : *all) {
    SCOPED_TRACE(model.name);
    names.insert(model.name);
    EXPECT_EQ(model.given, model.name);
    EXPECT_LE(model.cpus(), kMaxSimCpus);
    EXPECT_EQ(model.SocketOf(0), 0);
    EXPECT_EQ(model.SocketOf(model.cpus() - 1), model.sockets - 1);
    EXPECT_GT(model.instruction, 0u);
    EXPECT_GE(model.smt_instruction, model.instruction);
    if (model.name == "ideal") continue;
    EXPECT_GE(model.cycle, 200u);  // 2 to 5 GHz
    EXPECT_LE(model.cycle, 500u);
    EXPECT_LT(model.l1.bytes, model.l2.bytes);
    EXPECT_LT(model.l2.bytes, model.l3.bytes);
    EXPECT_LT(model.l1.latency, model.l2.latency);
    EXPECT_LT(model.l2.latency, model.l3.latency);
    EXPECT_LT(model.l3.latency, model.dram);
    EXPECT_LE(model.transfer_smt, model.transfer_core);
    EXPECT_LE(model.transfer_core, model.transfer_socket);
    EXPECT_GT(model.dram_line, 0u);
    // One core alone does not saturate its memory.
    EXPECT_LE(model.dram_line * model.clear_lines, model.clear_page);
    EXPECT_GT(model.stage[0], 100'000u);
    EXPECT_FALSE(model.assumed.empty());
  }
  EXPECT_EQ(names, (std::set<std::string>{"i7-3770", "ideal", "nehalem-8cpu-2009", "wide-1024",
                                          "xeon-4s-144", "xeon-8160-4s", "xeon-8176-2s"}));
}

TEST(MachineModelTest, ShippedMachinesHaveTheirCpus) {
  for (const auto& [name, cpus] : {std::pair{"i7-3770", 8}, std::pair{"ideal", 64},
                                   std::pair{"nehalem-8cpu-2009", 8}, std::pair{"wide-1024", 1024},
                                   std::pair{"xeon-4s-144", 144}, std::pair{"xeon-8160-4s", 192},
                                   std::pair{"xeon-8176-2s", 112}}) {
    const auto model = LoadMachineModel(name);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->cpus(), cpus) << name;
  }
}

// Linux numbers the siblings last. Expect CPU 0 and 4 of the i7-3770 to share a core.
TEST(MachineModelTest, SiblingsAreNumberedLast) {
  const auto model = LoadMachineModel("i7-3770");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->CoreOf(0), model->CoreOf(4));
  EXPECT_NE(model->CoreOf(0), model->CoreOf(1));
}

// "Ideal" is for counting. Expect one nanosecond an instruction, and nothing else.
TEST(MachineModelTest, IdealCostsOnlyInstructions) {
  const auto ideal = LoadMachineModel("ideal");
  ASSERT_TRUE(ideal.ok()) << ideal.status();
  MachineModel expected;
  expected.name = expected.given = "ideal";
  expected.summary = ideal->summary;
  expected.source = ideal->source;
  expected.cores_per_socket = 64;
  expected.issue_slots = 1;
  expected.instruction = expected.smt_instruction = 1000;
  EXPECT_EQ(*ideal, expected);
}

// What was fitted and what was guessed. Expect the model to know.
TEST(MachineModelTest, ListsWhatIsCalibratedAndAssumed) {
  const auto model = LoadMachineModel("i7-3770");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->calibrated.size(), 4u);
  EXPECT_TRUE(absl::StartsWith(model->calibrated[0], "memory.bandwidth: chargefirst/faults_sec/8"));
  EXPECT_TRUE(absl::StartsWith(model->calibrated[1], "operations.instruction: the order of the eleven"));
  EXPECT_TRUE(absl::StartsWith(model->calibrated[2], "stages.exception: chargefirst/faults_cpu/1"));
  EXPECT_TRUE(absl::StartsWith(model->calibrated[3], "stages.data: the order of the eleven functions"));
  const std::set<std::string> assumed(model->assumed.begin(), model->assumed.end());
  EXPECT_TRUE(assumed.contains("memory.clear_page"));
  EXPECT_TRUE(assumed.contains("operations.rmw"));
  EXPECT_FALSE(assumed.contains("operations.instruction"));
  EXPECT_FALSE(assumed.contains("caches.l1.latency"));
}

// Cycles at 3 GHz, ns, KiB, MiB, GB/s and Hz. Expect picoseconds rounded to the nearest from the clock as
// it is written, not from the rounded cycle; bytes; the time of a line; the period.
TEST(MachineModelTest, UnitsAreConverted) {
  json document = TwoSockets();
  At(document, "/clock/value") = 3;
  const auto set = [&](const std::string& pointer, const json& value, const std::string& unit) {
    At(document, pointer) = {{"value", value}, {"unit", unit}, {"source", "assumed"}};
  };
  set("/caches/l1/latency", 4, "cycles");
  set("/caches/l2/latency", 10.0004, "ns");
  set("/caches/l2/size", 2, "MiB");
  set("/memory/bandwidth", 16.35, "GB/s");
  set("/timer/rate", 300, "Hz");
  set("/operations/instruction", 0.33, "cycles");
  set("/operations/rmw", 20, "cycles");
  set("/operations/ipi", 1.2345, "ns");
  At(document, "/caches/adjacent_line") = {{"value", true}, {"source", "assumed"}};
  const TempFile file(document.dump());
  const auto model = LoadMachineModel(file.path());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->given, file.path());
  EXPECT_EQ(model->cycle, 333u);
  EXPECT_EQ(model->l1.latency, 1333u);
  EXPECT_EQ(model->l1.bytes, 32768u);
  EXPECT_EQ(model->l2.latency, 10000u);
  EXPECT_EQ(model->l2.bytes, 2097152u);
  EXPECT_EQ(model->dram_line, 3914u);
  EXPECT_EQ(model->timer_period, 3'333'333'333u);
  EXPECT_EQ(model->instruction, 110u);
  EXPECT_EQ(model->rmw, 6667u);
  EXPECT_EQ(model->ipi, 1235u);  // 1234.5 ps
  EXPECT_TRUE(model->adjacent_line);
}

// Optional fields that are not there. Expect the defaults; where there is no other socket, and no sibling,
// the costs of meeting it are those of meeting nobody.
TEST(MachineModelTest, AbsentFieldsHaveDefaults) {
  json document = json::parse(Shipped("machines/i7-3770.json"));
  document.erase("timer");
  document.erase("stages");
  document["memory"].erase("bandwidth");
  document["memory"].erase("clear_lines");
  document["operations"].erase("tlb_shootdown");
  const TempFile file(document.dump());
  const auto model = LoadMachineModel(file.path());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->timer_period, 0u);
  EXPECT_EQ(model->stage, (std::array<uint64_t, kStageCount>{}));
  EXPECT_EQ(model->dram_line, 0u);
  EXPECT_EQ(model->clear_lines, 64u);
  EXPECT_EQ(model->tlb_shootdown, 0u);
  EXPECT_EQ(model->store_forward, 0u);
  EXPECT_FALSE(model->adjacent_line);
  EXPECT_EQ(model->dram_remote, model->dram);
  EXPECT_EQ(model->transfer_socket, model->transfer_core);
}

// Every shipped machine, written and loaded again. Expect the same.
TEST(MachineModelTest, WhatIsWrittenLoadsBack) {
  const auto all = AllMachineModels();
  ASSERT_TRUE(all.ok()) << all.status();
  for (MachineModel model : *all) {
    const TempFile file(MachineModelJson(model, {}));
    auto back = LoadMachineModel(file.path());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(back->calibrated.empty());
    back->given = model.given;
    back->assumed = model.assumed;
    back->calibrated = model.calibrated;
    EXPECT_EQ(*back, model) << MachineModelJson(model, {}) << MachineModelJson(*back, {});
  }
}

// A model in which every field has a value of its own, of awkward size. Expect none to be lost or swapped,
// and the sources to be where they were said to be.
TEST(MachineModelTest, EveryFieldIsWritten) {
  MachineModel model;
  model.name = "odd";
  model.summary = "a \"quoted\" summary";
  model.source = "a test";
  model.sockets = 2;
  model.cores_per_socket = 3;
  model.threads_per_core = 2;
  model.issue_slots = 5;
  uint64_t next = 1001;
  const auto take = [&next] { return next += 37; };
  model.cycle = 257;
  model.instruction = take();
  model.smt_instruction = take();
  model.l1 = {64 * 3 * 16, 3, take()};
  model.l2 = {64 * 5 * 64, 5, take()};
  model.l3 = {64 * 77 * 8192, 77, take()};
  model.dram = take();
  model.dram_remote = take();
  model.dram_line = 3917;
  model.clear_page = take();
  model.clear_lines = 63;
  for (uint64_t* field : {&model.transfer_smt, &model.transfer_core, &model.transfer_socket, &model.rmw,
                          &model.call, &model.irq_save, &model.irq_disable, &model.lock_handoff,
                          &model.ipi, &model.tlb_shootdown, &model.store_forward, &model.timer_cost}) {
    *field = take();
  }
  model.adjacent_line = true;
  model.timer_period = 3'333'333'331;
  for (uint64_t& stage : model.stage) stage = take();
  const TempFile file(MachineModelJson(model, {{"memory.dram", "measured: on a test"},
                                               {"caches.l2.ways", "calibrated: to nothing"}}));
  auto back = LoadMachineModel(file.path());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->calibrated, std::vector<std::string>{"caches.l2.ways: to nothing"});
  const std::set<std::string> assumed(back->assumed.begin(), back->assumed.end());
  EXPECT_FALSE(assumed.contains("memory.dram"));
  EXPECT_TRUE(assumed.contains("memory.dram_remote"));
  back->given.clear();
  back->calibrated.clear();
  back->assumed.clear();
  EXPECT_EQ(*back, model);
}

// Leaves of the schema and of a file, as pointers; `required` takes those without which no file is valid.
void SchemaLeaves(const json& schema, const json& node, const std::string& at, bool needed,
                  std::set<std::string>* leaves, std::set<std::string>* required) {
  json resolved = node;
  if (node.contains("$ref")) {
    resolved = schema.at(json::json_pointer(node["$ref"].get<std::string>().substr(1)));
  }
  const json properties = resolved.value("properties", json::object());
  if (properties.empty() || properties.contains("value")) {
    if (at == "/$schema") return;
    leaves->insert(at);
    if (needed) required->insert(at);
    return;
  }
  EXPECT_FALSE(resolved.value("additionalProperties", true)) << at;
  const json names = resolved.value("required", json::array());
  for (const auto& [name, property] : properties.items()) {
    const bool inner = needed && std::find(names.begin(), names.end(), name) != names.end();
    SchemaLeaves(schema, property, at + "/" + name, inner, leaves, required);
  }
}

void FileLeaves(const json& node, const std::string& at, std::set<std::string>* leaves) {
  if (!node.is_object() || node.contains("value")) {
    leaves->insert(at);
    return;
  }
  for (const auto& [name, inner] : node.items()) FileLeaves(inner, at + "/" + name, leaves);
}

// The schema and the loader. Expect the same fields, the same units, and that the loader misses what the
// schema requires.
TEST(MachineModelTest, TheSchemaAgreesWithTheLoader) {
  const json schema = json::parse(Shipped("schemas/machine.schema.json"));
  std::set<std::string> in_schema, required, in_file;
  SchemaLeaves(schema, schema, "", true, &in_schema, &required);
  const auto full = LoadMachineModel("xeon-8176-2s");
  ASSERT_TRUE(full.ok()) << full.status();
  const json written = json::parse(MachineModelJson(*full, {}));
  FileLeaves(written, "", &in_file);
  EXPECT_EQ(in_schema, in_file);
  EXPECT_GT(required.size(), 20u);
  for (const std::string& pointer : required) {
    ExpectWrongWith(
        [&](json& document) {
          const json::json_pointer at(pointer);
          document.at(at.parent_pointer()).erase(at.back());
        },
        pointer + ": is missing; ");
  }
  for (const auto& [name, definition] : schema["$defs"].items()) {
    if (!definition.contains("properties") || !definition["properties"].contains("unit")) continue;
    for (const std::string unit : definition["properties"]["unit"]["enum"]) {
      bool known = false;
      for (const std::string& pointer : in_file) {
        json document = written;
        if (!document.at(json::json_pointer(pointer)).is_object()) continue;
        const std::string said = document.at(json::json_pointer(pointer)).value("unit", "");
        known = known || said == unit;
      }
      // Written files use one unit of each quantity.
      EXPECT_TRUE(known || unit == "cycles" || unit == "MiB") << name << " " << unit;
    }
  }
}

TEST(MachineModelErrorTest, MissingFieldsAreNamed) {
  ExpectWrong("{}", ": /name: is missing");
  ExpectWrongWith([](json& d) { d["caches"]["l1"].erase("latency"); },
                  R"(/caches/l1/latency: is missing; valid: {"value": number, "unit": ns, cycles, )");
  ExpectWrongWith([](json& d) { d["transfer"].erase("smt"); }, "/transfer/smt: is missing");
  ExpectWrongWith([](json& d) { d["transfer"].erase("socket"); }, "/transfer/socket: is missing");
  ExpectWrongWith([](json& d) { d["memory"].erase("dram_remote"); }, "/memory/dram_remote: is missing");
  ExpectWrongWith([](json& d) { d["timer"].erase("cost"); }, "/timer/cost: is missing");
  ExpectWrongWith([](json& d) { d["clock"].erase("value"); }, "/clock/value: is missing; valid: 0.1 to");
  ExpectWrongWith([](json& d) { d["clock"].erase("unit"); }, "/clock/unit: is missing; valid: GHz");
  ExpectWrongWith([](json& d) { d["clock"].erase("source"); },
                  "/clock/source: is missing; valid: where the value is from");
}

TEST(MachineModelErrorTest, WrongUnitsAndTypesAreNamed) {
  ExpectWrongAt("/clock/unit", "MHz", R"(/clock/unit: "MHz"; valid: GHz)");
  ExpectWrongAt("/memory/dram/unit", "us", R"(/memory/dram/unit: "us"; valid: ns, cycles)");
  ExpectWrongAt("/caches/l2/size/unit", "ns", R"(/caches/l2/size/unit: "ns"; valid: KiB, MiB)");
  ExpectWrongAt("/topology/sockets/unit", 1, R"(/topology/sockets/unit: 1; valid: 1)");
  ExpectWrongAt("/clock/value", "3.4", R"(/clock/value: "3.4"; valid: 0.1 to 10 GHz)");
  ExpectWrongAt("/clock/value", nullptr, "/clock/value: null; valid:");
  ExpectWrongAt("/clock/value", json::array({1}), "/clock/value: a list; valid:");
  ExpectWrongAt("/clock/source", 7, "/clock/source: 7; valid: where");
  ExpectWrongAt("/clock/source", "", "/clock/source: is empty");
  ExpectWrongAt("/clock/source", "calibrated", "does not say to what; valid: where");
  ExpectWrongAt("/clock/source", "two\nlines", "/clock/source: has a control character");
  ExpectWrongAt("/clock", 3.4, R"(/clock: 3.4; valid: {"value": number, "unit": GHz, "source": text})");
  ExpectWrongAt("/caches", 3, "/caches: 3; valid: an object");
  ExpectWrongAt("/caches/l1", json::array(), "/caches/l1: a list; valid: an object");
  ExpectWrongAt("/caches/l1/size", nullptr, "/caches/l1/size: null; valid: {");
  ExpectWrongAt("/caches/adjacent_line", {{"value", 1}, {"source", "assumed"}},
                "/caches/adjacent_line/value: 1; valid: true, false");
  ExpectWrongAt("/name", 7, "/name: 7 is not a text");
  ExpectWrongAt("/name", "a b", R"(/name: "a b"; valid: at most 32 letters)");
  ExpectWrongAt("/summary", std::string(81, 'x'), "/summary: 81 columns; valid: at most 80");
}

TEST(MachineModelErrorTest, NumbersOutOfRangeAreNamed) {
  ExpectWrongAt("/caches/l1/latency/value", -4, "/caches/l1/latency/value: -4; valid: 0 ns to 1 ms");
  ExpectWrongAt("/memory/dram/value", 1e300, "/memory/dram/value: 1e+300; valid: 0 ns to 1 ms");
  ExpectWrongAt("/clock/value", 0, "/clock/value: 0; valid: 0.1 to 10 GHz");
  ExpectWrongAt("/clock/value", -2.1, "/clock/value: -2.1; valid: 0.1 to 10 GHz");
  ExpectWrongAt("/operations/instruction/value", 0,
                "/operations/instruction/value: 0; valid: 0.001 ns to 1 ms");
  ExpectWrongAt("/topology/sockets/value", 0, "/topology/sockets/value: 0; valid: a whole number from 1");
  ExpectWrongAt("/topology/sockets/value", 1.5, "/topology/sockets/value: 1.5; valid: a whole number");
  ExpectWrongAt("/topology/sockets/value", 1000000,
                "/topology/sockets/value: 1000000; valid: a whole number from 1 to 1024");
  ExpectWrongAt("/topology/cores_per_socket/value", 1000,
                "/topology: 2 sockets x 1000 cores x 2 threads are 4000 CPUs; valid: at most 1024");
  ExpectWrongAt("/memory/bandwidth/value", -1, "/memory/bandwidth/value: -1; valid: 0 (unlimited), or");
  ExpectWrongAt("/memory/bandwidth/value", 0.001, "/memory/bandwidth/value: 0.001; valid:");
  ExpectWrongAt("/timer/rate/value", 0.5, "/timer/rate/value: 0.5; valid: 0 (none), or 1 to 1000000 Hz");
  ExpectWrongAt("/caches/l3/size/value", 1e6, "/caches/l3/size/value: 1000000.0; valid: 0 to 1 GiB");
  ExpectWrongAt("/caches/l3/size/value", 1e-9, "valid: 0 to 1 GiB, in whole bytes");
}

TEST(MachineModelErrorTest, NumbersThatContradictAreNamed) {
  ExpectWrongAt("/topology/threads_per_core/value", 8,
                "/topology/threads_per_core: 8; valid: at most one for each of the 4 issue slots");
  ExpectWrongAt("/caches/l1/ways/value", 7,
                "/caches/l1/ways: 7 ways of 64-byte lines divide 32768 bytes into 73.1429 sets; valid: ways "
                "that make a power of two");
  ExpectWrongAt("/caches/l3/size/value", 38.5, "/caches/l3/ways: 19 ways of 64-byte lines divide");
  ExpectWrongWith(
      [](json& d) {
        d["caches"]["l3"]["size"]["value"] = 38.5;
        d["caches"]["l3"]["ways"]["value"] = 11;
      },
      "/caches/l3/ways: 11 ways of 64-byte lines divide 40370176 bytes into 57344 sets; valid: ways that");
  ExpectWrongAt("/caches/l1/ways/value", 1,
                "/caches/l1/ways: 1; valid: at least one for each of the 2 threads of a core");
  ExpectWrongAt("/caches/l2/size/value", 0, "/caches/l2/ways: there is no such cache");
  ExpectWrongAt("/caches/l2/latency/value", 1,
                "/caches/l2/latency: 0.476 ns is less than 1.905 ns of /caches/l1/latency; valid: l1 <= l2");
  ExpectWrongAt("/memory/dram/value", 1, "/memory/dram: 1 ns is less than 28.571 ns of /caches/l3/latency");
  ExpectWrongAt("/memory/dram_remote/value", 60, "/memory/dram_remote: 60 ns is less than 82 ns of");
  ExpectWrongAt("/operations/smt_instruction/value", 0.1,
                "/operations/smt_instruction: 0.048 ns; valid: at least /operations/instruction");
  ExpectWrongAt("/timer/rate/value", 1000000,
                "/timer/cost: 1500 ns; valid: less than one period, 1000 ns");
  ExpectWrongWith(
      [](json& d) {
        d["topology"]["cores_per_socket"]["value"] = 256;
        d["caches"]["l2"]["size"]["value"] = 128;
      },
      "/caches: 65628 MiB in the whole machine; valid: at most 4096 MiB");
}

TEST(MachineModelErrorTest, UnknownFieldsAreAnsweredWithTheNamesThatExist) {
  ExpectWrongAt("/cache", 1, "/cache: is unknown; valid: $schema, name, summary, source, topology, clock, "
                             "caches, memory, transfer, operations, timer, stages");
  ExpectWrongAt("/caches/l4", 1, "/caches/l4: is unknown; valid: l1, l2, l3, adjacent_line");
  ExpectWrongAt("/caches/l1/latancy", 1, "/caches/l1/latancy: is unknown; valid: size, ways, latency");
  ExpectWrongAt("/stages/zap", 1, "/stages/zap: is unknown; valid: exception, vma_lookup");
  ExpectWrongAt("/clock/note", "x", R"(/clock: has an unknown "note"; valid: {"value": number)");
  ExpectWrongWith([](json& d) { d["a\nb"] = 1; }, R"(/a\nb: is unknown)");
  ExpectWrongWith([](json& d) { d[std::string(100000, 'x')] = 1; }, "xxx...");
}

TEST(MachineModelErrorTest, WhatIsNoJsonIsRefused) {
  const std::string good = Shipped("machines/i7-3770.json");
  ExpectWrong("", "is not a JSON object");
  ExpectWrong("[]", "is not a JSON object, but a list");
  ExpectWrong(good.substr(0, good.size() / 2), "is not a JSON object: /");
  for (const char* number : {"NaN", "Infinity", "-Infinity", "1e999", "0x10", ".5"}) {
    const std::string clock = R"("clock": {"value": )";
    ExpectWrong(absl::StrReplaceAll(good, {{clock + "3.9", clock + number}}),
                "is not a JSON object: /clock/value: ");
  }
  ExpectWrong(absl::StrReplaceAll(good, {{"\"cores_per_socket\"", "\"sockets\""}}),
              "/topology/sockets: is there twice");
  ExpectWrong(std::string(100000, '['), "is nested too deeply");
  ExpectWrong(absl::StrCat(R"({"name": )", std::string(100000, '{')), "is not a JSON object");
  ExpectWrong(std::string("{\"name\": \"\xff\xfe\"}"), "is not a JSON object: /name");
  ExpectWrong(std::string("\0\1\2\3", 4), "is not a JSON object");
}

// 100 MB of garbage. Expect a refusal at once that has not read or kept all of it.
TEST(MachineModelErrorTest, HugeFilesAreRefusedUnread) {
  const TempFile file("");
  std::filesystem::resize_file(file.path(), 100'000'000);
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  const auto begin = std::chrono::steady_clock::now();
  const auto model = LoadMachineModel(file.path());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 30'000);  // KiB
  EXPECT_EQ(model.status().message(),
            file.path() + ": is longer than 1 MiB; valid: a model file of at most 1 MiB");
  EXPECT_TRUE(absl::StrContains(LoadMachineModel("/dev/zero").status().message(), "longer than 1 MiB"));
  std::string padded = Shipped("machines/i7-3770.json");
  padded.resize(size_t{1} << 20, ' ');
  EXPECT_TRUE(LoadMachineModel(TempFile(padded).path()).ok());
}

TEST(MachineModelErrorTest, WhatCannotBeReadIsNamed) {
  const std::string dir = testing::TempDir() + "/";
  EXPECT_EQ(LoadMachineModel(dir).status().message(), dir + ": cannot be read: it is a directory");
  EXPECT_EQ(LoadMachineModel("/nowhere/m.json").status().message(), "/nowhere/m.json: cannot be read");
  EXPECT_TRUE(absl::StrContains(LoadMachineModel("i8-3770").status().message(),
                                "no 'i8-3770' in machines; valid: i7-3770, ideal, "));
  EXPECT_FALSE(LoadMachineModel("").ok());
  EXPECT_FALSE(LoadMachineModel(std::string(10000, '/')).ok());
}

// A file in models/machines/ that calls itself something else. Expect it to be refused by name.
TEST(MachineModelErrorTest, AFileIsCalledAsItsMachine) {
  const std::string models = absl::StrCat(testing::TempDir(), "memsim_models_", getpid());
  std::filesystem::create_directories(models + "/machines");
  std::ofstream(models + "/machines/mine.json") << Shipped("machines/ideal.json");
  setenv("MEMSIM_MODELS", models.c_str(), 1);
  EXPECT_EQ(LoadMachineModel("mine").status().message(),
            models + "/machines/mine.json: /name: 'ideal'; valid: 'mine', as the file");
  EXPECT_FALSE(AllMachineModels().ok());
  EXPECT_TRUE(LoadMachineModel(models + "/machines/mine.json").ok());
  unsetenv("MEMSIM_MODELS");
  std::filesystem::remove_all(models);
}

}  // namespace
}  // namespace memsim
