// The tracing machine: every step of the path is counted, and recorded when somebody asks.
//
// n modelled CPUs take seeded turns on one host thread; a turn is one whole operation (one fault, the
// unmap of one gather batch), so locks are never contended and the counts are exact.
//
// Counting  see counts.h
// Errors    none: it observes
// Assumed   After(): one operation takes 1 microsecond of the machine's own clock
#ifndef MEMSIM_MACHINE_TRACING_H_
#define MEMSIM_MACHINE_TRACING_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "memsim/machine/arena.h"
#include "memsim/machine/build_config.h"
#include "memsim/machine/counts.h"
#include "memsim/machine/deferred.h"
#include "memsim/machine/machine.h"
#include "memsim/machine/native.h"
#include "memsim/machine/observed_fields.h"

namespace memsim {

// One recorded step.
struct TraceEvent {
  enum class Type : uint8_t {
    kEnter, kLeave, kAccess, kLock, kUnlock, kIrqOff, kIrqOn, kRcuLock, kRcuUnlock,
    kPreemptOff, kPreemptOn, kGate, kNote, kWork,
  };
  Type type;
  Fn function;     // the innermost scope
  bool inlined = false;
  uint8_t depth;   // scope nesting
  CpuId cpu;
  Part part;
  Access access{};
  uint64_t offset = 0;  // arena offset of the access
  uint64_t before = 0;
  uint64_t after = 0;
  const char* note = nullptr;
};

class TraceContext {
 public:
  TraceContext(const Arena* arena, BuildConfig config)
      : arena_(arena), config_(config), step_(&counts_, config) {}

  void SetCpuAreas(uint64_t begin, uint64_t end) { cpu_begin_ = begin, cpu_end_ = end; }
  void SetPageArray(uint64_t begin, uint64_t end) { page_begin_ = begin, page_end_ = end; }

  void BeginOperation(Part part) { step_.SetPart(part); }
  void EndOperation();
  // Attributes to another part for the length of an LRU batch; returns the part before.
  Part EnterPart(Part part) {
    const Part before = step_.part();
    step_.SetPart(part);
    return before;
  }
  void LeavePart(Part before);

  void OnAccess(const Access& access, uint64_t before, uint64_t after);
  void OnEnter(Fn fn);
  void OnLeave();
  void OnWork(int n);
  void OnGate();
  void OnIrq(bool off);
  void OnLock(const Access& access, bool acquire);
  void OnNesting(NestingKind kind, TraceEvent::Type type);
  void OnThisCpuPtr();
  void OnNote(const char* text);

  // The clock of After().
  uint64_t NowNs() const { return operations_ * 1000; }

  const BuildConfig& config() const { return config_; }
  const TraceCounts& counts() const { return counts_; }
  void ResetCounts() { counts_ = TraceCounts{}; }
  // Starts (or, with null, stops) recording every step.
  void Record(std::vector<TraceEvent>* events) { events_ = events; }

 private:
  void Touch(uint64_t offset);
  void Emit(TraceEvent event);
  void EmitPlain(TraceEvent::Type type);
  void CountLines();

  const Arena* arena_;
  BuildConfig config_;
  uint64_t cpu_begin_ = 0, cpu_end_ = 0;
  uint64_t page_begin_ = 0, page_end_ = 0;
  uint64_t operations_ = 0;
  TraceCounts counts_;
  StepCounter step_;
  std::array<absl::flat_hash_set<uint64_t>, kPartCount> lines_;
  std::array<absl::flat_hash_set<uint64_t>, kPartCount> page_lines_;
  std::vector<TraceEvent>* events_ = nullptr;
};

namespace tracing {

inline constinit thread_local TraceContext* context = nullptr;

struct Observer {
  static void Before(const Access&) {}
  static void After(const Access& access, uint64_t before, uint64_t after) {
    if (context != nullptr) context->OnAccess(access, before, after);
  }
};

class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;
  void Lock() {
    MEMSIM_CHECK(held_ == 0, "CPUs take turns between operations, so no lock is ever contended");
    held_ = 1;
    if (context != nullptr) context->OnLock(Describe(AccessKind::kRmw), true);
  }
  bool TryLock() {
    Lock();
    return true;
  }
  void Unlock() {
    held_ = 0;
    if (context != nullptr) context->OnLock(Describe(AccessKind::kStore), false);
  }

