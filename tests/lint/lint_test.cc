// Rules that no compiler checks, over the text of the repository. Each rule has a snippet that breaks it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "memsim/machine/functions.h"

namespace memsim {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Files below a folder of the repository, by extension, as (path from the root, text).
std::vector<std::pair<std::string, std::string>> Files(const std::vector<std::string>& folders,
                                                       const std::vector<std::string>& extensions) {
  std::vector<std::pair<std::string, std::string>> files;
  const fs::path root = MEMSIM_SOURCE_DIR;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) continue;
      files.push_back({fs::relative(entry.path(), root).string(), ReadFile(entry.path())});
    }
  }
  return files;
}

std::string WithoutComments(const std::string& text) {
  static const std::regex kComment("//[^\n]*");
  return std::regex_replace(text, kComment, "");
}

// Pieces of code that hold two reading accesses whose order the compiler may choose. Statements are cut
// where evaluation is sequenced: at ; { } && || ? : and at the commas of declarations. A chain like
// a.load()->b.load() is ordered by its data.
std::vector<std::string> UnorderedAccesses(const std::string& text) {
  static const std::regex kCut(R"(;|\{|\}|&&|\|\||\?|[^:]:[^:])");
  static const std::regex kAccess(
      R"((\.|->)(load|add_return|cmpxchg|test_and_set|test_and_clear)\()");
  std::vector<std::string> found;
  const std::string code = WithoutComments(text);
  for (std::sregex_token_iterator piece(code.begin(), code.end(), kCut, -1), end; piece != end;
       ++piece) {
    const std::string expression = *piece;
    int accesses = 0;
    for (std::sregex_iterator at(expression.begin(), expression.end(), kAccess), last; at != last;
         ++at) {
      // A chained access continues the one before it: ")->name." or ").name.".
      static const std::regex kChain(R"(\)(->|\.)[A-Za-z_.\[\]]*$)");
      const std::string before = expression.substr(0, static_cast<size_t>(at->position()));
      if (accesses > 0 && std::regex_search(before, kChain)) continue;
      ++accesses;
    }
    if (accesses > 1) found.push_back(expression);
  }
  return found;
}

// Two loads in one argument list, or on both sides of an operator. Expect the rule to see them, and to let
// sequenced and chained accesses pass.
TEST(LintSelfTest, SeesUnorderedAccesses) {
  EXPECT_EQ(UnorderedAccesses("f(a.load(), b.load());").size(), 1u);
  EXPECT_EQ(UnorderedAccesses("x = a.load() + p->b.load();").size(), 1u);
  EXPECT_EQ(UnorderedAccesses("if (a.load() > b.load()) g();").size(), 1u);
  EXPECT_TRUE(UnorderedAccesses("if (a.load() && b.load()) g();").empty());
  EXPECT_TRUE(UnorderedAccesses("x = a.load()->b.load();").empty());
  EXPECT_TRUE(UnorderedAccesses("a.store(b.load()); c.load();").empty());
  EXPECT_TRUE(UnorderedAccesses("// f(a.load(), b.load())\n").empty());
}

// The mechanisms and models. Expect at most one access where the order is unspecified: g++ and clang++
// evaluate arguments in different order.
TEST(LintTest, AccessesAreOrdered) {
  for (const auto& [path, text] :
       Files({"include/memsim/counter", "include/memsim/stock", "include/memsim/events",
              "include/memsim/lru", "include/memsim/page", "include/memsim/memcg",
              "include/memsim/gate", "models/kernels"},
             {".h"})) {
    for (const std::string& piece : UnorderedAccesses(text)) ADD_FAILURE() << path << ":" << piece;
  }
}

// Mechanisms have no #if variants: two mechanisms are two files. rest_of_fault.h is the host's side.
TEST(LintTest, MechanismsHaveNoVariants) {
  for (const auto& [path, text] :
       Files({"include/memsim/counter", "include/memsim/stock", "include/memsim/events",
              "include/memsim/lru", "include/memsim/page", "include/memsim/memcg"},
             {".h"})) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const bool guard = absl::StartsWith(line, "#ifndef MEMSIM_");
      EXPECT_FALSE(absl::StartsWith(line, "#if") && !guard) << path << ": " << line;
    }
  }
}

