// Native costs nothing: the machine code of the native path, read back.
//
//   pairs.cc   mechanisms beside hand-written versions on plain structures
//   paths.cc   the whole path of v4.0 with four gates
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/codegen/disassembly.h"

#ifndef MEMSIM_CODEGEN_SKIP
#define MEMSIM_CODEGEN_SKIP ""
#endif
#ifndef MEMSIM_CODEGEN_OBJECTS
#define MEMSIM_OBJDUMP ""
#define MEMSIM_CODEGEN_OBJECTS ""
#endif

namespace memsim::codegen {
namespace {

constexpr char kFlag[] = "8FlagGate";
constexpr char kAtomic[] = "10AtomicGate";
constexpr char kConstantOff[] = "12ConstantGateILb0EE";
constexpr char kCompiledOut[] = "11CompiledOut";

class CodegenTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (*MEMSIM_CODEGEN_SKIP == '\0') {
      disassembly_ = new Disassembly(MEMSIM_OBJDUMP, MEMSIM_CODEGEN_OBJECTS);
    }
  }
  static void TearDownTestSuite() {
    delete disassembly_;
    disassembly_ = nullptr;
  }
  void SetUp() override {
    if (disassembly_ == nullptr) GTEST_SKIP() << "skipped: " << MEMSIM_CODEGEN_SKIP;
  }

  // The machine code of a function, which must exist.
  static Code Get(absl::string_view name, absl::string_view gate = "") {
    Code code = disassembly_->Find(name, gate);
    EXPECT_FALSE(code.empty()) << "no function " << name << " " << gate;
    return code;
  }
  static const Disassembly& disassembly() { return *disassembly_; }

 private:
  static Disassembly* disassembly_;
};
Disassembly* CodegenTest::disassembly_ = nullptr;

// Does `code` call a function of that source name?
bool Calls(const Code& code, absl::string_view name) {
  return std::any_of(code.begin(), code.end(), [&](const Instruction& i) {
    return i.IsCall() && absl::StrContains(i.symbol, Disassembly::Mangled(name));
  });
}

int CountIf(const Code& code, bool (Instruction::*is)() const) {
  return static_cast<int>(
      std::count_if(code.begin(), code.end(), [is](const Instruction& i) { return (i.*is)(); }));
}

// Without what does nothing.
Code Effective(const Code& code) {
  Code effective;
  for (const Instruction& i : code) {
    if (!i.IsNothing()) effective.push_back(i);
  }
  return effective;
}

// A mechanism, and the function of pairs.cc that does the same by hand.
struct Pair {
  const char* mechanism;
  const char* plain;
  int extra_loads = 0;  // what the mechanism is known to cost more where it stores
};

// Every mechanism of the hot path, and the same by hand. A path is a way through the machine code:
// stock hit and the two misses; a charge of one, two or more levels, with or without a new
// watermark; the roll-back of a charge that failed at any of them. Expect the same paths, each with
// the same number of loads, stores and locked instructions. Known exceptions, by name:
//   consume_stock  a hit subtracts from a racy field that was just compared; both compilers read a
//                  relaxed atomic again, from the line that the hit owns anyway
TEST_F(CodegenTest, MechanismsAccessMemoryLikePlainStructures) {
  for (const Pair& pair : {
           Pair{"mechanism_consume_stock", "plain_consume_stock", 1},
           Pair{"page_counter_try_charge", "plain_page_counter_try_charge"},
           Pair{"page_counter_uncharge", "plain_page_counter_uncharge"},
           Pair{"page_counter_cancel", "plain_page_counter_cancel"},
           Pair{"mechanism_css_tryget", "plain_css_tryget"},
           Pair{"mem_cgroup_count_vm_event__", "plain_count_vm_event"},
           Pair{"mem_cgroup_charge_statistics", "plain_charge_statistics"},
       }) {
    const bool of_image = absl::StartsWith(pair.mechanism, "mem_cgroup_");
    const Code mechanism = Get(pair.mechanism, of_image ? kFlag : "");
    const Code plain = Get(pair.plain);
    std::set<MemoryUse> expected;
    for (MemoryUse use : PathsOf(plain)) {
      if (use.stores > 0) use.loads += pair.extra_loads;
      expected.insert(use);
    }
    EXPECT_FALSE(expected.empty()) << pair.plain;
    EXPECT_TRUE(PathsOf(mechanism) == expected) << pair.mechanism << " has the paths\n"
                                                << Text(PathsOf(mechanism)) << "by hand:\n"
                                                << Text(expected) << Text(mechanism) << "by hand:\n"
                                                << Text(plain);
  }
}

