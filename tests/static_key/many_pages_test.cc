// A key whose sites cover 1200 pages: a flip takes the pages away, and threads run on in the file's code.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "lib/static_key/file_text.h"
#include "lib/static_key/text.h"
#include "memsim/static_key/static_key.h"

namespace ten_thousand_apart {
DECLARE_STATIC_KEY_FALSE(key);
int Run();
}  // namespace ten_thousand_apart

namespace memsim::static_key {
namespace {

using internal::SetTextFault;
using internal::TextOp;

constexpr int kSites = 10000;
int Taken() { return ten_thousand_apart::Run(); }
bool Right() { return Taken() == (static_key_enabled(&ten_thousand_apart::key) ? kSites : 0); }
Result FlipTo(bool on) {
  return on ? static_branch_enable(&ten_thousand_apart::key)
            : static_branch_disable(&ten_thousand_apart::key);
}

std::atomic<int> writes, moves, operations;  // of the flips so far
int fail_at;     // the operation that fails, counted from 1
bool fail_on;    // and every later one that moves pages or changes access
int CountAndFail(TextOp op) {
  if (op == TextOp::kUndoBarrier || op == TextOp::kUndoWrite) return 0;
  ++(op == TextOp::kMove ? moves : writes);
  const int number = ++operations;
  return number == fail_at || (fail_on && number > fail_at && op == TextOp::kMove) ? EIO : 0;
}

// In a child, so that what a test does to the code ends with it; what the child says is its exit status.
bool InAChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

class ManyPagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!mechanism().patched) GTEST_SKIP() << mechanism().text;
    ASSERT_TRUE(FlipTo(true).ok());
    ASSERT_TRUE(FlipTo(false).ok());
    armed_ = counters().armed;
    Count(0, false);
  }
  void TearDown() override {
    SetTextFault(nullptr);
    EXPECT_TRUE(FlipTo(false).ok());
    EXPECT_TRUE(Right());
    EXPECT_EQ(counters().stuck, 0);
    EXPECT_EQ(counters().armed, armed_);
  }
  static void Count(int at, bool on) {
    writes = moves = operations = 0;
    fail_at = at;
    fail_on = on;
    SetTextFault(&CountAndFail);
  }
  long armed_ = 0;
};

