// The native machine: modelled CPUs are threads of this host, atomics are real, time is real.
//
// Shape     fields have the size and alignment of T and add no state
// Threads   one thread per modelled CPU; a thread is bound to its CPU by Binding
// Cost      a field access is the instruction that a plain struct would give: PerCpu<T>::add() is one
//           `add` to memory, Atomic<T> one LOCK instruction, everything else a plain move
// Left out  real interrupt masking (privileged): IrqGuard is a stand-in, see IrqStandIn
// Changed   the kernel addresses per-CPU data through %gs; here the base is a thread_local, so the
//           first per-CPU access of a function loads it (one %fs-relative load, not counted)
// Assumed   rcu_read_lock() and preempt_disable() emit nothing (CONFIG_PREEMPT_COUNT=n,
//           CONFIG_PREEMPT_RCU=n); a kernel whose default differs cannot be built on native yet and
//           is refused by a static_assert
#ifndef MEMSIM_MACHINE_NATIVE_H_
#define MEMSIM_MACHINE_NATIVE_H_

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "memsim/internal/compiler.h"
#include "memsim/machine/build_config.h"
#include "memsim/machine/deferred.h"
#include "memsim/machine/machine.h"
#include "memsim/page/rest_of_fault.h"

namespace memsim {

// What stands in for local_irq_disable() and friends in user space.
enum class IrqStandIn : uint32_t {
  kFlag = 0,  // one store to a per-CPU flag, one more when interrupts come back on
  kPopf = 1,  // a pushf/popf pair: the nearest unprivileged instructions
  kNone = 2,  // nothing
};

namespace native {

// The head of every per-CPU area: host-side state of the modelled CPU.
struct CpuHead {
  uint32_t irqs_off;
  IrqStandIn irq;
  CpuId cpu;
  uint32_t unused;
  RestOfFault* rest;  // what precedes a charge in a real fault; null: nothing
  Mailboxes* mailboxes;
  std::byte* area_of_cpu0;
  uint64_t area_stride;
};

inline constinit thread_local std::byte* this_cpu = nullptr;

inline CpuHead& Head() { return *reinterpret_cast<CpuHead*>(this_cpu); }

template <class T>
class Cell {
 public:
  Cell() = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;
  T load() const { return value_; }
  void store(T value) { value_ = value; }
  void add(T n) { value_ += n; }

 private:
  T value_;
};

template <class T>
class Racy {
 public:
  Racy() = default;
  Racy(const Racy&) = delete;
  Racy& operator=(const Racy&) = delete;
  T load() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  void store(T value) { __atomic_store_n(&value_, value, __ATOMIC_RELAXED); }
  // A load and a store: an update by another CPU in between is lost.
  void add(T n) { store(static_cast<T>(load() + n)); }

 private:
  T value_;
};

template <class T>
class Atomic {
 public:
  Atomic() = default;
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;
  T load() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  void store(T value) { __atomic_store_n(&value_, value, __ATOMIC_RELAXED); }
  // The kernel's value-returning atomics are fully ordered.
  T add_return(T n) { return __atomic_add_fetch(&value_, n, __ATOMIC_SEQ_CST); }
  void add(T n) { __atomic_fetch_add(&value_, n, __ATOMIC_SEQ_CST); }
  bool cmpxchg(T& expected, T desired) {
    return __atomic_compare_exchange_n(&value_, &expected, desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_RELAXED);
  }
  // Sets bits; true if any of them was set before.
  bool test_and_set(T bits) {
    return (__atomic_fetch_or(&value_, bits, __ATOMIC_SEQ_CST) & bits) != 0;
  }
  bool test_and_clear(T bits) {
    return (__atomic_fetch_and(&value_, static_cast<T>(~bits), __ATOMIC_SEQ_CST) & bits) != 0;
  }
  void set(T bits) { __atomic_fetch_or(&value_, bits, __ATOMIC_SEQ_CST); }
  void clear(T bits) { __atomic_fetch_and(&value_, static_cast<T>(~bits), __ATOMIC_SEQ_CST); }
  // The kernel's __set_bit() with a constant: a 4-byte read-modify-write without LOCK.
  void SetBit32(int bit) {
    auto* low = reinterpret_cast<uint32_t*>(&value_);
#if MEMSIM_SANITIZED || !defined(__x86_64__)
    __atomic_fetch_or(low, uint32_t{1} << bit, __ATOMIC_RELAXED);
#else
    asm volatile("orl %1, %0" : "+m"(*low) : "ri"(uint32_t{1} << bit));
#endif
  }

 private:
  T value_;
};

template <class T>
class PerCpu {
 public:
  PerCpu() = default;
  PerCpu(const PerCpu&) = delete;
  PerCpu& operator=(const PerCpu&) = delete;
  T load() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  void store(T value) { __atomic_store_n(&value_, value, __ATOMIC_RELAXED); }
  void add(T n) {
#if MEMSIM_SANITIZED || !defined(__x86_64__)
    __atomic_fetch_add(&value_, n, __ATOMIC_RELAXED);
#else
    // One instruction, like the kernel's this_cpu_add(); no LOCK, the data is this CPU's own.
    if constexpr (sizeof(T) == 8) {
      asm volatile("addq %1, %0" : "+m"(value_) : "re"(static_cast<int64_t>(n)) : "cc");
    } else {
      static_assert(sizeof(T) == 4);
      asm volatile("addl %1, %0" : "+m"(value_) : "ri"(static_cast<int32_t>(n)) : "cc");
    }
#endif
  }

