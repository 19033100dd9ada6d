#include "memsim/static_key/static_key.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/static_key/text.h"
#include "memsim/internal/compiler.h"
#include "memsim/static_key/static_call.h"
#include "tests/static_key/armed_sites.h"
#include "tests/static_key/many_sites.h"
#include "tests/static_key/shared_sites.h"

DEFINE_STATIC_KEY_FALSE(program_key);

namespace ten_thousand {
DECLARE_STATIC_KEY_FALSE(key);
int Run();
}  // namespace ten_thousand

namespace memsim::static_key {
namespace {

using internal::SetTextFault;
using internal::TextOp;

using armed_sites::off_key;
using armed_sites::OffLikely;
using armed_sites::OffUnlikely;
using armed_sites::on_key;
using armed_sites::OnLikely;
using armed_sites::OnUnlikely;
DEFINE_STATIC_KEY_ARRAY_FALSE(keys, 3);

class StaticKeyTest : public ::testing::Test {
 protected:
  void TearDown() override {
    SetTextFault(nullptr);
    EXPECT_EQ(counters().stuck, 0);
  }
};

// Debian's kernels allow patching. Expect this build to patch and not to fall back unseen.
TEST_F(StaticKeyTest, PatchesHere) {
  if (std::getenv("MEMSIM_STATIC_KEY") != nullptr) GTEST_SKIP() << "the environment asks for the fallback";
  EXPECT_TRUE(mechanism().patched) << mechanism().text;
  EXPECT_EQ(counters().armed, counters().sites);
  EXPECT_EQ(counters().rejected, 0);
}

// Both kinds of key and of branch, flipped twice. Expect every site to follow, and the count to be 0 or 1.
TEST_F(StaticKeyTest, EnableAndDisable) {
  EXPECT_EQ(OffUnlikely(), 1);
  EXPECT_EQ(OffLikely(), 1);
  EXPECT_EQ(OnLikely(), 7);
  EXPECT_EQ(OnUnlikely(), 7);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(static_branch_enable(&off_key).ok());
    EXPECT_TRUE(static_branch_enable(&off_key).ok()) << "enabling twice is enabling";
    EXPECT_TRUE(static_branch_disable(&on_key).ok());
    EXPECT_EQ(static_key_count(&off_key), 1);
    EXPECT_FALSE(static_key_enabled(&on_key));
    EXPECT_EQ(OffUnlikely(), 7);
    EXPECT_EQ(OffLikely(), 7);
    EXPECT_EQ(OnLikely(), 1);
    EXPECT_EQ(OnUnlikely(), 1);
    EXPECT_TRUE(static_branch_disable(&off_key).ok());
    EXPECT_TRUE(static_branch_enable(&on_key).ok());
    EXPECT_EQ(OffUnlikely(), 1);
    EXPECT_EQ(OnLikely(), 7);
  }
}

// Three users of one key. Expect code to change with the first and the last only, and errors, not a wrap,
// at both ends and when counted and uncounted use are mixed.
TEST_F(StaticKeyTest, Counts) {
  const long flips = counters().flips;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(static_branch_inc(&off_key).ok());
  EXPECT_EQ(static_key_count(&off_key), 3);
  EXPECT_EQ(OffUnlikely(), 7);
  EXPECT_FALSE(static_branch_disable(&off_key).ok());
  EXPECT_FALSE(static_branch_enable(&off_key).ok());
  EXPECT_EQ(static_key_count(&off_key), 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(static_branch_dec(&off_key).ok());
  EXPECT_EQ(OffUnlikely(), 1);
  EXPECT_EQ(counters().flips, mechanism().patched ? flips + 2 : flips);

  const Result under = static_branch_dec(&off_key);
  EXPECT_EQ(under.message(), "static_branch_dec: the key has no users");
  EXPECT_EQ(static_key_count(&off_key), 0);
  EXPECT_EQ(OffUnlikely(), 1);
  EXPECT_TRUE(static_branch_inc(&off_key).ok());
  off_key.key.enabled.store(INT_MAX);
  const Result over = static_branch_inc(&off_key);
  EXPECT_EQ(over.message(), "static_branch_inc: the key has 2147483647 users already");
  EXPECT_EQ(static_key_count(&off_key), INT_MAX);
  off_key.key.enabled.store(1);
  EXPECT_TRUE(static_branch_dec(&off_key).ok());
}

// An error that nobody looks at. Expect a line on stderr, once; none when somebody looked.
TEST_F(StaticKeyTest, UnseenErrorsArePrinted) {
  ::testing::internal::CaptureStderr();
  static_branch_dec(&off_key);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "static_key: static_branch_dec: the key has no users\n");
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(static_branch_dec(&off_key).ok());
  Result moved = static_branch_dec(&off_key);
  const Result last = std::move(moved);
  EXPECT_FALSE(last.ok());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Keys in an array, in a class, in a header, in a function. Expect each site to follow its own key, in
// whatever translation unit it was compiled.
TEST_F(StaticKeyTest, KeysOfAllKinds) {
  const auto taken = [] {
    int n = 0;
    if (static_branch_unlikely_at(keys, 0)) n += 1;
    if (static_branch_unlikely_at(keys, 1)) n += 10;
    if (static_branch_likely_at(keys, 2)) n += 100;
    return n;
  };
  EXPECT_EQ(taken(), 0);
  EXPECT_TRUE(static_branch_enable(&keys[1]).ok());
  EXPECT_EQ(taken(), 10);
  EXPECT_TRUE(static_branch_enable(&keys[2]).ok());
  EXPECT_EQ(taken(), 110);
  EXPECT_TRUE(static_branch_disable(&keys[1]).ok());
  EXPECT_TRUE(static_branch_disable(&keys[2]).ok());
#if !defined(__clang__)
  EXPECT_FALSE(static_branch_unlikely(&keys[1])) << "g++ takes the kernel's spelling, too";
#endif

  using shared_sites::Holder;
  EXPECT_TRUE(shared_sites::Instantiated(1) && shared_sites::InstantiatedElsewhere());
  EXPECT_TRUE(static_branch_disable(&Holder::class_key).ok());
  EXPECT_FALSE(shared_sites::Instantiated(1) || shared_sites::InstantiatedElsewhere());
  EXPECT_TRUE(static_branch_enable(&Holder::class_key).ok());
  EXPECT_FALSE(shared_sites::Inlined() || shared_sites::InlinedElsewhere());
  EXPECT_TRUE(static_branch_enable(&shared_sites::header_key).ok());
  EXPECT_TRUE(shared_sites::Inlined() && shared_sites::InlinedElsewhere());
  EXPECT_TRUE(static_branch_disable(&shared_sites::header_key).ok());

  static DEFINE_STATIC_KEY_FALSE(local_key);
  EXPECT_FALSE(static_branch_unlikely(&local_key));
  EXPECT_TRUE(static_branch_enable(&local_key).ok());
  bool follows = false;
  if (static_branch_unlikely(&local_key)) follows = true;
  EXPECT_TRUE(follows);
  EXPECT_TRUE(static_branch_disable(&local_key).ok());
}

int Plus(int x) { return x + 1; }
int Minus(int x) { return x - 1; }
DEFINE_STATIC_CALL(hook, Plus);
__attribute__((noinline)) int CallHook(int x) { return static_call(hook)(x); }

// A static call and its update. Expect the new target; on x86-64 one direct jump in the trampoline; and
// after a refused update the old target.
TEST_F(StaticKeyTest, StaticCall) {
  EXPECT_EQ(CallHook(10), 11);
  EXPECT_TRUE(static_call_update(hook, &Minus).ok());
  EXPECT_EQ(CallHook(10), 9);
#if defined(__x86_64__) && !defined(__clang__)
  if (mechanism().patched) {
    const auto* code =
        reinterpret_cast<const uint8_t*>(&internal::Trampoline<hook::Function, hook::key>::Code);
    int32_t distance;
    memcpy(&distance, code + 1, sizeof(distance));
    EXPECT_EQ(code[0], 0xe9);
    EXPECT_EQ(code + 5 + distance, reinterpret_cast<const uint8_t*>(&Minus));
  }
#endif
  if (mechanism().patched) {
    SetTextFault([](TextOp op) { return op == TextOp::kBarrier ? EIO : 0; });
    EXPECT_FALSE(static_call_update(hook, &Plus).ok());
    SetTextFault(nullptr);
    EXPECT_EQ(CallHook(10), 9);
  }
  EXPECT_TRUE(static_call_update(hook, &Plus).ok());
  EXPECT_EQ(CallHook(10), 11);
}

// Sites too far apart for one window.
DEFINE_STATIC_KEY_FALSE(far_key);
template <int kNumber>
__attribute__((noinline)) bool FarSite() {
#if defined(__x86_64__)
  asm volatile("jmp 1f\n\t.skip %c0\n1:" : : "i"(8192 + kNumber));
#endif
  return static_branch_unlikely(&far_key);
}
int FarTaken() { return FarSite<0>() + FarSite<1>() + FarSite<2>() + FarSite<3>(); }

int fail_at;       // the operation that fails; counted from 1
int operations;    // so far
bool refuse_undo;
int CountAndFail(TextOp op) {
  const bool undo = op == TextOp::kUndoWrite || op == TextOp::kUndoBarrier;
  if (undo) return refuse_undo ? EPERM : 0;
  return ++operations == fail_at ? EIO : 0;
}

// Every write and every barrier of a flip fails in turn; the undo works, or is refused. Expect an error that
// names the call, the key and all sites as before, and the next flip to succeed and to leave nothing behind.
TEST_F(StaticKeyTest, AFailedFlipChangesNothing) {
  if (!mechanism().patched) GTEST_SKIP() << mechanism().text;
  SetTextFault(&CountAndFail);
  operations = fail_at = 0;
  ASSERT_TRUE(static_branch_enable(&far_key).ok());
  ASSERT_TRUE(static_branch_disable(&far_key).ok());
  const int in_a_flip = operations / 2;
  ASSERT_EQ(in_a_flip, 3 * 4 + 3) << "four windows in three phases, three barriers";
  for (const bool refuse : {false, true}) {
    refuse_undo = refuse;
    for (const bool on : {true, false}) {
      for (int at = 1; at <= in_a_flip; ++at) {
        SetTextFault(&CountAndFail);
        operations = 0;
        fail_at = at;
        const Result failed = on ? static_branch_enable(&far_key) : static_branch_disable(&far_key);
        ASSERT_FALSE(failed.ok()) << at;
        const char* call = at % 5 == 0 ? "membarrier(PRIVATE_EXPEDITED_SYNC_CORE)" : "/proc/self/mem";
        EXPECT_NE(failed.message().find(call), std::string::npos) << at << ": " << failed.message();
        EXPECT_EQ(failed.message().find("keep the new state"), std::string::npos) << failed.message();
        EXPECT_EQ(static_key_enabled(&far_key), !on);
        EXPECT_EQ(FarTaken(), on ? 0 : 4) << "operation " << at << (refuse ? ", undo refused" : "");
        SetTextFault(nullptr);
        ASSERT_TRUE((on ? static_branch_enable(&far_key) : static_branch_disable(&far_key)).ok()) << at;
        EXPECT_EQ(FarTaken(), on ? 4 : 0) << at;
        EXPECT_EQ(counters().stuck, 0) << at;
        ASSERT_TRUE((on ? static_branch_disable(&far_key) : static_branch_enable(&far_key)).ok()) << at;
      }
      ASSERT_TRUE((on ? static_branch_enable(&far_key) : static_branch_disable(&far_key)).ok());
    }
  }
}

// Somebody else changed a site. Expect the flip to refuse with the address and what is there.
TEST_F(StaticKeyTest, ForeignBytesAreAnError) {
  if (!mechanism().patched) GTEST_SKIP() << mechanism().text;
  internal::Text text;
  ASSERT_TRUE(text.Open(internal::TextWay::kProcMem).ok());
  // The last site of the key is the one that nobody executes here.
  uintptr_t site = 0;
  for (const internal::Record* r = internal::__start_memsim_static_key_sites;
       r != internal::__stop_memsim_static_key_sites; ++r) {
    const auto at = [](const int32_t& distance) {
      return reinterpret_cast<uintptr_t>(&distance) + static_cast<uintptr_t>(distance);
    };
    if (*reinterpret_cast<const Key* const*>(at(r->anchor)) == &far_key.key) site = at(r->site);
  }
  ASSERT_NE(site, 0u);
  const uint8_t foreign = 0x90;
  const uint8_t before = *reinterpret_cast<const uint8_t*>(site);
  ASSERT_TRUE(text.Write(site, &foreign, 1, false).ok());
  const Result refused = static_branch_enable(&far_key);
  ASSERT_TRUE(text.Write(site, &before, 1, false).ok());
  EXPECT_NE(refused.message().find("somebody else changed it"), std::string::npos) << refused.message();
  EXPECT_FALSE(static_key_enabled(&far_key));
  EXPECT_EQ(FarTaken(), 0);
  text.Close();
}

// SIGTRAP belongs to somebody else, or a thread blocks it. Expect the flip to refuse and to say so.
TEST_F(StaticKeyTest, RefusesWhereABreakpointWouldKill) {
  if (!mechanism().patched) GTEST_SKIP() << mechanism().text;
  struct sigaction ours = {};
  struct sigaction theirs = {};
  theirs.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGTRAP, &theirs, &ours), 0);
  EXPECT_EQ(static_branch_enable(&off_key).message(),
            "the action of SIGTRAP was changed by somebody else");
  ASSERT_EQ(sigaction(SIGTRAP, &ours, nullptr), 0);
  EXPECT_EQ(OffUnlikely(), 1);

