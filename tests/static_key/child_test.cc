// Runs the child program; see child.cc for what each mode does.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "memsim/internal/compiler.h"

namespace memsim::static_key {
namespace {

struct Ended {
  int status;  // as wait() gives it
  std::string out;
};

Ended Child(const std::string& environment, const std::string& mode) {
  // exec: the child's own end, not a shell's.
  const std::string command = environment + " exec " MEMSIM_STATIC_KEY_CHILD " " + mode + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Ended ended{-1, {}};
  char line[512];
  while (fgets(line, sizeof(line), pipe) != nullptr) ended.out += line;
  ended.status = pclose(pipe);
  return ended;
}

void ExpectFine(const std::string& environment, const std::string& mode, const std::string& says) {
  const Ended ended = Child(environment, mode);
  EXPECT_EQ(ended.status, 0) << mode << ": " << ended.out;
  EXPECT_NE(ended.out.find(says), std::string::npos) << mode << ": " << ended.out;
}

// A handler was installed before ours. Expect raise() and a breakpoint of the program's own to reach it.
TEST(ForeignTrapTest, ReachesItsHandler) { ExpectFine("BEFORE=handler", "foreign-handler", ""); }

// SIGTRAP was ignored, or had its default action. Expect the same as without us: raise() is ignored, or
// ends the process; a breakpoint that is nobody's ends it in both cases.
TEST(ForeignTrapTest, IgnoredAndDefaultStay) {
  ExpectFine("BEFORE=ignore", "ignored", "");
#if !MEMSIM_SANITIZED
  for (const char* fatal : {"BEFORE=ignore exec", "exec"}) {
    const std::string environment = std::string(fatal).substr(0, std::string(fatal).rfind("exec"));
    const Ended ended = Child(environment, "int3");
    EXPECT_TRUE(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGTRAP) << environment;
  }
  const Ended raised = Child("", "raise");
  EXPECT_TRUE(WIFSIGNALED(raised.status) && WTERMSIG(raised.status) == SIGTRAP);
#endif
}

// A filter denies what patching needs, from before the program starts. Expect the fallback with the call and
// the reason, correct results and exit status 0.
TEST(DeniedTest, BeforeFirstUse) {
  ExpectFine("", "deny-write-before", "relaxed atomic: pwrite(/proc/self/mem): Operation not permitted");
  ExpectFine("", "deny-membarrier-before",
             "relaxed atomic: membarrier(REGISTER_PRIVATE_EXPEDITED_SYNC_CORE): Operation not permitted");
}

// The same after the first flip. Expect the flip to fail as a whole and to name the call.
TEST(DeniedTest, AfterFirstUse) {
  ExpectFine("", "deny-write-after", "pwrite(/proc/self/mem): Operation not permitted");
  ExpectFine("", "deny-membarrier-after", "membarrier(PRIVATE_EXPEDITED_SYNC_CORE): Operation not permitted");
}

// The environment asks for the fallback. Expect it, and why.
TEST(DeniedTest, ByTheEnvironment) {
  ExpectFine("MEMSIM_STATIC_KEY=atomic", "report", "relaxed atomic: MEMSIM_STATIC_KEY=atomic was asked for");
}

}  // namespace
}  // namespace memsim::static_key
