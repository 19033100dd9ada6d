#include "lib/measure/callgrind.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace memsim {

namespace {

absl::Status Broken(absl::string_view what, absl::string_view line) {
  return absl::DataLossError(absl::StrCat("callgrind's profile: ", what, ": '", line, "'"));
}

// The first or second of a line's numbers, as "calls=" and cost lines have them.
bool NumberAt(absl::string_view line, size_t index, uint64_t* number) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  return index < words.size() && absl::SimpleAtoi(words[index], number);
}

class Parser {
 public:
  absl::Status Line(absl::string_view line) {
    uint64_t number = 0;
    if (absl::ConsumePrefix(&line, "fn=")) {
      function_ = &functions_[std::string(line)];
    } else if (absl::ConsumePrefix(&line, "cfn=")) {
      callee_ = &functions_[std::string(line)];
    } else if (absl::ConsumePrefix(&line, "calls=")) {
      if (callee_ == nullptr || !NumberAt(line, 0, &number))
        return Broken("a call of nothing", line);
      callee_->calls += number;
      inclusive_ = true;
    } else if (absl::ConsumePrefix(&line, "events:")) {
      if (absl::StripAsciiWhitespace(line) != "Ir") return Broken("not only instructions", line);
    } else if (absl::ConsumePrefix(&line, "totals:")) {
      if (!NumberAt(line, 0, &total_)) return Broken("no total", line);
      complete_ = true;
    } else if (!line.empty() && absl::ascii_isdigit(static_cast<unsigned char>(line[0]))) {
      // The cost behind "calls=" is what the callee took: it is in the callee's own lines, too.
      if (std::exchange(inclusive_, false)) return absl::OkStatus();
      if (function_ == nullptr || !NumberAt(line, 1, &number))
        return Broken("a cost of nothing", line);
      function_->instructions += number;
      sum_ += number;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<CallgrindFunction>> Take() {
    if (!complete_) return absl::DataLossError("callgrind's profile has no end");
    if (sum_ != total_) {
      return absl::DataLossError(absl::StrCat("callgrind's profile holds ", sum_,
                                              " instructions in its functions, but ", total_,
                                              " in all"));
    }
    std::vector<CallgrindFunction> all;
    for (auto& [name, function] : functions_) {
      function.chain = absl::StrSplit(name, '\'');
      all.push_back(std::move(function));
    }
    return all;
  }

 private:
  std::map<std::string, CallgrindFunction> functions_;
  CallgrindFunction* function_ = nullptr;
  CallgrindFunction* callee_ = nullptr;
  bool inclusive_ = false;
  bool complete_ = false;
  uint64_t sum_ = 0, total_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<CallgrindFunction>> ParseCallgrind(absl::string_view text) {
  Parser parser;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (auto status = parser.Line(line); !status.ok()) return status;
  }
  return parser.Take();
}

std::vector<std::string> CallgrindWords(absl::string_view function, absl::string_view profile) {
  return {"valgrind",
          "--command-line-only=yes",  // whatever the user's environment or files ask for
          "--tool=callgrind",
          "--smc-check=all",  // static keys patch the code
          "--vgdb=no",        // no pipes in the file system
          "--demangle=no",
          "--separate-callers=32",
          "--compress-strings=no",
          "--compress-pos=no",
          "--collect-atstart=no",
          absl::StrCat("--toggle-collect=*", function, "*"),
          absl::StrCat("--callgrind-out-file=", profile)};
}

}  // namespace memsim