 private:
  T value_;
};

// A test-and-test-and-set lock: one LOCK instruction to take, a plain store to release, as the
// kernel's ticket lock has it. More threads than host CPUs are legal, so a long wait yields.
class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;
  MEMSIM_INLINED void Lock() {
    while (__atomic_exchange_n(&held_, 1, __ATOMIC_ACQUIRE) != 0) Wait();
  }
  MEMSIM_INLINED bool TryLock() { return __atomic_exchange_n(&held_, 1, __ATOMIC_ACQUIRE) == 0; }
  MEMSIM_INLINED void Unlock() { __atomic_store_n(&held_, 0, __ATOMIC_RELEASE); }

 private:
  MEMSIM_COLD void Wait() {
    for (int spins = 0; __atomic_load_n(&held_, __ATOMIC_RELAXED) != 0; ++spins) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      if (spins >= 200) sched_yield();
    }
  }
  uint32_t held_;
};

class IrqGuard {
 public:
  explicit IrqGuard(IrqKind) {
    CpuHead& head = Head();
    if (head.irq == IrqStandIn::kFlag) [[likely]] {
      head.irqs_off = 1;
    } else if (head.irq == IrqStandIn::kPopf) {
      PushfPopf();
    }
    MEMSIM_BARRIER();
  }
  ~IrqGuard() {
    MEMSIM_BARRIER();
    CpuHead& head = Head();
    if (head.irq == IrqStandIn::kFlag) [[likely]] head.irqs_off = 0;
  }
  IrqGuard(const IrqGuard&) = delete;
  IrqGuard& operator=(const IrqGuard&) = delete;

 private:
  static void PushfPopf() {
#if defined(__x86_64__)
    // Step over the red zone, which the kernel does not have.
    asm volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
                 ::: "memory", "cc");
#endif
  }
};

// Emits nothing: see Assumed.
struct EmptyGuard {
  EmptyGuard() {}
  ~EmptyGuard() {}
  EmptyGuard(const EmptyGuard&) = delete;
  EmptyGuard& operator=(const EmptyGuard&) = delete;
};

struct EmptyScope {
  explicit EmptyScope(Fn) {}
  ~EmptyScope() {}
  EmptyScope(const EmptyScope&) = delete;
  EmptyScope& operator=(const EmptyScope&) = delete;
};

struct EmptyPartGuard {
  explicit EmptyPartGuard(Part) {}
  ~EmptyPartGuard() {}
  EmptyPartGuard(const EmptyPartGuard&) = delete;
  EmptyPartGuard& operator=(const EmptyPartGuard&) = delete;
};

// Host time in nanoseconds; the clock of After().
uint64_t NowNs();

// CPU time of the calling thread in nanoseconds: what a neighbour on this CPU takes is not in it.
uint64_t ThreadCpuNs();

// Binds the calling thread to a modelled CPU for a block.
class Binding {
 public:
  explicit Binding(std::byte* area) : before_(this_cpu) { this_cpu = area; }
  ~Binding() { this_cpu = before_; }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

 private:
  std::byte* before_;
};

void RunOn(CpuId cpu, DeferredWork work);
void After(uint64_t ns, DeferredWork work);

}  // namespace native

template <BuildConfig C>
struct Native {
  static_assert(!C.preempt_count && C.rcu == RcuFlavour::kFree,
                "native has no preempt count or RCU nesting yet");
  static constexpr absl::string_view kName = "native";
  static constexpr bool kNative = true;

  template <class T>
  using Cell = native::Cell<T>;
  template <class T>
  using Racy = native::Racy<T>;
  template <class T>
  using Atomic = native::Atomic<T>;
  template <class T>
  using PerCpu = native::PerCpu<T>;
  using SpinLock = native::SpinLock;
  using IrqGuard = native::IrqGuard;
  using PreemptGuard = native::EmptyGuard;
  using RcuGuard = native::EmptyGuard;
  using Scope = native::EmptyScope;
  using PartGuard = native::EmptyPartGuard;
  using CpuHead = native::CpuHead;
  using Binding = native::Binding;

  static void Work(int) {}
  static void Note(const char*) {}
  static void OnGate() {}
  static void EnterFault() {
    RestOfFault* rest = native::Head().rest;
    if (rest != nullptr) rest->Enter();
  }
  static void ClearPage() {
    RestOfFault* rest = native::Head().rest;
    if (rest != nullptr) rest->ClearPage();
  }
  static void OnStage(Stage) {}
  static void MmapLock(const void*) {}
  static void FlushTlb(const void*) {}
  static CpuId cpu() { return native::Head().cpu; }
  static std::byte* this_cpu_area() { return native::this_cpu; }
  static std::byte* this_cpu_ptr() { return native::this_cpu; }
  static void RunOn(CpuId cpu, DeferredWork work) { native::RunOn(cpu, work); }
  static void After(uint64_t ns, DeferredWork work) { native::After(ns, work); }
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_NATIVE_H_
