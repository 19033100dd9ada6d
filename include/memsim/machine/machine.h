// The machine: what executes the steps of the charge path. The path is written once, as templates
// over the machine M, and runs on three of them:
//
//   native     this CPU: real atomics, real threads, real time
//   tracing    n modelled CPUs in seeded turns on one thread; every step is counted or recorded
//   simulated  n modelled CPUs on fibers in the order of simulated time; deterministic
//
// Contract of a machine M:
//   M::Cell<T>    owned by one CPU or protected by a lock: load() store() add()
//   M::Racy<T>    accessed without a lock on purpose: load() store() add(); add() may lose an update
//                 of another CPU, so whoever uses it says how large the error can be
//   M::Atomic<T>  load() store(); everything that modifies is one LOCK instruction, except
//                 SetBit32(), the kernel's non-atomic __set_bit on a line nobody else sees yet
//   M::PerCpu<T>  data of the current CPU: load() store() add(), each one gs-relative instruction
//   M::SpinLock   Lock() Unlock()
//   M::IrqGuard, M::PreemptGuard, M::RcuGuard   sections, by the kernel's build configuration
//   M::Scope      attribution to a kernel function; carries its frame (call, return, pushes)
//   M::PartGuard  attribution to a part of a page's life
//   M::Work(n)    n instructions that touch no modelled state
//   M::Note(s)    a remark for `memsim explain`; nothing elsewhere
//   M::OnGate()   one evaluation of mem_cgroup_disabled()
//   M::EnterFault(), M::ClearPage()  where a real fault would take its exception and zero its page
//   M::OnStage(s), M::MmapLock(word), M::FlushTlb(mm)  other parts of the fault that are not modelled step by
//                 step: time on simulated, nothing elsewhere
//   M::this_cpu_area()  the per-CPU area of the current CPU (the kernel's gs base)
//   M::this_cpu_ptr()   the same as a pointer for plain accesses: one gs-relative load in the kernel
//   M::cpu()      the current CPU
//   M::RunOn(cpu, work), M::After(ns, work)   deferred work; it runs on its CPU between operations
//
// Fields are not copyable and have no conversions: a copy, `auto` or a reference would bypass the
// machine. At most one modelled access may stand in an expression whose evaluation order is
// unspecified, because g++ and clang++ differ there; tests/lint checks argument lists.
//
// Outside a running CPU (setup, oracle, printing) accesses are free on every machine.
#ifndef MEMSIM_MACHINE_MACHINE_H_
#define MEMSIM_MACHINE_MACHINE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/build_config.h"
#include "memsim/machine/functions.h"
#include "memsim/machine/stage.h"
#include "memsim/units.h"

namespace memsim {

// A piece of deferred work: a plain function and its argument, as in the kernel's work_struct.
struct DeferredWork {
  void (*run)(void* argument) = nullptr;
  void* argument = nullptr;
};

// Which part of a page's life a step belongs to. The LRU batch is kept apart, because one fault in
// fourteen pays for fourteen pages.
enum class Part : uint8_t { kCharge, kLruBatch, kFree, kCount };
inline constexpr size_t kPartCount = static_cast<size_t>(Part::kCount);

enum class IrqKind : uint8_t { kDisableEnable, kSaveRestore };

template <class M>
concept Machine = requires(CpuId cpu, DeferredWork work, uint64_t ns) {
  typename M::template Cell<int>;
  typename M::template Racy<int>;
  typename M::template Atomic<int>;
  typename M::template PerCpu<int>;
  typename M::SpinLock;
  typename M::RcuGuard;
  typename M::PreemptGuard;
  requires std::constructible_from<typename M::IrqGuard, IrqKind>;
  requires std::constructible_from<typename M::Scope, Fn>;
  M::Work(1);
  M::OnGate();
  { M::cpu() } -> std::same_as<CpuId>;
  { M::this_cpu_area() } -> std::same_as<std::byte*>;
  M::RunOn(cpu, work);
  M::After(ns, work);
};

// Holds a spinlock for a block.
template <class Lock>
class SpinGuard {
 public:
  MEMSIM_INLINED explicit SpinGuard(Lock& lock) : lock_(lock) { lock_.Lock(); }
  // A simulated run that is given up is unwound from wherever it waits, and that may be here.
  MEMSIM_INLINED ~SpinGuard() noexcept(false) { lock_.Unlock(); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_MACHINE_H_
