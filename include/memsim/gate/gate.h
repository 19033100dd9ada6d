// The gate: how the charge path asks "is the memory controller on?" (the kernel's
// mem_cgroup_disabled(), negated).
//
// Contract of a gate G over a machine M:
//   - `G::Open(subsys)`, the switch: true while the controller is on.
//   - `G::OpenEver(subsys)`, the sticky question: true from the first time on that the controller was
//     on, for as long as the world exists (the kernel's sticky static keys, memcg_kmem_enabled_key for
//     one, answer the same).
//   - Each reads at most the one word of CgroupSubsys that belongs to it and changes nothing. For one
//     gate both cost the same: one instruction sequence, two words.
//   - All gates answer the same for the same SetEnabled(); only their cost differs.
//   - A gate does not know the kernel it is part of.
//
// Who asks what
//   switch   mem_cgroup_try_charge() and the PGFAULT count: the two places where something begins
//   sticky   mem_cgroup_commit_charge(), mem_cgroup_cancel_charge(), mem_cgroup_uncharge_list(),
//            mem_cgroup_page_lruvec(), mem_cgroup_update_lru_size(): behind it they go by what
//            try_charge left, the memcg that it handed out or page->mem_cgroup; NULL is "not charged"
//   nobody   reclaim, drains, high, OOM: they start from a memcg's counters and lists, and a page that
//            was never charged is on neither
// With a world that was never on, all seven are closed, as with the kernel's one question.
//
// Why the switch may flip between any two steps of a fault, a reclaim or an unmap on other threads:
//   - Whether a page is charged is decided once, by the one load in try_charge. The outcome travels in the
//     fault's own variable and then in page->mem_cgroup, which is constant from before the page goes on a
//     list until after it left the list. So add and removal agree on the list and its size, and the
//     uncharge happens once, with the memcg that was charged; nothing asks the switch again.
//   - A later sticky question about a charged page never says "no". SetEnabled(true) sets the sticky word
//     before the switch, so a CPU that saw the switch on sees the sticky word set (x86: loads in program
//     order, stores too; elsewhere Image::Enabled() and SetEnabled() carry a barrier). Another CPU gets
//     the page through a lock (page table, LRU) or its last reference, behind the first CPU's look at the
//     sticky word, and a word once seen set is seen set.
//   - An uncharged page gets the zone's own lists whichever way the sticky question is answered, so the
//     sticky word may turn while the page is on them: it is taken off the list it is on. Its size then
//     goes to Zone::lru_size, which may have missed the addition and which nobody reads.
//   - PGFAULT depends on nothing: faults while the switch is off are not counted.
// On native a gate is a type, so that its instructions are exactly its own. On tracing and simulated it
// is a run-time value (RuntimeGate), because there its cost is modelled, not executed.
//
// A new gate is one struct below, one line in GateKind and kGates, and one case in RuntimeGate;
// memsim/session/open_native.h maps the kind to the type.
#ifndef MEMSIM_GATE_GATE_H_
#define MEMSIM_GATE_GATE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "memsim/gate/static_key_switch.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/machine.h"

