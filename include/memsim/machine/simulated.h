// The simulated machine, thin form: n modelled CPUs on fibers of one host thread, in the order of
// simulated time, with fixed costs and no caches.
//
// Ordering  An access that changes a line's directory state (first touch, upgrade, transfer), every lock
//           operation, every deferred-work poll and every access to a line of the *ordered set* waits
//           until its CPU has the smallest (clock, tie). A hit that changes no state does not wait.
//           Each line keeps time and CPU of its last write and last read; an access that finds a
//           conflicting one with a later time is an order violation: the line joins the ordered set
//           and the run is repeated. A finished run has no violation, so it equals the strict order, in
//           which every access waits (Options::strict, and a test compares the two).
// Units     cycles of simulated time
// Errors    a deadlock ends the run and names lock and holder
// Left out  caches, stores buffers, bandwidth, SMT: a hit costs the same whatever the level
// Assumed   all costs
#ifndef MEMSIM_MACHINE_SIMULATED_H_
#define MEMSIM_MACHINE_SIMULATED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "memsim/machine/arena.h"
#include "memsim/machine/build_config.h"
#include "memsim/machine/deferred.h"
#include "memsim/machine/machine.h"
#include "memsim/machine/native.h"
#include "memsim/machine/observed_fields.h"

namespace memsim {

// Fixed costs in cycles. Assumed: round numbers of a current x86 server core.
struct SimCosts {
  uint64_t hit = 4;
  uint64_t transfer = 100;  // first touch, upgrade or transfer of a line
  uint64_t rmw = 18;        // on top of the access
  uint64_t instruction = 1;
  uint64_t irq_pair = 16;
  uint64_t lock_handoff = 60;
  uint64_t ipi = 1000;
};

// One run's order-independent result.
struct SimResult {
  uint64_t hash = 0;               // of every CPU's accesses, times and values
  std::vector<uint64_t> clock;     // per CPU, cycles
  std::vector<uint64_t> accesses;  // per CPU
  int runs = 0;                    // rehearsals included
  uint64_t ordered_lines = 0;
  bool strict = false;  // asked for, or the fallback after too many rehearsals
  std::string deadlock; // empty, or what waits for what
};

class SimFiber;

class SimContext {
 public:
  struct Options {
    int cpus = 2;
    uint64_t seed = 1;
    bool strict = false;
    SimCosts costs;
  };
  // Lines that earlier rehearsals found in conflict.
  using OrderedSet = absl::flat_hash_set<uint64_t>;

  SimContext(Options options, const Arena* arena, BuildConfig config, const OrderedSet* ordered);
  ~SimContext();
  SimContext(const SimContext&) = delete;
  SimContext& operator=(const SimContext&) = delete;

  // Runs `program(cpu)` on every CPU's fiber, with the CPU bound to `area0 + cpu * stride`, until all
  // have returned and no deferred work is left.
  void Run(std::byte* area0, uint64_t stride, Mailboxes* mailboxes,
           const std::function<void(CpuId)>& program);

  // Called by fields and guards of the current CPU.
  void Before(const Access& access);
  void After(const Access& access, uint64_t before, uint64_t after);
  void Lock(uint32_t* word);
  bool TryLock(uint32_t* word);
  void Unlock(uint32_t* word);
  void Charge(uint64_t cycles) { cpus_[static_cast<size_t>(current_)].clock += cycles; }
  void OnEnter(Fn fn);
  void Poll();  // between operations: runs deferred work that is due
  void RunOn(CpuId cpu, DeferredWork work);
  void AfterNs(uint64_t ns, DeferredWork work);

  const SimCosts& costs() const { return options_.costs; }
  const BuildConfig& config() const { return config_; }
  const OrderedSet& violations() const { return violations_; }
  SimResult result() const;

 private:
  // Directory state and history of one line, 16 bytes.
  struct Line {
    uint64_t write_time : 48;
    uint64_t writer : 10;
    uint64_t modified : 1;
    uint64_t touched : 1;
    uint64_t read_time : 48;
    uint64_t reader : 10;
    uint64_t sharers : 2;  // beyond two CPUs the full simulator needs a side table

    void Wrote(uint64_t time, uint64_t cpu) {
      write_time = time & ((uint64_t{1} << 48) - 1);
      writer = cpu & 1023;
    }
    void Share(uint64_t cpu, bool alone) {
      sharers = ((alone ? 0u : sharers) | 1u << cpu) & 3u;
    }
    void Read(uint64_t time, uint64_t cpu) {
      read_time = time & ((uint64_t{1} << 48) - 1);
      reader = cpu & 1023;
    }
  };
  static_assert(sizeof(Line) == 16);

