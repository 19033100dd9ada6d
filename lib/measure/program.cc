#include "lib/measure/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace memsim {

namespace {

constexpr std::chrono::milliseconds kLook(5);  // between two looks at the program and the stop flag

class MemoryFile {
 public:
  // Above the numbers that the program gets, so that none of these is written over.
  MemoryFile() {
    const int low = memfd_create("memsim", MFD_CLOEXEC);
    if (low < 0) return;
    file_ = fcntl(low, F_DUPFD_CLOEXEC, kExtraFile + 1);
    close(low);
  }
  ~MemoryFile() {
    if (file_ >= 0) close(file_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return file_; }
  // Whoever reads it begins at its beginning.
  bool Fill(const std::string& text) const {
    return pwrite(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  }
  std::string Read() const {
    std::string text;
    std::array<char, 1 << 16> piece;
    for (;;) {
      const ssize_t n = pread(file_, piece.data(), piece.size(), static_cast<off_t>(text.size()));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return text;
      text.append(piece.data(), static_cast<size_t>(n));
    }
  }

 private:
  int file_ = -1;
};

// Waits for the end; the wait status. Kills the program when `stop` is set.
int WaitFor(pid_t pid, const std::atomic<bool>* stop) {
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return status;
    if (stop != nullptr && stop->load()) kill(pid, SIGKILL);
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& words,
                                         const std::atomic<bool>* stop, const std::string* input) {
  MemoryFile in, out, err, extra;
  for (const MemoryFile* file : {&in, &out, &err, &extra}) {
    if (file->descriptor() < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  }
  if (input != nullptr && !in.Fill(*input)) return absl::ErrnoToStatus(errno, "memfd");
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input != nullptr) posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, extra.descriptor(), kExtraFile);
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return absl::NotFoundError(absl::StrCat(words[0], " is not in $PATH"));
  if (error != 0) return absl::ErrnoToStatus(error, words[0]);
  const int status = WaitFor(pid, stop);
  if (stop != nullptr && stop->load()) return absl::CancelledError("interrupted");
  return ProgramResult{WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), out.Read(),
                       err.Read(), extra.Read()};
}

}  // namespace memsim