  std::atomic<bool> blocked{false}, done{false};
  std::thread thread([&] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    blocked = true;
    while (!done) std::this_thread::yield();
  });
  while (!blocked) std::this_thread::yield();
  const Result refused = static_branch_enable(&off_key);
  done = true;
  thread.join();
  EXPECT_NE(refused.message().find("blocks SIGTRAP"), std::string::npos) << refused.message();
  EXPECT_EQ(OffUnlikely(), 1);
  EXPECT_FALSE(static_key_enabled(&off_key));
}

// 10 000 sites. Expect all of them to follow, with three barriers a flip and no more; the median time is
// printed.
TEST_F(StaticKeyTest, TenThousandSites) {
  std::vector<double> microseconds;
  for (int flip = 0; flip < 61; ++flip) {
    const bool on = flip % 2 == 0;
    const long barriers = counters().barriers;
    const auto begin = std::chrono::steady_clock::now();
    const Result flipped =
        on ? static_branch_enable(&ten_thousand::key) : static_branch_disable(&ten_thousand::key);
    ASSERT_TRUE(flipped.ok()) << flipped.message();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (flip > 0) microseconds.push_back(took.count());
    EXPECT_EQ(counters().barriers - barriers, mechanism().patched ? 3 : 0);
    ASSERT_EQ(ten_thousand::Run(), on ? 10000 : 0);
  }
  ASSERT_TRUE(static_branch_disable(&ten_thousand::key).ok());
  std::nth_element(microseconds.begin(), microseconds.begin() + 30, microseconds.end());
  std::cout << "median of 60 flips of 10000 sites: " << microseconds[30] << " us\n";
}

