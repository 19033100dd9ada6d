#include "lib/static_key/trap.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "lib/static_key/site_code.h"

namespace memsim::static_key::internal {

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

// Constant-initialised: a handler may run before any constructor of this file.
constinit std::atomic<const TrapTable*> current_table{nullptr};
constinit std::atomic<int> handlers{0};
constinit std::atomic<long> traps{0};
struct sigaction before;

bool Redirect(uintptr_t address, ucontext_t& context) {
  const TrapTable* table = current_table.load();
  if (table == nullptr) return false;
  const auto at = std::lower_bound(table->begin(), table->end(), address,
                                   [](const TrapEntry& e, uintptr_t a) { return e.address < a; });
  if (at == table->end() || at->address != address) return false;
  if (at->key == nullptr) {
    ContinueAt(context, at->target->load(std::memory_order_relaxed));
  } else {
    const bool enabled = at->key->enabled.load(std::memory_order_relaxed) > 0;
    ContinueAt(context, enabled == at->likely ? address + kSiteBytes : at->jump);
  }
  return true;
}

// The default action, taken when this handler returns and SIGTRAP is delivered again.
void TakeDefault() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGTRAP, &action, nullptr);
  raise(SIGTRAP);
}

void Chain(int signal, siginfo_t* info, void* context) {
  // A breakpoint nobody expects ends a process even where SIGTRAP is ignored; raise() does not.
  const bool forced = info->si_code > 0;
  if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN && !forced) return;
  if ((before.sa_flags & SA_SIGINFO) == 0 &&
      (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
    TakeDefault();
    return;
  }
  const struct sigaction action = before;
  if ((before.sa_flags & SA_RESETHAND) != 0) {
    before.sa_flags &= ~SA_SIGINFO;
    before.sa_handler = SIG_DFL;
  }
  sigset_t blocked = action.sa_mask, old;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, &old);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

void OnTrap(int signal, siginfo_t* info, void* raw) {
  const int saved = errno;
  auto& context = *static_cast<ucontext_t*>(raw);
  handlers.fetch_add(1);
  const bool ours = info->si_code > 0 && Redirect(TrapAddress(context), context);
  if (ours) traps.fetch_add(1, std::memory_order_relaxed);
  handlers.fetch_sub(1);
  if (!ours) Chain(signal, info, raw);
  errno = saved;
}

// The line "SigBlk: <hex>" of one thread. False: the thread is gone, or it does not block SIGTRAP.
bool BlocksSigtrap(const char* tid) {
  const std::string path = std::string("/proc/self/task/") + tid + "/status";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[4096];
  const ssize_t n = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  const char* line = std::strstr(text, "SigBlk:");
  if (line == nullptr) return false;
  const unsigned long long mask = std::strtoull(line + 7, nullptr, 16);
  // ThreadSanitizer's own thread blocks everything and runs none of our code.
  constexpr unsigned long long kEverything = 0xfffffffe7ffbfeff;
  constexpr unsigned long long kSys = 1ULL << 30;  // clang++ leaves SIGSYS open
  if (kThreadSanitizer && (mask | kSys) == kEverything) return false;
  return (mask >> (SIGTRAP - 1) & 1) != 0;
}

std::vector<std::string>& Exempt() {
  static std::vector<std::string>& exempt = *new std::vector<std::string>;
  return exempt;
}

std::vector<std::string> ThreadsThatBlockSigtrap() {
  std::vector<std::string> blocking;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return blocking;
  const std::vector<std::string>& exempt = Exempt();
  while (const dirent* task = readdir(tasks)) {
    if (task->d_name[0] == '.' || !BlocksSigtrap(task->d_name)) continue;
    if (std::find(exempt.begin(), exempt.end(), task->d_name) == exempt.end()) {
      blocking.push_back(task->d_name);
    }
  }
  closedir(tasks);
  return blocking;
}

}  // namespace

bool InstallTrapHandler() {
  struct sigaction action = {};
  action.sa_sigaction = &OnTrap;
  // No deferring: a thread inside this handler is not a thread that blocks SIGTRAP.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER;
  return sigaction(SIGTRAP, &action, &before) == 0;
}

void RemoveTrapHandler() { sigaction(SIGTRAP, &before, nullptr); }

void SetTrapTable(std::unique_ptr<const TrapTable> table) {
  const TrapTable* old = current_table.exchange(table.release());
  while (handlers.load() != 0) sched_yield();
  delete old;
}

std::string TrapObstacle() {
  struct sigaction now = {};
  sigaction(SIGTRAP, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != &OnTrap) {
    return "the action of SIGTRAP was changed by somebody else";
  }
  // A thread that is being created or ends blocks everything for a moment, inside the C library. On a
  // busy machine the moment lasts until the thread gets a CPU.
  constexpr int kTries = 1000;
  std::vector<std::string> threads;
  for (int i = 0; i < kTries; ++i) {
    threads = ThreadsThatBlockSigtrap();
    if (threads.empty()) return {};
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return "thread " + threads.front() + " blocks SIGTRAP and would be killed at a breakpoint";
}

void ExemptThreadsOfTheEmulator() { Exempt() = ThreadsThatBlockSigtrap(); }

long TrapsTaken() { return traps.load(std::memory_order_relaxed); }

void ForgetHandlersOfOtherThreads() { handlers.store(0); }

}  // namespace memsim::static_key::internal
