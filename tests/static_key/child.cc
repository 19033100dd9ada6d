// What has to happen in a process of its own: signals that end it, filters that stay.
//
// Usage: child MODE. The environment variable BEFORE says what SIGTRAP's action is before any constructor of
// ours: handler, ignore, or nothing.
// Exit status: 0 as expected; 1 not, with a line that says what.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "memsim/static_key/static_key.h"

namespace {

namespace sk = memsim::static_key;

DEFINE_STATIC_KEY_FALSE(key);
__attribute__((noinline)) bool Site() { return static_branch_unlikely(&key); }

volatile sig_atomic_t foreign_traps = 0;
volatile sig_atomic_t foreign_code = 0;
void Foreign(int, siginfo_t* info, void*) {
  foreign_traps = foreign_traps + 1;
  foreign_code = info->si_code;
}

// Before the constructors of static_key.h.
__attribute__((constructor(101))) void Before() {
  const char* before = getenv("BEFORE");
  if (before == nullptr) return;
  struct sigaction action = {};
  if (strcmp(before, "handler") == 0) {
    action.sa_sigaction = &Foreign;
    action.sa_flags = SA_SIGINFO;
  } else {
    action.sa_handler = SIG_IGN;
  }
  sigaction(SIGTRAP, &action, nullptr);
}

int Wrong(const std::string& what) {
  std::printf("%s\n", what.c_str());
  return 1;
}

void BreakpointOfOurOwn() {
#if defined(__x86_64__)
  asm volatile("int3");
#elif defined(__aarch64__)
  asm volatile("brk #1");
#endif
}

// Every call of `number` fails with `error` from now on, in this process and in what it executes.
bool Deny(int number, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {4, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool Follows() {
  bool follows = !Site();
  follows &= sk::static_branch_enable(&key).ok() && Site();
  follows &= sk::static_branch_disable(&key).ok() && !Site();
  return follows;
}

int ForeignHandler() {
  if (!Follows()) return Wrong("the key does not work");
  if (foreign_traps != 0) return Wrong("a trap of ours reached the foreign handler");
  raise(SIGTRAP);
  if (foreign_traps != 1 || foreign_code > 0) return Wrong("raise() did not reach the foreign handler");
  BreakpointOfOurOwn();
  if (foreign_traps != 2 || foreign_code <= 0) return Wrong("int3 did not reach the foreign handler");
  return Follows() ? 0 : Wrong("the key does not work any more");
}

int Ignored() {
  raise(SIGTRAP);
  return Follows() ? 0 : Wrong("the key does not work");
}

// Says how keys work, and that they do.
int Report() {
  std::printf("%s\n", sk::mechanism().text.c_str());
  return Follows() ? 0 : Wrong("the key does not work");
}

int DenyBefore(int number, const char* self) {
  if (!Deny(number, EPERM)) return Wrong("the filter was refused");
  execl(self, self, "report", nullptr);
  return Wrong("exec failed");
}

int DenyAfter(int number, const char* call) {
  if (!sk::mechanism().patched) return Wrong(sk::mechanism().text);
  if (!Follows()) return Wrong("the key does not work");
  if (!Deny(number, EPERM)) return Wrong("the filter was refused");
  const sk::Result result = sk::static_branch_enable(&key);
  if (result.ok()) return Wrong("the flip was not refused");
  std::printf("%s\n", result.message().c_str());
  if (result.message().find(call) == std::string::npos) return Wrong("the call is not named");
  return !Site() && !sk::static_key_enabled(&key) ? 0 : Wrong("the state changed");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "foreign-handler") return ForeignHandler();
  if (mode == "ignored") return Ignored();
  if (mode == "raise") {
    raise(SIGTRAP);
    return 0;
  }
  if (mode == "int3") {
    BreakpointOfOurOwn();
    return 0;
  }
  if (mode == "report") return Report();
  if (mode == "deny-write-before") return DenyBefore(SYS_pwrite64, argv[0]);
  if (mode == "deny-membarrier-before") return DenyBefore(SYS_membarrier, argv[0]);
  if (mode == "deny-write-after") return DenyAfter(SYS_pwrite64, "pwrite(/proc/self/mem)");
  if (mode == "deny-membarrier-after") return DenyAfter(SYS_membarrier, "membarrier(");
  std::fprintf(stderr, "unknown mode '%s'\n", mode.c_str());
  return 2;
}
