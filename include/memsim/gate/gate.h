// The gate: how the charge path asks "is the memory controller on?" (the kernel's
// mem_cgroup_disabled(), negated).
//
// Contract of a gate G over a machine M:
//   - `G::Open(subsys)` is true when the controller does its work; it reads at most the one word of
//     CgroupSubsys that belongs to it and changes nothing.
//   - All gates answer the same for the same SetEnabled(); only their cost differs.
//   - A gate does not know the kernel it is part of.
// On native a gate is a type, so that its instructions are exactly its own. On tracing and simulated it
// is a run-time value (RuntimeGate), because there its cost is modelled, not executed.
//
// A new gate is one struct below, one line in GateKind and kGates, and one case in RuntimeGate;
// memsim/session/open_native.h maps the kind to the type. That is the seam for `static_key`.
#ifndef MEMSIM_GATE_GATE_H_
#define MEMSIM_GATE_GATE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/machine.h"

namespace memsim {

enum class GateKind : uint8_t { kConstant, kFlag, kAtomic, kIndirect };

struct GateInfo {
  GateKind kind;
  absl::string_view name;
  absl::string_view summary;
};

inline constexpr std::array<GateInfo, 4> kGates = {{
    {GateKind::kConstant, "constant", "decided when compiling: leaves call and return, no test"},
    {GateKind::kFlag, "flag", "load and test of a word in the subsystem struct (Linux up to 4.3)"},
    {GateKind::kAtomic, "atomic", "relaxed atomic load and test; on x86 the same code as flag"},
    {GateKind::kIndirect, "indirect", "call through a function pointer that answers"},
}};

// struct cgroup_subsys of the memory controller, as far as the gate needs it, and the words of the
// gates that the kernel does not have.
//
// Mirrors   memory_cgrp_subsys; `disabled` at 0x68 (annotated 4.0 disassembly, see charge path)
template <class M>
struct CgroupSubsys {
  static constexpr absl::string_view kTypeName = "struct cgroup_subsys";
  using Answer = bool (*)();

  Unmodelled<0x68> callbacks;
  typename M::template Racy<uint32_t> disabled;
  typename M::template Atomic<uint32_t> enabled;
  typename M::template Racy<Answer> answer;
  Unmodelled<8> rest;

  static constexpr auto Fields() {
    using Self = CgroupSubsys;
    return std::array{
        MEMSIM_FIELD(Self, callbacks, kNone, "the subsystem's callbacks"),
        MEMSIM_FIELD(Self, disabled, kSetup, "the flag gate: non-zero after cgroup_disable=memory"),
        MEMSIM_FIELD(Self, enabled, kSetup, "the atomic gate (not in the kernel)"),
        MEMSIM_FIELD(Self, answer, kSetup, "the indirect gate (not in the kernel)"),
        MEMSIM_FIELD(Self, rest, kNone, "id, name, root"),
    };
  }

  static bool AnswerYes() { return true; }
  static bool AnswerNo() { return false; }

  // Turns the controller on or off for every gate that reads memory.
  void SetEnabled(bool on) {
    disabled.store(on ? 0 : 1);
    enabled.store(on ? 1 : 0);
    answer.store(on ? &AnswerYes : &AnswerNo);
  }
};

// Decided when compiling.
template <bool kOn>
struct ConstantGate {
  static constexpr bool compiled_in() { return true; }
  template <class M>
  MEMSIM_INLINED bool Open(const CgroupSubsys<M>&) const {
    M::OnGate();
    return kOn;
  }
};

// Mirrors   mem_cgroup_disabled(), linux v4.0, include/linux/memcontrol.h
struct FlagGate {
  static constexpr bool compiled_in() { return true; }
  template <class M>
  MEMSIM_INLINED bool Open(const CgroupSubsys<M>& subsys) const {
    M::OnGate();
    M::Work(1);  // the branch; load and test are one instruction
    return subsys.disabled.load() == 0;
  }
};

struct AtomicGate {
  static constexpr bool compiled_in() { return true; }
  template <class M>
  MEMSIM_INLINED bool Open(const CgroupSubsys<M>& subsys) const {
    M::OnGate();
    M::Work(1);
    return subsys.enabled.load() != 0;
  }
};

struct IndirectGate {
  static constexpr bool compiled_in() { return true; }
  template <class M>
  MEMSIM_INLINED bool Open(const CgroupSubsys<M>& subsys) const {
    M::OnGate();
    M::Work(4);  // the answer and its return, test, branch; the load is the call's operand
    return subsys.answer.load()();
  }
};

// CONFIG_MEMCG=n: there is no gate because there is no call. Part of the build configuration, not of
// the list of gates; the path asks compiled_in() before it emits a call.
struct CompiledOut {
  static constexpr bool compiled_in() { return false; }
  template <class M>
  MEMSIM_INLINED bool Open(const CgroupSubsys<M>&) const {
    return false;
  }
};

// The gate of tracing and simulated: chosen when the world is built.
struct RuntimeGate {
  bool built_in = true;  // false: CONFIG_MEMCG=n
  GateKind kind = GateKind::kFlag;
  bool constant_on = true;

  bool compiled_in() const { return built_in; }
  template <class M>
  bool Open(const CgroupSubsys<M>& subsys) const {
    switch (kind) {
      case GateKind::kConstant:
        return constant_on ? ConstantGate<true>().Open(subsys) : ConstantGate<false>().Open(subsys);
      case GateKind::kFlag: return FlagGate().Open(subsys);
      case GateKind::kAtomic: return AtomicGate().Open(subsys);
      case GateKind::kIndirect: return IndirectGate().Open(subsys);
    }
    return false;
  }
};

}  // namespace memsim

#endif  // MEMSIM_GATE_GATE_H_