// The constant gate, off.
// Expect these functions to return at once: nothing but `ret`.
TEST_F(CodegenTest, ConstantGateOffLeavesReturn) {
  for (const char* name :
       {"mem_cgroup_commit_charge", "mem_cgroup_update_lru_size", "mem_cgroup_uncharge_list"}) {
    const Code code = Effective(Get(name, kConstantOff));
    ASSERT_EQ(code.size(), 1u) << name << "\n" << Text(code);
    EXPECT_EQ(code[0].op, "ret") << name;
  }
}

// The constant gate, off. The kernel's gates sit in the callee, so no gate can remove the call.
// Expect the callers to call all the same, except __mem_cgroup_count_vm_event(), whose gate is
// inline in the caller.
TEST_F(CodegenTest, ConstantGateOffLeavesTheCalls) {
  const Code fault = Get("handle_mm_fault", kConstantOff);
  EXPECT_TRUE(Calls(fault, "mem_cgroup_try_charge"));
  EXPECT_TRUE(Calls(fault, "mem_cgroup_commit_charge"));
  EXPECT_FALSE(Calls(fault, "mem_cgroup_count_vm_event__"));
  const Code batch = Get("pagevec_lru_move_fn", kConstantOff);
  EXPECT_TRUE(Calls(batch, "mem_cgroup_page_lruvec"));
  EXPECT_TRUE(Calls(batch, "mem_cgroup_update_lru_size"));
  EXPECT_TRUE(Calls(Get("release_pages", kConstantOff), "mem_cgroup_uncharge_list"));
}

// The constant gate, off: mem_cgroup_try_charge() still delivers NULL and 0.
// Expect one store and no load, no test and no branch.
TEST_F(CodegenTest, ConstantGateOffTryChargeOnlyDeliversItsResults) {
  const Code code = Effective(Get("mem_cgroup_try_charge", kConstantOff));
  const MemoryUse use = MemoryUseOf(code);
  EXPECT_EQ(use.loads, 0) << Text(code);
  EXPECT_EQ(use.stores, 1) << Text(code);
  for (const Instruction& i : code) {
    EXPECT_TRUE(i.op == "xor" || i.op == "mov" || i.op == "ret") << Text(code);
  }
}

// The constant gate, off: the check of lruvec->zone sits behind the gate's join point.
// Expect one load, one comparison, one branch, and the store of the repair.
TEST_F(CodegenTest, ConstantGateOffPageLruvecOnlyChecksTheZone) {
  const Code code = Effective(Get("mem_cgroup_page_lruvec", kConstantOff));
  const MemoryUse use = MemoryUseOf(code);
  EXPECT_EQ(use.loads, 1) << Text(code);
  EXPECT_EQ(use.stores, 1) << Text(code);
  EXPECT_EQ(CountIf(code, &Instruction::IsConditionalJump), 1) << Text(code);
  EXPECT_EQ(CountIf(code, &Instruction::IsCall), 0) << Text(code);
}

// CONFIG_MEMCG=n.
// Expect no call of any function of the controller from the fault, the LRU batch or the release,
// and no such function in the program.
TEST_F(CodegenTest, CompiledOutLeavesNoCall) {
  for (const char* name :
       {"handle_mm_fault", "release_pages", "pagevec_lru_move_fn", "zap_pte_range"}) {
    for (const Instruction& i : Get(name, kCompiledOut)) {
      if (!i.IsCall()) continue;
      for (const char* mine : {"mem_cgroup", "page_counter", "uncharge", "memcg_"}) {
        EXPECT_FALSE(absl::StrContains(i.symbol, mine)) << name << " calls " << i.symbol;
      }
    }
  }
  for (const auto& [symbol, code] : disassembly().functions()) {
    if (!absl::StrContains(symbol, kCompiledOut)) continue;
    for (const char* part : {"10ChargePath", "12UnchargePath", "9EventPath", "9LimitPath"}) {
      EXPECT_FALSE(absl::StartsWith(symbol, absl::StrCat("_ZN6memsim", part))) << symbol;
    }
  }
}

