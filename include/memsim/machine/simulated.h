// The simulated machine: n modelled CPUs on fibers of one host thread, in the order of simulated time,
// with caches, coherence, locks and memory bandwidth of a machine file. The machine itself is in
// lib/simulated/engine.h, which says what is modelled, left out and assumed; here is what the charge path
// sees of it, and how a session runs it.
//
// Units     ps of simulated time
// Errors    a deadlock ends the run and names lock and holder
#ifndef MEMSIM_MACHINE_SIMULATED_H_
#define MEMSIM_MACHINE_SIMULATED_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "memsim/machine/arena.h"
#include "memsim/machine/build_config.h"
#include "memsim/machine/deferred.h"
#include "memsim/machine/machine.h"
#include "memsim/machine/machine_model.h"
#include "memsim/machine/native.h"
#include "memsim/machine/observed_fields.h"
#include "memsim/machine/sim_result.h"
#include "memsim/page/rest_of_fault.h"

namespace memsim {

// How samples are taken: by an interrupt that masking holds up, or by one that it does not.
enum class SamplerKind : uint8_t { kTimer, kNmi };

// What a run observes, beyond what it always does.
struct SimOptions {
  FnSet muted;               // functions that execute but take no time and touch no cache
  bool line_detail = false;  // count every access of every word, not the misses alone
  SamplerKind sampler = SamplerKind::kTimer;
  uint64_t sample_period = 0;  // ps; 0: no samples
  bool interrupts_charge = false;  // a timer interrupt charges a page to its task's memcg, and back
};

// One run: a machine, a world and a program for each CPU.
struct SimSpec {
  const MachineModel* machine = nullptr;
  int cpus = 1;
  uint64_t seed = 1;
  bool strict = false;
  RestKind rest = RestKind::kNone;  // kClear: page clears; kFault: every stage of the machine file
  SimOptions options;
  BuildConfig config;
  const Arena* arena = nullptr;
  std::byte* area0 = nullptr;
  uint64_t area_stride = 0;
  uint64_t pages_begin = 0, pages_end = 0;  // arena offsets of the page array
  Mailboxes* mailboxes = nullptr;
  std::function<void(CpuId)> program;
  // What a timer interrupt does besides taking time; null: nothing.
  std::function<void(CpuId)> interrupt;
};

// Lines (and, as numbers that no line has, polls and questions of the gate) that rehearsals found to need the
// strict order.
using OrderedSet = absl::flat_hash_set<uint32_t>;
inline constexpr uint32_t kOrderedPolls = UINT32_MAX;
inline constexpr uint32_t kOrderedGates = UINT32_MAX - 1;

struct SimRun {
  SimResult result;
  OrderedSet violations;  // not empty: the run stopped early and has to be repeated with these ordered
};
SimRun RunSimulation(const SimSpec& spec, const OrderedSet& ordered);

class SimEngine;

namespace simulated {

// The machine that runs on this host thread; null outside a run, where accesses are free.
inline constinit thread_local SimEngine* engine = nullptr;

// What fields and guards call while an engine runs.
void Before(const Access& access);
void After(const Access& access, uint64_t before, uint64_t after);
void Lock(uint32_t* word);
bool TryLock(uint32_t* word);
void Unlock(uint32_t* word);
void Enter(Fn fn);
void Leave();
Part EnterPart(Part part);
void LeavePart(Part before);
void Work(int n);
void Gate();
// Before a static key is turned, which is code and no line: waits until nobody can ask it earlier.
void TurnKey();
void Irq(IrqKind kind, bool off);
void Nesting(NestingKind kind);
void ThisCpuPtr();
void OnStage(Stage stage);
void ClearPage();
void MmapLock(const void* word);
void FlushTlb(const void* mm);
void RunOn(CpuId cpu, DeferredWork work);
void AfterNs(uint64_t ns, DeferredWork work);
// Between operations.
void Poll();
void BeginOperation(Part part, size_t phase, const void* mm);
void EndOperation(size_t phase);

// What a block does is free and unseen, as if nobody ran. For what only the current CPU can see.
class OutsideGuard {
 public:
  OutsideGuard() : engine_(std::exchange(engine, nullptr)) {}
  ~OutsideGuard() { engine = engine_; }
  OutsideGuard(const OutsideGuard&) = delete;
  OutsideGuard& operator=(const OutsideGuard&) = delete;

