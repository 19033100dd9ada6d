// Golden files: every function's exact counts in the situations that matter, one file per kernel. A
// change of cost is a diff in review. To update them: MEMSIM_UPDATE_GOLDEN=1 golden_test
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "tests/support/session.h"

namespace memsim::support {
namespace {

// The counts of `measured`, after `before` brought the world to the situation.
struct Situation {
  absl::string_view name;
  int depth = 1;
  bool enabled = true;
  bool compiled_in = true;
  Operations before;
  Operations measured;
};

std::vector<Situation> Situations() {
  // The third fault is the plain one; the 15th moves the LRU batch; the 33rd finds the stock empty.
  const Operations third = {Fault(2, 1)};
  const Operations warm = {Fault(0, 2)};
  const Operations full = {Fault(0, 510)};
  const Operations gather = {Unmap(0, 510)};
  return {
      {.name = "fault, child, stock hit", .before = warm, .measured = third},
      {.name = "fault, root", .depth = 0, .before = warm, .measured = third},
      {.name = "fault, disabled", .enabled = false, .before = warm, .measured = third},
      {.name = "fault, compiled out", .compiled_in = false, .before = warm, .measured = third},
      {.name = "fault, child, stock miss", .before = {Fault(0, 32)}, .measured = {Fault(32, 1)}},
      {.name = "fault, child, LRU batch", .before = {Fault(0, 14)}, .measured = {Fault(14, 1)}},
      {.name = "unmap of 510 pages, child", .before = full, .measured = gather},
      {.name = "unmap of 510 pages, root", .depth = 0, .before = full, .measured = gather},
      {.name = "unmap of 510 pages, disabled",
       .enabled = false,
       .before = full,
       .measured = gather},
      {.name = "unmap of 510 pages, compiled out",
       .compiled_in = false,
       .before = full,
       .measured = gather},
  };
}

constexpr absl::string_view kPartNames[] = {"charge", "lru_batch", "free"};

void AppendTable(const TraceCounts& counts, std::string* text) {
  for (size_t p = 0; p < kPartCount; ++p) {
    const Part part = static_cast<Part>(p);
    for (const FnInfo& fn : kFunctions) {
      const Counts& c = counts.of(part, fn.id);
      if (c.calls == 0 && c.instructions == 0) continue;
      absl::StrAppendFormat(text, "%-10s%-36s%6d%8d%7d%7d%6d%8d%5d%6d%6d\n", kPartNames[p], fn.name,
                            c.calls, c.instructions, c.loads, c.stores, c.rmw, c.percpu_incs,
                            c.irq_off, c.locks, c.gates);
    }
    if (counts.lines[p] + counts.page_lines[p] == 0) continue;
    absl::StrAppendFormat(text, "%-10s(memcg lines: %d, and %d of struct page)\n", kPartNames[p],
                          counts.lines[p], counts.page_lines[p]);
  }
}

std::string Render(const Kernel& kernel) {
  std::string text =
      absl::StrCat("Exact counts of ", kernel.name, " (", kernel.source,
                   ") on the tracing machine: one CPU, gate ", GateName(kernel.default_gate),
                   ",\nmemory+swap counted, a child one level below root. ",
                   "Update with MEMSIM_UPDATE_GOLDEN=1.\n");
  for (const Situation& situation : Situations()) {
    SessionConfig config = ConfigOf(kernel, ChainPlan(situation.depth));
    config.enabled = situation.enabled;
    config.config.memcg = situation.compiled_in;
    auto session = Open(kernel, MachineKind::kTracing, config);
    Execute(*session, situation.before);
    absl::StrAppendFormat(&text, "\n== %s\n%-10s%-36s%6s%8s%7s%7s%6s%8s%5s%6s%6s\n", situation.name,
                          "part", "function", "calls", "insns", "loads", "stores", "rmw", "percpu",
                          "irq", "locks", "gates");
    AppendTable(CountsOf(*session, situation.measured), &text);
  }
  return text;
}

// Rows by "situation, part, function", without the numbers.
std::map<std::string, std::string> RowsOf(const std::string& text) {
  std::map<std::string, std::string> rows;
  std::string situation;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.substr(0, 3) == "== ") situation = std::string(line.substr(3));
    std::string key = absl::StrCat(situation, "\n", line.substr(0, 46));
    if (line.find('(') != absl::string_view::npos)
      key = absl::StrCat(situation, "\n", line.substr(0, 16));
    rows[key] = std::string(line);
  }
  return rows;
}

// The rows that differ, as "-" golden and "+" now, under their situation.
std::string Diff(const std::string& golden, const std::string& now) {
  const auto before = RowsOf(golden);
  const auto after = RowsOf(now);
  std::map<std::string, std::string> by_situation;
  const auto note = [&](const std::string& key, const char* sign, const std::string& row) {
    absl::StrAppend(&by_situation[key.substr(0, key.find('\n'))], sign, row, "\n");
  };
  for (const auto& [key, row] : before) {
    const auto it = after.find(key);
    if (it != after.end() && it->second == row) continue;
    note(key, "- ", row);
    if (it != after.end()) note(key, "+ ", it->second);
  }
  for (const auto& [key, row] : after) {
    if (before.count(key) == 0) note(key, "+ ", row);
  }
  std::string text;
  for (const auto& [situation, rows] : by_situation) {
    absl::StrAppend(&text, "== ", situation, "\n", rows);
  }
  return text;
}

class GoldenTest : public ::testing::TestWithParam<const Kernel*> {};
INSTANTIATE_TEST_SUITE_P(Kernels, GoldenTest,
                         ::testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                         [](const auto& param) { return TestName(param.param->name); });

// Every situation runs on the tracing machine, where counts are exact.
// Expect the very numbers of the golden file.
TEST_P(GoldenTest, CountsAreTheGoldenOnes) {
  const Kernel& kernel = *GetParam();
  const std::string path = absl::StrCat(MEMSIM_GOLDEN_DIR, "/", kernel.name, ".txt");
  const std::string now = Render(kernel);
  const char* update = std::getenv("MEMSIM_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path) << now;
    GTEST_SKIP() << "wrote " << path;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; MEMSIM_UPDATE_GOLDEN=1 writes it";
  std::stringstream golden;
  golden << file.rdbuf();
  if (golden.str() == now) return;
  ADD_FAILURE() << kernel.name << " costs something else than " << path << " says:\n"
                << Diff(golden.str(), now)
                << "If that is meant, update with MEMSIM_UPDATE_GOLDEN=1.";
}

}  // namespace
}  // namespace memsim::support