// Four threads run through all sites while the key is flipped. Expect a pass between two flips to take one
// side at all of its sites, and no breakpoint: nothing is written where code runs.
TEST_F(ManyPagesTest, EverySiteFollowsUnderThreads) {
  std::atomic<uint64_t> sequence{0};  // flip * 4 + state * 2 + one is under way
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, decided[2] = {};
  std::vector<std::thread> readers;
  for (int r = 0; r < 4; ++r) {
    readers.emplace_back([&] {
      while (!stop) {
        const uint64_t before = sequence;
        const int taken = Taken();
        if (before != sequence || (before & 1) != 0) continue;
        const int state = static_cast<int>(before >> 1 & 1);
        ++decided[state];
        if (taken != state * kSites) ++wrong;
      }
    });
  }
  const long traps = counters().traps, barriers = counters().barriers;
  int flips = 0;
  bool ok = true;
  for (; flips < 2000 && (flips < 200 || flips % 2 != 0 || decided[0] < 20 || decided[1] < 20); ++flips) {
    const bool on = flips % 2 == 0;
    const uint64_t number = static_cast<uint64_t>(flips + 1) * 4;
    sequence = number | 1;
    ok &= FlipTo(on).ok();
    sequence = number | (on ? 2U : 0U);
    usleep(1000);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(ok);
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(decided[0], 20);
  EXPECT_GE(decided[1], 20);
  EXPECT_EQ(counters().traps, traps);
  EXPECT_EQ(counters().barriers - barriers, 3L * flips);
  EXPECT_EQ(writes, 3 * flips) << "barriers, and no write";
  EXPECT_GT(moves, 0);
}

// Every operation of a flip fails in turn. Expect an error and the old state when a barrier fails; a flip in
// place when moving or changing access is refused; and nothing left behind.
TEST_F(ManyPagesTest, AFailedFlipChangesNothing) {
  ASSERT_TRUE(FlipTo(true).ok());
  const int in_a_flip = operations;
  for (const bool on : {false, true}) {
    for (int at = 1; at <= in_a_flip; ++at) {
      Count(at, false);
      const Result result = FlipTo(on);
      if (!result.ok()) {
        EXPECT_EQ(result.message(), "membarrier(PRIVATE_EXPEDITED_SYNC_CORE): Input/output error") << at;
      }
      EXPECT_EQ(static_key_enabled(&ten_thousand_apart::key), result.ok() == on) << at;
      EXPECT_TRUE(Right()) << at;
      EXPECT_EQ(counters().armed, armed_) << at;
      Count(0, false);
      ASSERT_TRUE(FlipTo(!on).ok()) << at;
      EXPECT_TRUE(Right()) << at;
    }
    ASSERT_TRUE(FlipTo(on).ok());
  }
}

// From some operation on the system refuses to move pages or to change access, the undo included. Expect the
// flip to be made in place, over the file's code if need be, and later flips to work.
TEST_F(ManyPagesTest, RefusedForGood) {
  ASSERT_TRUE(FlipTo(true).ok());
  const int in_a_flip = operations;
  for (int at = 1; at <= in_a_flip; ++at) {
    EXPECT_TRUE(InAChild([&] {
      Count(at, true);
      bool ok = true;
      for (const bool on : {false, true, false}) {
        static_cast<void>(FlipTo(on).ok());
        ok &= Right();
      }
      return ok && FlipTo(true).ok() && Right() && FlipTo(false).ok() && Right();
    })) << at;
  }
}

// A process that denies itself new executable memory. Expect its flips to work.
TEST_F(ManyPagesTest, DenyWriteExecute) {
  EXPECT_TRUE(InAChild([] {
    constexpr int kSetMdwe = 65;
    if (prctl(kSetMdwe, 1UL, 0UL, 0UL, 0UL) != 0) return true;  // Linux before 6.3
    bool ok = true;
    for (const bool on : {true, false, true}) ok &= FlipTo(on).ok() && Right();
    return ok;
  }));
}

// Two pages of code without a site.
__attribute__((noinline)) void NoSites() { asm volatile("jmp 1f\n\t.skip 8192, 0xcc\n1:"); }

// A byte of the code is changed, by somebody else or in a site of ours. Expect only the first to count: the
// file does not have it, and no thread may do without it.
TEST_F(ManyPagesTest, ForeignBytesStay) {
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(&NoSites) + 4095) & ~uintptr_t{4095};
  const uintptr_t end = begin + 4096;
  EXPECT_TRUE(internal::SameAsFile(begin, end, {}));
  EXPECT_TRUE(InAChild([&] {
    const int mem = open("/proc/self/mem", O_RDWR);
    const uint8_t other = 0x90;
    if (pwrite(mem, &other, 1, static_cast<off_t>(end - 1)) != 1) return false;
    return !internal::SameAsFile(begin, end, {}) && internal::SameAsFile(begin, end, {end - 1});
  }));
}

// fork() while another thread flips. Expect the child's sites to agree with its key, its flips to work, and
// the parent's sites to follow the parent's key.
TEST_F(ManyPagesTest, ForkInTheMiddle) {
  std::atomic<bool> stop{false}, ok{true};
  std::thread flipper([&] {
    for (bool on = true; !stop; on = !on) ok = ok && FlipTo(on).ok();
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(InAChild([] {
      bool right = Right();
      for (int flip = 0; flip < 3; ++flip) {
        right &= FlipTo(!static_key_enabled(&ten_thousand_apart::key)).ok() && Right();
      }
      return right;
    }));
  }
  stop = true;
  flipper.join();
  EXPECT_TRUE(ok);
  EXPECT_TRUE(Right());
}

// /proc/self/maps while a key is flipped, and after. Expect no mapping that is writable and executable, and
// the text as it was.
TEST_F(ManyPagesTest, NothingIsWritableAndExecutable) {
  const auto text = [](int* writable_code) {
    std::string mappings;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      const std::string rights = line.substr(line.find(' ') + 1, 4);
      if (rights[1] == 'w' && rights[2] == 'x') ++*writable_code;
      if (rights[2] == 'x') mappings += line + "\n";
    }
    return mappings;
  };
  int writable_code = 0;
  const std::string before = text(&writable_code);
  std::atomic<bool> stop{false};
  std::thread flipper([&] {
    for (bool on = true; !stop; on = !on) static_cast<void>(FlipTo(on).ok());
  });
  for (int i = 0; i < 1000; ++i) text(&writable_code);
  stop = true;
  flipper.join();
  EXPECT_EQ(writable_code, 0);
  EXPECT_EQ(text(&writable_code), before);
}

}  // namespace
}  // namespace memsim::static_key