 private:
  SimEngine* engine_;
};

struct Observer {
  static void Before(const Access& access) {
    if (engine != nullptr) simulated::Before(access);
  }
  static void After(const Access& access, uint64_t before, uint64_t after) {
    if (engine != nullptr) simulated::After(access, before, after);
  }
};

class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;
  void Lock() {
    if (engine != nullptr) simulated::Lock(&held_);
  }
  bool TryLock() { return engine == nullptr || simulated::TryLock(&held_); }
  void Unlock() {
    if (engine != nullptr) simulated::Unlock(&held_);
  }

 private:
  uint32_t held_;  // 0, or the holder's CPU + 1
};

class IrqGuard {
 public:
  explicit IrqGuard(IrqKind kind) : kind_(kind) {
    if (engine != nullptr) simulated::Irq(kind_, true);
  }
  ~IrqGuard() {
    if (engine != nullptr) simulated::Irq(kind_, false);
  }
  IrqGuard(const IrqGuard&) = delete;
  IrqGuard& operator=(const IrqGuard&) = delete;

 private:
  IrqKind kind_;
};

template <NestingKind kKind>
class NestingGuard {
 public:
  NestingGuard() {
    if (engine != nullptr) Nesting(kKind);
  }
  ~NestingGuard() {
    if (engine != nullptr) Nesting(kKind);
  }
  NestingGuard(const NestingGuard&) = delete;
  NestingGuard& operator=(const NestingGuard&) = delete;
};

class PartGuard {
 public:
  explicit PartGuard(Part part) {
    if (engine != nullptr) before_ = EnterPart(part);
  }
  ~PartGuard() {
    if (engine != nullptr) LeavePart(before_);
  }
  PartGuard(const PartGuard&) = delete;
  PartGuard& operator=(const PartGuard&) = delete;

 private:
  Part before_ = Part::kCharge;
};

class Scope {
 public:
  explicit Scope(Fn fn) {
    if (engine != nullptr) Enter(fn);
  }
  ~Scope() {
    if (engine != nullptr) Leave();
  }
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
  using PreemptGuard = simulated::NestingGuard<NestingKind::kPreempt>;
  using RcuGuard = simulated::NestingGuard<NestingKind::kRcu>;
  using Scope = simulated::Scope;
  using PartGuard = simulated::PartGuard;
  using CpuHead = native::CpuHead;
  using Binding = native::Binding;

  static void Work(int n) {
    if (simulated::engine != nullptr) simulated::Work(n);
  }
  static void Note(const char*) {}
  static void OnGate() {
    if (simulated::engine != nullptr) simulated::Gate();
  }
  static void EnterFault() {
    OnStage(Stage::kException);
    OnStage(Stage::kVmaLookup);
    OnStage(Stage::kPageTable);
  }
  static void ClearPage() {
    if (simulated::engine != nullptr) simulated::ClearPage();
  }
  static void OnStage(Stage stage) {
    if (simulated::engine != nullptr) simulated::OnStage(stage);
  }
  static void MmapLock(const void* word) {
    if (simulated::engine != nullptr) simulated::MmapLock(word);
  }
  static void FlushTlb(const void* mm) {
    if (simulated::engine != nullptr) simulated::FlushTlb(mm);
  }
  static CpuId cpu() { return native::Head().cpu; }
  static std::byte* this_cpu_area() { return native::this_cpu; }
  static std::byte* this_cpu_ptr() {
    if (simulated::engine != nullptr) simulated::ThisCpuPtr();
    return native::this_cpu;
  }
  static void RunOn(CpuId cpu, DeferredWork work) { simulated::RunOn(cpu, work); }
  static void After(uint64_t ns, DeferredWork work) { simulated::AfterNs(ns, work); }
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_SIMULATED_H_