// What is the same in the code of two gates whose words say the opposite: the instructions, with
// the word's displacement, the sense of an (in)equality branch and the order of blocks taken out.
std::vector<std::string> Canonical(const Code& code) {
  std::vector<std::string> lines;
  for (const Instruction& i : Effective(code)) {
    if (i.op == "ret" || (i.op == "jmp" && !i.IsCall())) continue;
    std::string line =
        i.IsConditionalJump() ? (i.op == "jne" ? "je" : i.op) : absl::StrCat(i.op, " ", i.operands);
    if (i.IsCall()) line = i.op;
    absl::StrAppend(&line, " ", absl::StrReplaceAll(i.symbol, {{kAtomic, kFlag}}));
    // The words of the flag gate and of the atomic gate: switch and sticky.
    lines.push_back(absl::StrReplaceAll(line, {{"+0x6c]", "+0x68]"}, {"+0x7c]", "+0x78]"}}));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// A plain load of a flag, and a relaxed atomic load of another word.
// Expect the same machine code on x86 in every function of the path, up to the displacement of the
// word (and up to the sense of the test, because one word says "disabled" and the other "enabled").
TEST_F(CodegenTest, FlagAndAtomicGateAreTheSameCode) {
  int compared = 0;
  int with_switch = 0;
  int with_sticky = 0;
  for (const auto& [symbol, code] : disassembly().functions()) {
    if (!absl::StrContains(symbol, kFlag)) continue;
    const auto other =
        disassembly().functions().find(absl::StrReplaceAll(symbol, {{kFlag, kAtomic}}));
    ASSERT_NE(other, disassembly().functions().end()) << symbol;
    EXPECT_EQ(Canonical(code), Canonical(other->second)) << symbol << "\n"
                                                         << Text(code) << "atomic:\n"
                                                         << Text(other->second);
    ++compared;
    const std::string flag = Text(code);
    const std::string atomic = Text(other->second);
    with_switch += absl::StrContains(flag, "+0x68]") && absl::StrContains(atomic, "+0x6c]");
    with_sticky += absl::StrContains(flag, "+0x78]") && absl::StrContains(atomic, "+0x7c]");
  }
  EXPECT_GE(compared, 20);
  EXPECT_GE(with_switch, 2) << "the gates of the fault and the charge";
  EXPECT_GE(with_sticky, 5) << "the gates of commit, cancel, uncharge and of both LRU functions";
}

// The flag gate in front of one addition to memory.
// Expect one load, one test and one branch: the gate's whole price.
TEST_F(CodegenTest, FlagGateIsLoadTestBranch) {
  const Code code = Effective(Get("mem_cgroup_update_lru_size", kFlag));
  EXPECT_TRUE(MemoryUseOf(code) == (MemoryUse{.loads = 1 + 1, .stores = 1, .locked = 0}))
      << Text(code);
  EXPECT_EQ(CountIf(code, &Instruction::IsConditionalJump), 1) << Text(code);
  EXPECT_EQ(CountIf(code, &Instruction::IsCall), 0) << Text(code);
}

// perf and callgrind should see the kernel's function boundaries.
// Expect every function that is out of line in the kernel's build as a function of its own.
TEST_F(CodegenTest, KernelFunctionsKeepTheirBoundaries) {
  for (const char* name :
       {"mem_cgroup_count_vm_event__", "mem_cgroup_page_lruvec", "mem_cgroup_commit_charge",
        "uncharge_list", "mem_cgroup_update_lru_size", "get_mem_cgroup_from_mm",
        "mem_cgroup_try_charge", "memcg_check_events", "mem_cgroup_charge_statistics",
        "commit_charge", "try_charge", "uncharge_batch", "mem_cgroup_uncharge_list",
        "handle_mm_fault", "release_pages", "pagevec_lru_move_fn", "zap_pte_range"}) {
    Get(name, kFlag);
  }
}

}  // namespace
}  // namespace memsim::codegen