namespace memsim {

enum class GateKind : uint8_t { kConstant, kFlag, kAtomic, kStaticKey, kIndirect };

struct GateInfo {
  GateKind kind;
  absl::string_view name;
  absl::string_view summary;
};

inline constexpr std::array<GateInfo, 5> kGates = {{
    {GateKind::kConstant, "constant", "decided when compiling: leaves call and return, no test"},
    {GateKind::kFlag, "flag", "load and test of a word in the subsystem struct (Linux up to 4.3)"},
    {GateKind::kAtomic, "atomic", "relaxed atomic load and test; on x86 the same code as flag"},
    {GateKind::kStaticKey, "static_key", "a NOP or a JMP, patched while it runs (Linux from 4.4)"},
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

  Unmodelled<0x60> callbacks;
  // All words of all gates lie in the line of `disabled`, so that no question touches another line than
  // the kernel's. This one takes the last callback's place.
  typename M::template Racy<Answer> ever_answer;
  typename M::template Racy<uint32_t> disabled;
  typename M::template Atomic<uint32_t> enabled;
  typename M::template Racy<Answer> answer;
  typename M::template Racy<uint32_t> never_enabled;
  typename M::template Atomic<uint32_t> ever_enabled;

  static constexpr auto Fields() {
    using Self = CgroupSubsys;
    return std::array{
        MEMSIM_FIELD(Self, callbacks, kNone, "the subsystem's callbacks"),
        MEMSIM_FIELD(Self, ever_answer, kSetup, "the indirect gate, sticky (not in the kernel)"),
        MEMSIM_FIELD(Self, disabled, kSetup, "the flag gate: non-zero after cgroup_disable=memory"),
        MEMSIM_FIELD(Self, enabled, kSetup, "the atomic gate (not in the kernel)"),
        MEMSIM_FIELD(Self, answer, kSetup, "the indirect gate (not in the kernel)"),
        MEMSIM_FIELD(Self, never_enabled, kSetup, "the flag gate, sticky (not in the kernel)"),
        MEMSIM_FIELD(Self, ever_enabled, kSetup, "the atomic gate, sticky (not in the kernel)"),
    };
  }

  static bool AnswerYes() { return true; }
  static bool AnswerNo() { return false; }

  // Off, and never on so far.
  CgroupSubsys() {
    never_enabled.store(1);
    ever_enabled.store(0);
    ever_answer.store(&AnswerNo);
    SetEnabled(false);
  }

  // Turns the controller on or off for every gate that reads memory, at any time and from any thread.
  // Sticky before switch: whoever sees the switch on must see the sticky word set. Two calls at once may
  // leave the words of two gates apart, but a world asks one gate only.
  void SetEnabled(bool on) {
    if (on) {
      never_enabled.store(0);
      ever_enabled.store(1);
      ever_answer.store(&AnswerYes);
      MEMSIM_STORES_IN_ORDER();
    }
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
  template <class M>
  MEMSIM_INLINED bool OpenEver(const CgroupSubsys<M>& subsys) const {
    return Open(subsys);  // it cannot be turned
  }
};

// Mirrors   mem_cgroup_disabled(), linux v4.0, include/linux/memcontrol.h
struct FlagGate {
  static constexpr bool compiled_in() { return true; }
  template <class M>
  MEMSIM_INLINED bool Open(const CgroupSubsys<M>& subsys) const {
    return IsZero<M>(subsys.disabled);
  }
  template <class M>
  MEMSIM_INLINED bool OpenEver(const CgroupSubsys<M>& subsys) const {
    return IsZero<M>(subsys.never_enabled);
  }

 private:
  template <class M, class Word>
  MEMSIM_INLINED static bool IsZero(const Word& word) {
    M::OnGate();
    M::Work(1);  // the branch; load and test are one instruction
    return word.load() == 0;
  }
};

struct AtomicGate {
  static constexpr bool compiled_in() { return true; }
  template <class M>
  MEMSIM_INLINED bool Open(const CgroupSubsys<M>& subsys) const {
    return IsSet<M>(subsys.enabled);
  }
  template <class M>
  MEMSIM_INLINED bool OpenEver(const CgroupSubsys<M>& subsys) const {
    return IsSet<M>(subsys.ever_enabled);
  }

 private:
  template <class M, class Word>
  MEMSIM_INLINED static bool IsSet(const Word& word) {
    M::OnGate();
    M::Work(1);
    return word.load() != 0;
  }
};

// Native: sites of the two keys that all worlds of the process share, see static_key_switch.h.
//
// Mirrors   mem_cgroup_disabled() and cgroup_subsys_enabled(), linux v4.4: static_branch_likely(), so that
//           on is the NOP and off the JMP
// Cost      one instruction, no load; a few instructions and a load where patching is refused
struct StaticKeyGate {
  static constexpr bool compiled_in() { return true; }
  template <class M>
  MEMSIM_INLINED bool Open(const CgroupSubsys<M>&) const {
    return Enabled();
  }
  template <class M>
  MEMSIM_INLINED bool OpenEver(const CgroupSubsys<M>&) const {
    return EverEnabled();
  }

 private:
  // No templates: clang++ 14 crashes when it instantiates a site that it read from a precompiled header.
  MEMSIM_INLINED static bool Enabled() {
    return static_branch_likely(&internal::memory_cgrp_subsys_enabled_key);
  }
  MEMSIM_INLINED static bool EverEnabled() {
    return static_branch_likely(&internal::memcg_ever_enabled_key);
  }
};

// The same where code is modelled, not executed: one instruction that reads nothing. What a flip costs the
// other CPUs is left out.
struct ModelledStaticKeyGate {
  bool on;
  bool ever;
  template <class M>
  bool Open(const CgroupSubsys<M>&) const {
    return Site<M>(on);
  }
  template <class M>
  bool OpenEver(const CgroupSubsys<M>&) const {
    return Site<M>(ever);
  }

 private:
  template <class M>
  static bool Site(const bool& answer) {
    M::OnGate();  // other CPUs may run first, and turn the key
    const bool now = answer;
    M::Work(1);
    return now;
  }
};

struct IndirectGate {
  static constexpr bool compiled_in() { return true; }
  template <class M>
  MEMSIM_INLINED bool Open(const CgroupSubsys<M>& subsys) const {
    return Ask<M>(subsys.answer);
  }
  template <class M>
  MEMSIM_INLINED bool OpenEver(const CgroupSubsys<M>& subsys) const {
    return Ask<M>(subsys.ever_answer);
  }

 private:
  template <class M, class Word>
  MEMSIM_INLINED static bool Ask(const Word& word) {
    M::OnGate();
    M::Work(4);  // the answer and its return, test, branch; the load is the call's operand
    return word.load()();
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
  template <class M>
  MEMSIM_INLINED bool OpenEver(const CgroupSubsys<M>&) const {
    return false;
  }
};

// The gate of tracing and simulated: chosen when the world is built.
struct RuntimeGate {
  bool built_in = true;  // false: CONFIG_MEMCG=n
  GateKind kind = GateKind::kFlag;
  bool constant_on = true;
  ModelledStaticKeyGate static_key{true, true};

  bool compiled_in() const { return built_in; }
  template <class M>
  bool Open(const CgroupSubsys<M>& subsys) const {
    return With([&](const auto& gate) { return gate.Open(subsys); });
  }
  template <class M>
  bool OpenEver(const CgroupSubsys<M>& subsys) const {
    return With([&](const auto& gate) { return gate.OpenEver(subsys); });
  }

 private:
  template <class Ask>
  bool With(const Ask& ask) const {
    switch (kind) {
      case GateKind::kConstant: return constant_on ? ask(ConstantGate<true>()) : ask(ConstantGate<false>());
      case GateKind::kFlag: return ask(FlagGate());
      case GateKind::kAtomic: return ask(AtomicGate());
      case GateKind::kStaticKey: return ask(static_key);
      case GateKind::kIndirect: return ask(IndirectGate());
    }
    return false;
  }
};

}  // namespace memsim

#endif  // MEMSIM_GATE_GATE_H_