// Two threads flip a key each while others run through both. Expect every flip to succeed and every site to
// end where its key is.
TEST_F(StaticKeyTest, TwoKeysAtOnce) {
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!stop) {
        const int off = OffUnlikely(), on = OnLikely();
        if ((off != 1 && off != 7) || (on != 1 && on != 7)) ++failed;
      }
    });
  }
  const auto flip = [&](auto* key) {
    for (int i = 0; i < 500; ++i) {
      if (!static_branch_inc(key).ok() || !static_branch_dec(key).ok()) ++failed;
    }
  };
  EXPECT_TRUE(static_branch_disable(&on_key).ok());
  std::thread one([&] { flip(&off_key); });
  std::thread two([&] { flip(&on_key); });
  one.join();
  two.join();
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(OffUnlikely(), 1);
  EXPECT_EQ(OnLikely(), 1);
  EXPECT_TRUE(static_branch_enable(&on_key).ok());
}

int ManyTaken() {
  int taken = 0;
  for (const many_sites::Function f :
       many_sites::Table(std::make_integer_sequence<int, many_sites::kFunctions>())) {
    taken += f();
  }
  return taken;
}
constexpr int kMany = many_sites::kFunctions * many_sites::kSitesPerFunction;

// fork() while another thread flips. Expect the child's sites to agree with its key, its flips to work, and
// the parent's sites to follow the parent's key.
TEST_F(StaticKeyTest, ForkInTheMiddle) {
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::thread flipper([&] {
    for (bool on = true; !stop; on = !on) {
      const Result r = on ? static_branch_enable(&torture_key) : static_branch_disable(&torture_key);
      if (!r.ok()) ++failed;
    }
    if (!static_branch_disable(&torture_key).ok()) ++failed;
  });
  for (int i = 0; i < 25; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto right = [] { return ManyTaken() == (static_key_enabled(&torture_key) ? kMany : 0); };
      bool ok = right();
      const long traps = counters().traps;
      for (int flip = 0; flip < 3; ++flip) {
        ok &= (static_key_enabled(&torture_key) ? static_branch_disable(&torture_key)
                                                : static_branch_enable(&torture_key))
                  .ok();
        ok &= right();
      }
      ok &= counters().traps == traps;  // nobody else runs here: no site was left at a breakpoint
      _exit(ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  flipper.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(ManyTaken(), 0);
}

// /proc/self/maps while a key is flipped. Expect no mapping that is writable and executable.
TEST_F(StaticKeyTest, NothingIsWritableAndExecutable) {
  std::atomic<bool> stop{false};
  std::thread flipper([&] {
    for (bool on = true; !stop; on = !on) {
      (on ? static_branch_enable(&torture_key) : static_branch_disable(&torture_key)).ok();
    }
    static_branch_disable(&torture_key).ok();
  });
  int writable_code = 0;
  for (int i = 0; i < 200; ++i) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      const std::string rights = line.substr(line.find(' ') + 1, 4);
      if (rights[1] == 'w' && rights[2] == 'x') ++writable_code;
    }
  }
  stop = true;
  flipper.join();
  EXPECT_EQ(writable_code, 0);
}