std::string GuardOf(const std::string& path) {
  std::string guard = absl::StartsWith(path, "include/") ? path.substr(8) : "memsim/" + path;
  for (char& c : guard) {
    const auto byte = static_cast<unsigned char>(c);
    c = absl::ascii_isalnum(byte) ? absl::ascii_toupper(byte) : '_';
  }
  return guard + "_";
}

// Headers. Expect a comment first, and a guard that is the path. models/kernels/all.h is a list that is
// included more than once.
TEST(LintTest, HeadersAreGuardedAndExplained) {
  EXPECT_EQ(GuardOf("include/memsim/a/b.h"), "MEMSIM_A_B_H_");
  EXPECT_EQ(GuardOf("lib/x.h"), "MEMSIM_LIB_X_H_");
  for (const auto& [path, text] : Files({"include", "lib", "models", "tools", "bench"}, {".h"})) {
    if (path == "models/kernels/all.h") continue;
    EXPECT_TRUE(absl::StartsWith(text, "//")) << path << " begins without a comment";
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("#ifndef ", GuardOf(path), "\n")))
        << path << " is not guarded by " << GuardOf(path);
  }
}

// Lines. Expect at most 110 columns.
TEST(LintTest, LinesAreShort) {
  for (const auto& [path, text] :
       Files({"include", "lib", "models", "tools", "bench", "tests", "examples"}, {".h", ".cc"})) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const auto columns =
          std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
      EXPECT_LE(columns, 110) << path << ": " << line;
    }
  }
}

// Functions of the kernel that are out of line. Expect each to attribute itself to the kernel function
// whose name it bears; a leading "__" stands at the end in C++.
TEST(LintTest, FunctionsBearTheKernelsNames) {
  static const std::regex kFunction(
      R"(MEMSIM_OUT_OF_LINE [^;{}]*?(\w+)\([^;{}]*\)[^;{}]*\{\s*)"
      R"((?:MEMSIM_KEEP_CALL\(\);\s*)?(?:const typename M::PartGuard part\([^)]*\);\s*)?)"
      R"((?:typename M::)?Scope scope\(Fn::(\w+)\))");
  // The list says which name an enumerator stands for.
  static const std::regex kListed(R"re(\{Fn::(\w+), "(\w+)")re");
  std::map<std::string, std::string> names;
  const std::string list =
      ReadFile(fs::path(MEMSIM_SOURCE_DIR) / "include/memsim/machine/functions.h");
  for (std::sregex_iterator at(list.begin(), list.end(), kListed), end; at != end; ++at) {
    std::string cpp = (*at)[2];
    if (absl::StartsWith(cpp, "__")) cpp = cpp.substr(2) + "__";
    names[(*at)[1]] = cpp;
  }
  ASSERT_EQ(names.size(), kFnCount);
  int seen = 0;
  for (const auto& [path, text] : Files({"include/memsim"}, {".h"})) {
    const std::string code = WithoutComments(text);
    for (std::sregex_iterator at(code.begin(), code.end(), kFunction), end; at != end; ++at) {
      const std::string name = (*at)[1];
      const std::string id = (*at)[2];
      EXPECT_EQ(name, names[id]) << path << ": Fn::" << id;
      ++seen;
    }
  }
  EXPECT_GE(seen, 20);
}

// The repository is about memsim. Expect no path of the machine it was written on.
TEST(LintTest, TextIsAboutTheProject) {
  const std::vector<std::string> words = {absl::StrCat("/", "work/"), absl::StrCat("/", "root/")};
  for (const auto& [path, text] :
       Files({"include", "lib", "models", "tools", "bench", "tests", "examples", "docs", "scripts", "cmake",
              ".ci"},
             {".h", ".cc", ".md", ".sh", ".json", ".txt", ".cmake", ".in", ""})) {
    for (const std::string& word : words) EXPECT_FALSE(absl::StrContains(text, word)) << path << ": " << word;
  }
}

}  // namespace
}  // namespace memsim