 private:
  Access Describe(AccessKind kind) const { return {&held_, 4, kind, FieldKind::kLock, false}; }
  uint32_t held_;
};

class IrqGuard {
 public:
  explicit IrqGuard(IrqKind) {
    if (context != nullptr) context->OnIrq(true);
  }
  ~IrqGuard() {
    if (context != nullptr) context->OnIrq(false);
  }
  IrqGuard(const IrqGuard&) = delete;
  IrqGuard& operator=(const IrqGuard&) = delete;
};

template <NestingKind kNesting, TraceEvent::Type kBegin, TraceEvent::Type kEnd>
class SectionGuard {
 public:
  SectionGuard() {
    if (context != nullptr) context->OnNesting(kNesting, kBegin);
  }
  ~SectionGuard() {
    if (context != nullptr) context->OnNesting(kNesting, kEnd);
  }
  SectionGuard(const SectionGuard&) = delete;
  SectionGuard& operator=(const SectionGuard&) = delete;
};

class PartGuard {
 public:
  explicit PartGuard(Part part) {
    if (context != nullptr) before_ = context->EnterPart(part);
  }
  ~PartGuard() {
    if (context != nullptr) context->LeavePart(before_);
  }
  PartGuard(const PartGuard&) = delete;
  PartGuard& operator=(const PartGuard&) = delete;

 private:
  Part before_ = Part::kCharge;
};

class Scope {
 public:
  explicit Scope(Fn fn) {
    if (context != nullptr) context->OnEnter(fn);
  }
  ~Scope() {
    if (context != nullptr) context->OnLeave();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

}  // namespace tracing

struct Tracing {
  static constexpr absl::string_view kName = "tracing";
  static constexpr bool kNative = false;

  template <class T>
  using Cell = observed::Plain<tracing::Observer, T, FieldKind::kCell>;
  template <class T>
  using Racy = observed::Plain<tracing::Observer, T, FieldKind::kRacy>;
  template <class T>
  using PerCpu = observed::Plain<tracing::Observer, T, FieldKind::kPerCpu>;
  template <class T>
  using Atomic = observed::Atomic<tracing::Observer, T>;
  using SpinLock = tracing::SpinLock;
  using IrqGuard = tracing::IrqGuard;
  using PreemptGuard =
      tracing::SectionGuard<NestingKind::kPreempt, TraceEvent::Type::kPreemptOff,
                            TraceEvent::Type::kPreemptOn>;
  using RcuGuard = tracing::SectionGuard<NestingKind::kRcu, TraceEvent::Type::kRcuLock,
                                         TraceEvent::Type::kRcuUnlock>;
  using Scope = tracing::Scope;
  using PartGuard = tracing::PartGuard;
  using CpuHead = native::CpuHead;
  using Binding = native::Binding;

  static void Work(int n) {
    if (tracing::context != nullptr) tracing::context->OnWork(n);
  }
  static void Note(const char* text) {
    if (tracing::context != nullptr) tracing::context->OnNote(text);
  }
  static void OnGate() {
    if (tracing::context != nullptr) tracing::context->OnGate();
  }
  static void EnterFault() {}
  static void ClearPage() {}
  static void OnStage(Stage) {}
  static void MmapLock(const void*) {}
  static void FlushTlb(const void*) {}
  static CpuId cpu() { return native::Head().cpu; }
  static std::byte* this_cpu_area() { return native::this_cpu; }
  static std::byte* this_cpu_ptr() {
    if (tracing::context != nullptr) tracing::context->OnThisCpuPtr();
    return native::this_cpu;
  }
  static void RunOn(CpuId cpu, DeferredWork work) { native::Head().mailboxes->Post(cpu, work); }
  static void After(uint64_t ns, DeferredWork work) {
    const uint64_t now = tracing::context != nullptr ? tracing::context->NowNs() : 0;
    native::Head().mailboxes->Post(cpu(), work, now + ns);
  }
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_TRACING_H_
