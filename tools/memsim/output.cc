#include "tools/memsim/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>

namespace memsim {

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "it is set by a signal handler");

void OnInterrupt(int) {
  interrupted.store(true, std::memory_order_relaxed);
  signal(SIGINT, SIG_DFL);
}

int CannotWrite(int error) {
  std::fprintf(stderr, "memsim: standard output cannot be written: %s; valid: an open file, pipe or "
               "terminal\n", strerror(error));
  return kWrong;
}

}  // namespace

int CheckStandardOutput() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that would grow over its limit is an error as any other
  if (fcntl(STDOUT_FILENO, F_GETFD) == -1) return CannotWrite(errno);
  return kOk;
}

int Print(const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(STDOUT_FILENO, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return CannotWrite(n == 0 ? ENOSPC : errno);
    written += static_cast<size_t>(n);
  }
  return kOk;
}

int Refuse(const absl::Status& status) {
  std::fprintf(stderr, "memsim: %s\n", std::string(status.message()).c_str());
  return kWrong;
}

const std::atomic<bool>* InstallInterrupt() {
  struct sigaction action = {};
  action.sa_handler = &OnInterrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  return &interrupted;
}

Progress::~Progress() {
  if (last_ >= 0) std::fputs("\r\033[K", stderr);
}

void Progress::Show(absl::string_view what, double done) {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  const int percent = static_cast<int>(100 * done);
  if (!terminal || (percent == last_ && what == what_)) return;
  last_ = percent;
  what_ = std::string(what);
  std::fprintf(stderr, "\r\033[K%s %d %%", what_.c_str(), percent);
}

}  // namespace memsim
