// Machine code as text: what objdump says about an object file, function by function. x86-64 only.
#ifndef MEMSIM_TESTS_CODEGEN_DISASSEMBLY_H_
#define MEMSIM_TESTS_CODEGEN_DISASSEMBLY_H_

#include <compare>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "memsim/internal/check.h"

namespace memsim::codegen {

// One instruction in Intel syntax: "lock xadd QWORD PTR [rbx],rax".
struct Instruction {
  uint64_t address = 0;
  bool lock = false;
  std::string op;
  std::string operands;
  std::string symbol;  // what its relocation refers to

  bool IsJump() const { return op[0] == 'j'; }
  bool IsConditionalJump() const { return IsJump() && op != "jmp"; }
  uint64_t Target() const { return std::strtoull(operands.c_str(), nullptr, 16); }
  // A call, or a jump to another function.
  bool IsCall() const { return op == "call" || (op == "jmp" && !symbol.empty()); }
  // Does it nothing? (padding, landing pads of indirect branches)
  bool IsNothing() const {
    return op == "nop" || op == "endbr64" || op == "data16" || op == "cs" ||
           (op == "xchg" && operands == "ax,ax");
  }
  bool HasMemoryOperand() const {
    return op != "lea" && !IsNothing() && absl::StrContains(operands, "PTR");
  }
  bool MemoryIsDestination() const {
    return absl::StrContains(operands.substr(0, operands.find(',')), "PTR");
  }
};

using Code = std::vector<Instruction>;

inline std::string Text(const Code& code) {
  std::string text;
  for (const Instruction& i : code) {
    absl::StrAppend(&text, "  ", i.lock ? "lock " : "", i.op, " ", i.operands);
    if (!i.symbol.empty()) absl::StrAppend(&text, "  # ", i.symbol);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

struct MemoryUse {
  int loads = 0;
  int stores = 0;
  int locked = 0;
  auto operator<=>(const MemoryUse&) const = default;
};

inline void Add(const Instruction& i, MemoryUse* use) {
  if (!i.HasMemoryOperand()) return;
  const bool only_writes = absl::StartsWith(i.op, "mov") || absl::StartsWith(i.op, "set");
  const bool only_reads = i.op == "cmp" || i.op == "test" || i.op == "push" || i.op == "call" ||
                          i.op == "jmp" || !i.MemoryIsDestination();
  if (only_reads || !only_writes) ++use->loads;
  if (!only_reads) ++use->stores;
  if (i.lock || i.op == "xchg") ++use->locked;
}

// Of all instructions, wherever they stand.
inline MemoryUse MemoryUseOf(const Code& code) {
  MemoryUse use;
  for (const Instruction& i : code) Add(i, &use);
  return use;
}

// The memory use of every way through a function, from its first instruction to a return; what the
// compiler duplicated or moved makes no difference. Ways that abort, or that make more than
// `most_accesses`, are left out.
inline std::set<MemoryUse> PathsOf(const Code& code, int most_accesses = 12) {
  struct State {
    size_t at;
    MemoryUse use;
    auto operator<=>(const State&) const = default;
  };
  std::map<uint64_t, size_t> index;
  for (size_t i = 0; i < code.size(); ++i) index.emplace(code[i].address, i);
  std::set<MemoryUse> paths;
  std::set<State> seen;
  std::vector<State> open = {{0, {}}};
  while (!open.empty()) {
    State state = open.back();
    open.pop_back();
    if (state.at >= code.size() || !seen.insert(state).second) continue;
    const Instruction& i = code[state.at];
    Add(i, &state.use);
    if (state.use.loads + state.use.stores > most_accesses) continue;
    if (absl::StrContains(i.symbol, "CheckFailed") ||
        absl::StrContains(i.symbol, ".text.unlikely") || absl::StrContains(i.symbol, ".cold")) {
      if (!i.IsConditionalJump()) continue;
    } else if (i.IsJump()) {
      const auto target = index.find(i.Target());
      if (!i.symbol.empty()) {
        paths.insert(state.use);  // a tail call
      } else if (target != index.end()) {
        open.push_back({target->second, state.use});
      }
    }
    if (i.op == "ret") paths.insert(state.use);
    if (i.op != "ret" && i.op != "jmp") open.push_back({state.at + 1, state.use});
  }
  return paths;
}

inline std::string Text(const std::set<MemoryUse>& paths) {
  std::string text;
  for (const MemoryUse& use : paths) {
    absl::StrAppend(&text, "  ", use.loads, " loads, ", use.stores, " stores, ", use.locked,
                    " locked\n");
  }
  return text;
}

class Disassembly {
 public:
  // Reads object files, separated by blanks.
  Disassembly(const std::string& objdump, const std::string& objects) {
    const std::string command =
        absl::StrCat(objdump, " -M intel -d -r --no-show-raw-insn ", objects);
    std::FILE* pipe = popen(command.c_str(), "r");
    MEMSIM_CHECK(pipe != nullptr, "objdump was there when the build was configured");
    char* line = nullptr;
    size_t capacity = 0;
    Code* code = nullptr;
    while (getline(&line, &capacity, pipe) > 0) {
      Read(absl::StripSuffix(absl::string_view(line), "\n"), &code);
    }
    std::free(line);
    pclose(pipe);
  }

  const std::map<std::string, Code>& functions() const { return functions_; }

  // The one function whose mangled name contains both, without a cold part that the compiler split
  // off; empty when there is none. `name` is a source name ("try_charge").
  Code Find(absl::string_view name, absl::string_view other = "") const {
    const Code* found = nullptr;
    const std::string key = Mangled(name);
    for (const auto& [symbol, body] : functions_) {
      if (symbol != name && !absl::StrContains(symbol, key)) continue;
      if (!absl::StrContains(symbol, other) || absl::EndsWith(symbol, ".cold")) continue;
      if (found != nullptr) return {};
      found = &body;
    }
    return found == nullptr ? Code{} : *found;
  }

  // How a function's or a type's name stands in a mangled symbol.
  static std::string Mangled(absl::string_view name) { return absl::StrCat(name.size(), name); }

 private:
  void Read(absl::string_view line, Code** code) {
    if (line.empty()) return;
    if (absl::EndsWith(line, ">:")) {
      const size_t at = line.find('<') + 1;
      *code = &functions_[std::string(line.substr(at, line.size() - at - 2))];
      (*code)->clear();  // an inline function that two objects have
      return;
    }
    if (*code == nullptr) return;
    if (absl::StrContains(line, "R_X86_64")) {
      (*code)->back().symbol = std::string(line.substr(line.rfind('\t') + 1));
      return;
    }
    const size_t tab = line.find('\t');
    if (tab == absl::string_view::npos) return;
    absl::string_view text = line.substr(tab + 1);
    text = text.substr(0, text.find(" #"));
    Instruction instruction;
    instruction.address = std::strtoull(std::string(line.substr(0, tab)).c_str(), nullptr, 16);
    instruction.lock = absl::ConsumePrefix(&text, "lock ");
    for (const absl::string_view prefix : {"bnd ", "notrack ", "rep ", "repz "}) {
      absl::ConsumePrefix(&text, prefix);
    }
    const size_t blank = text.find(' ');
    instruction.op = std::string(text.substr(0, blank));
    if (blank != absl::string_view::npos) {
      instruction.operands = std::string(absl::StripAsciiWhitespace(text.substr(blank)));
    }
    (*code)->push_back(std::move(instruction));
  }

  std::map<std::string, Code> functions_;
};

}  // namespace memsim::codegen

#endif  // MEMSIM_TESTS_CODEGEN_DISASSEMBLY_H_
