// Records as `memsim compare --out` makes them, without a comparison.
#ifndef MEMSIM_TESTS_REPORT_RECORD_OF_H_
#define MEMSIM_TESTS_REPORT_RECORD_OF_H_

#include <nlohmann/json.hpp>
#include <string>

#include "gtest/gtest.h"
#include "memsim/report/records.h"

namespace memsim {

inline nlohmann::json ReportOf(double difference, int seed = 1) {
  const auto arm = [&](const std::string& memcg) {
    return nlohmann::json{
        {"arm", "v4.0,memcg=" + memcg},
        {"configuration",
         {{"command", "memsim run --memcg " + memcg + " --seed " + std::to_string(seed)}, {"memcg", memcg}}},
        {"counts", {{"pages", 1024}}}};
  };
  nlohmann::json report = {{"schema", "memsim.compare/2"}, {"partial", false}};
  report["result"]["arms"] = {arm("root"), arm("disabled")};
  report["result"]["arms"][1]["difference"] = {{"median", difference},
                                               {"low", difference - 0.1},
                                               {"high", difference + 0.1},
                                               {"confidence", 0.95},
                                               {"n", 50}};
  report["result"]["arms"][1]["verdict"] = "resolved";
  report["environment"] = {{"cpu", "Model T"},
                           {"cpus", 2},
                           {"virtual_machine", true},
                           {"os", "Linux 6.1"},
                           {"load", 0.5},
                           {"compiler", "g++ 12.2"},
                           {"build", "optimised"},
                           {"program", "p 1"},
                           {"static_keys", "patched"},
                           {"time", "2026-12-03T05:11:12Z"}};
  report["environment"]["notes"] = {
      {{"name", "SMT"}, {"value", "off"}, {"effect", "none"}, {"harms", false}}};
  return report;
}

inline Record RecordOf(const nlohmann::json& report) {
  auto record = MakeRecord({"compare", "v4.0,memcg=root", "v4.0,memcg=disabled"}, report.dump());
  EXPECT_TRUE(record.ok()) << record.status();
  return record.ok() ? *std::move(record) : Record();
}

}  // namespace memsim

#endif  // MEMSIM_TESTS_REPORT_RECORD_OF_H_
