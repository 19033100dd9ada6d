#include "tools/memsim/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace memsim {

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

absl::Status Failed(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("gnuplot: ", why, "; valid: `memsim log` without --plot"));
}

std::string ReadAgain(std::FILE* file) {
  std::string text;
  char buffer[1 << 14];
  std::rewind(file);
  while (const size_t n = std::fread(buffer, 1, sizeof(buffer), file)) text.append(buffer, n);
  return text;
}

// The first line that says something.
std::string FirstWords(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string::npos ? "failed without a word"
                                    : text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

absl::StatusOr<std::string> Gnuplot(const std::string& script) {
  // Files, not pipes: it may write before it has read everything.
  const File in(std::tmpfile()), out(std::tmpfile()), err(std::tmpfile());
  if (in == nullptr || out == nullptr || err == nullptr) return Failed(strerror(errno));
  if (std::fwrite(script.data(), 1, script.size(), in.get()) != script.size() ||
      std::fflush(in.get()) != 0) {
    return Failed(strerror(errno));
  }
  std::rewind(in.get());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(err.get()), STDERR_FILENO);
  // Nobody's ~/.gnuplot.
  char name[] = "gnuplot", defaults[] = "--default-settings";
  char* const arguments[] = {name, defaults, nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, name, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    return absl::NotFoundError(
        "--plot needs gnuplot, which is not installed; valid: install it (Debian: gnuplot-nox), or leave "
        "--plot out");
  }
  if (error != 0) return Failed(strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string picture = ReadAgain(out.get());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || picture.empty()) {
    return Failed(FirstWords(ReadAgain(err.get())));
  }
  return picture;
}

}  // namespace memsim
