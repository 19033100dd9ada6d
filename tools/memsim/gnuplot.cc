#include "tools/memsim/gnuplot.h"

#include "absl/strings/str_cat.h"
#include "lib/measure/program.h"

namespace memsim {

namespace {

absl::Status Failed(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("gnuplot: ", why, "; valid: `memsim log` without --plot"));
}

// The first line that says something.
std::string FirstWords(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string::npos ? "failed without a word"
                                    : text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

absl::StatusOr<std::string> Gnuplot(const std::string& script) {
  // Nobody's ~/.gnuplot.
  const auto drawn = RunProgram({"gnuplot", "--default-settings"}, /*stop=*/nullptr, &script);
  if (absl::IsNotFound(drawn.status())) {
    return absl::NotFoundError(
        "--plot needs gnuplot, which is not installed; valid: install it (Debian: gnuplot-nox), or leave "
        "--plot out");
  }
  if (!drawn.ok()) return Failed(drawn.status().message());
  if (drawn->status != 0 || drawn->out.empty()) return Failed(FirstWords(drawn->err));
  return drawn->out;
}

}  // namespace memsim