// A library with sites is loaded and unloaded. Expect its sites to follow its own and the program's key
// while it is there, and flips to work after it has gone.
TEST_F(StaticKeyTest, LibrariesComeAndGo) {
  const long sites = counters().sites;
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(static_branch_enable(&program_key).ok());
    void* library = dlopen(MEMSIM_STATIC_KEY_PLUGIN, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto taken = reinterpret_cast<int (*)()>(dlsym(library, "plugin_sites"));
    const auto flip = reinterpret_cast<bool (*)(bool)>(dlsym(library, "plugin_flip"));
    EXPECT_EQ(counters().sites, sites + 2);
    EXPECT_EQ(taken(), 1);
    EXPECT_TRUE(flip(true));
    EXPECT_EQ(taken(), 3);
    EXPECT_TRUE(static_branch_disable(&program_key).ok());
    EXPECT_EQ(taken(), 2);
    EXPECT_TRUE(flip(false));
    EXPECT_EQ(dlclose(library), 0);
    EXPECT_EQ(dlopen(MEMSIM_STATIC_KEY_PLUGIN, RTLD_NOW | RTLD_NOLOAD), nullptr) << "it is still there";
    EXPECT_EQ(counters().sites, sites);
  }
}

#if defined(MEMSIM_OBJDUMP) && defined(__x86_64__)
// The code that is in memory, from `function` to its first return.
std::vector<std::string> ArmedCode(int (*function)()) {
  const std::string file = absl::StrCat(::testing::TempDir(), "armed_", getpid(), ".bin");
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(function), 64);
  const std::string command =
      absl::StrCat(MEMSIM_OBJDUMP, " -D -b binary -m i386:x86-64 --no-show-raw-insn ", file);
  std::vector<std::string> code;
  FILE* pipe = popen(command.c_str(), "r");
  char line[256];
  while (pipe != nullptr && fgets(line, sizeof(line), pipe) != nullptr) {
    const char* tab = strchr(line, '\t');
    if (tab == nullptr) continue;
    std::string text(tab + 1);
    text.erase(text.find_last_not_of(" \n") + 1);
    code.push_back(text);
    if (text.rfind("ret", 0) == 0) break;
  }
  pclose(pipe);
  unlink(file.c_str());
  return code;
}

// The armed text of a disabled unlikely and of an enabled likely branch. Expect the hot path to be one NOP
// and the function's own work: no load, no comparison, no conditional branch; and one JMP when flipped.
TEST_F(StaticKeyTest, TheHotPathIsOneNop) {
#if MEMSIM_SANITIZED
  GTEST_SKIP() << "this build adds instructions of its own";
#endif
  if (!mechanism().patched) GTEST_SKIP() << mechanism().text;
  const std::string nop = "nopl   0x0(%rax,%rax,1)";
  EXPECT_EQ(absl::StrJoin(ArmedCode(&OffUnlikely), "; "), nop + "; mov    $0x1,%eax; ret");
  EXPECT_EQ(absl::StrJoin(ArmedCode(&OnLikely), "; "), nop + "; mov    $0x7,%eax; ret");
  ASSERT_TRUE(static_branch_enable(&off_key).ok());
  EXPECT_EQ(ArmedCode(&OffUnlikely).front().rfind("jmp", 0), 0u);
  ASSERT_TRUE(static_branch_disable(&off_key).ok());
}
#endif

}  // namespace
}  // namespace memsim::static_key