  enum class State : uint8_t { kReady, kBlocked, kIdle, kDone };
  struct Cpu {
    uint64_t clock = 0;
    uint64_t hash = 0xcbf29ce484222325u;
    uint64_t accesses = 0;
    State state = State::kReady;
    uint32_t* waits_for = nullptr;
    std::unique_ptr<SimFiber> fiber;
  };
  struct Waiter {
    uint32_t* word;
    CpuId cpu;
  };

  uint64_t Tie(uint64_t clock, CpuId cpu) const;
  bool Earlier(uint64_t clock_a, CpuId a, uint64_t clock_b, CpuId b) const;
  CpuId Smallest() const;
  void WaitTurn();
  void Touch(uint64_t line, bool write, bool must_order);
  void Mix(uint64_t value);
  void Idle(CpuId cpu);
  Cpu& Me() { return cpus_[static_cast<size_t>(current_)]; }

  Options options_;
  const Arena* arena_;
  BuildConfig config_;
  const OrderedSet* ordered_;
  OrderedSet violations_;
  std::vector<Line> lines_;
  std::vector<Cpu> cpus_;
  std::vector<Waiter> waiters_;  // in the order of arrival
  Mailboxes* mailboxes_ = nullptr;
  CpuId current_ = 0;
  std::string deadlock_;
};

namespace simulated {

inline constinit thread_local SimContext* context = nullptr;

struct Observer {
  static void Before(const Access& access) {
    if (context != nullptr) context->Before(access);
  }
  static void After(const Access& access, uint64_t before, uint64_t after) {
    if (context != nullptr) context->After(access, before, after);
  }
};

class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;
  void Lock() {
    if (context != nullptr) context->Lock(&held_);
  }
  bool TryLock() { return context == nullptr || context->TryLock(&held_); }
  void Unlock() {
    if (context != nullptr) context->Unlock(&held_);
  }

 private:
  uint32_t held_;  // 0, or the holder's CPU + 1
};

class IrqGuard {
 public:
  explicit IrqGuard(IrqKind) {
    if (context != nullptr) context->Charge(context->costs().irq_pair);
  }
  ~IrqGuard() {}
  IrqGuard(const IrqGuard&) = delete;
  IrqGuard& operator=(const IrqGuard&) = delete;
};

class RcuGuard {
 public:
  RcuGuard() { Charge(); }
  ~RcuGuard() { Charge(); }
  RcuGuard(const RcuGuard&) = delete;
  RcuGuard& operator=(const RcuGuard&) = delete;

 private:
  static void Charge() {
    if (context == nullptr || context->config().rcu == RcuFlavour::kFree) return;
    context->Charge(context->config().rcu == RcuFlavour::kCall ? 4 : 2);
  }
};

class PreemptGuard {
 public:
  PreemptGuard() { Charge(); }
  ~PreemptGuard() { Charge(); }
  PreemptGuard(const PreemptGuard&) = delete;
  PreemptGuard& operator=(const PreemptGuard&) = delete;

 private:
  static void Charge() {
    if (context != nullptr && context->config().preempt_count) context->Charge(context->costs().hit);
  }
};

class Scope {
 public:
  explicit Scope(Fn fn) {
    if (context != nullptr) context->OnEnter(fn);
  }
  ~Scope() {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

}  // namespace simulated

struct Simulated {
  static constexpr absl::string_view kName = "simulated";
  static constexpr bool kNative = false;

  template <class T>
  using Cell = observed::Plain<simulated::Observer, T, FieldKind::kCell>;
  template <class T>
  using Racy = observed::Plain<simulated::Observer, T, FieldKind::kRacy>;
  template <class T>
  using PerCpu = observed::Plain<simulated::Observer, T, FieldKind::kPerCpu>;
  template <class T>
  using Atomic = observed::Atomic<simulated::Observer, T>;
  using SpinLock = simulated::SpinLock;
  using IrqGuard = simulated::IrqGuard;
  using PreemptGuard = simulated::PreemptGuard;
  using RcuGuard = simulated::RcuGuard;
  using Scope = simulated::Scope;
  using PartGuard = native::EmptyPartGuard;
  using CpuHead = native::CpuHead;
  using Binding = native::Binding;

  static void Work(int n) {
    if (simulated::context == nullptr) return;
    simulated::context->Charge(static_cast<uint64_t>(n) * simulated::context->costs().instruction);
  }
  static void Note(const char*) {}
  static void OnGate() {}
  static void EnterFault() {}
  static void ClearPage() {}
  static CpuId cpu() { return native::Head().cpu; }
  static std::byte* this_cpu_area() { return native::this_cpu; }
  static std::byte* this_cpu_ptr() {
    Work(1);
    return native::this_cpu;
  }
  static void RunOn(CpuId cpu, DeferredWork work) { simulated::context->RunOn(cpu, work); }
  static void After(uint64_t ns, DeferredWork work) { simulated::context->AfterNs(ns, work); }
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_SIMULATED_H_
