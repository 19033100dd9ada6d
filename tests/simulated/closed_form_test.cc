// Does the simulated machine cost what its machine file says? Every closed form, and the page that shows
// them: docs/simulated.md holds the table between two marks. MEMSIM_UPDATE_GOLDEN=1 rewrites it.
#include "tests/simulated/closed_form.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace memsim::closed_form {
namespace {

const std::vector<Section>& Forms() {
  static const auto* forms = new std::vector<Section>(AllForms(false));
  return *forms;
}

// Every form on every machine. Expect the engine to agree with the formula.
TEST(ClosedFormTest, EngineAgrees) {
  for (const Section& section : Forms()) {
    for (const Form& form : section.forms) {
      for (const Row& row : form.rows) {
        EXPECT_LE(std::abs(row.engine - row.expected), row.tolerance)
            << form.name << " = " << form.formula << "; " << row.machine << ": " << row.numbers
            << "; expected " << row.expected << ", engine " << row.engine;
      }
    }
  }
}

// Running ahead is an implementation, not a model. Expect the same numbers in strict order.
TEST(ClosedFormTest, StrictOrderGivesTheSame) { EXPECT_EQ(Table(Forms()), Table(AllForms(true))); }

// Expect the page to hold the table of this build, and to fit 100 columns.
TEST(ClosedFormTest, PageShowsTheTable) {
  const std::string begin = "<!-- closed forms: begin -->\n```\n";
  const std::string end = "```\n<!-- closed forms: end -->\n";
  std::stringstream page;
  page << std::ifstream(MEMSIM_SIMULATED_PAGE).rdbuf();
  const std::string text = page.str();
  const size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << MEMSIM_SIMULATED_PAGE;
  const std::string now =
      absl::StrCat(text.substr(0, from + begin.size()), Table(Forms()), text.substr(to));
  for (const absl::string_view line : absl::StrSplit(now, '\n')) EXPECT_LE(line.size(), 100u) << line;
  if (std::getenv("MEMSIM_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(MEMSIM_SIMULATED_PAGE);
    file << now;
    ASSERT_TRUE(file.good());
    return;
  }
  EXPECT_EQ(text, now) << "MEMSIM_UPDATE_GOLDEN=1 rewrites " << MEMSIM_SIMULATED_PAGE;
}

}  // namespace
}  // namespace memsim::closed_form
