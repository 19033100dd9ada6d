// Exact counts of steps, and the one place where a step becomes counts: tracing and simulated execute the
// same path and must count the same.
//
// Counting  a modelled access is one instruction; Work(n) adds the rest; a Scope adds call, return,
//           pushes and what the build puts into every frame, as instructions, stack loads and stack stores
// Threads   a StepCounter belongs to one modelled CPU; the counts it adds to may be shared, because all
//           CPUs run on one host thread
#ifndef MEMSIM_MACHINE_COUNTS_H_
#define MEMSIM_MACHINE_COUNTS_H_

#include <array>
#include <cstdint>

#include "memsim/internal/check.h"
#include "memsim/machine/build_config.h"
#include "memsim/machine/machine.h"
#include "memsim/machine/observed_fields.h"

namespace memsim {

struct Counts {
  uint64_t calls = 0;         // of the function itself, when it is out of line
  uint64_t instructions = 0;  // modelled accesses + Work + frames
  uint64_t loads = 0;         // modelled accesses that read
  uint64_t stores = 0;        // modelled accesses that write
  uint64_t stack_loads = 0;
  uint64_t stack_stores = 0;
  uint64_t rmw = 0;          // LOCK instructions, lock acquisitions included
  uint64_t percpu_incs = 0;  // read-modify-writes of per-CPU data without LOCK
  uint64_t gs_insns = 0;     // gs-relative instructions
  uint64_t irq_off = 0;      // sections with interrupts off
  uint64_t locks = 0;        // spinlock acquisitions
  uint64_t gates = 0;        // evaluations of mem_cgroup_disabled()

  bool operator==(const Counts&) const = default;
  void Add(const Counts& other);
};

struct TraceCounts {
  std::array<std::array<Counts, kFnCount>, kPartCount> by_function{};
  // Distinct cache lines that memcg functions touched, summed over the operations of a part; the page
  // array is kept apart, because the fault owns that line anyway. Tracing only.
  std::array<uint64_t, kPartCount> lines{};
  std::array<uint64_t, kPartCount> page_lines{};
  std::array<uint64_t, kPartCount> operations{};

  const Counts& of(Part part, Fn fn) const {
    return by_function[static_cast<size_t>(part)][static_cast<size_t>(fn)];
  }
  Counts Memcg(Part part) const;  // sum over the controller's functions
};

// A nesting count of rcu_read_lock() or preempt_disable(), either end.
enum class NestingKind : uint8_t { kRcu, kPreempt };

// Where one CPU is, and the counts of what it does there. The methods return the instructions they
// counted, which is what a machine with a clock charges for.
class StepCounter {
 public:
  StepCounter(TraceCounts* counts, const BuildConfig& config) : counts_(counts), config_(config) {}

  void SetPart(Part part) { part_ = part; }
  Part part() const { return part_; }
  Fn owner() const { return owner_; }  // inlined functions count for their caller
  int depth() const { return depth_; }
  // The innermost source function, whether inlined or not.
  Fn source() const { return depth_ > 0 ? scopes_[static_cast<size_t>(depth_ - 1)] : owner_; }

  int Access(const memsim::Access& access, bool percpu_area) {
    Counts& here = Here();
    ++here.instructions;
    here.loads += access.kind != AccessKind::kStore;
    here.stores += access.kind != AccessKind::kLoad;
    here.rmw += access.kind == AccessKind::kRmw;
    here.percpu_incs += access.kind == AccessKind::kAdd && percpu_area;
    here.gs_insns += access.field == FieldKind::kPerCpu;
    return 1;
  }
  int Lock(bool acquire) {
    Counts& here = Here();
    ++here.instructions;
    ++here.stores;
    here.loads += acquire;
    here.rmw += acquire;
    here.locks += acquire;
    return 1;
  }
  // The instructions of the function's frame; 0 when it is inlined.
  int Enter(Fn fn) {
    MEMSIM_CHECK(depth_ < kMaxDepth, "scopes are nested as deeply as the kernel's functions");
    owners_[static_cast<size_t>(depth_)] = owner_;
    scopes_[static_cast<size_t>(depth_)] = fn;
    ++depth_;
    if (config_.inlined.Has(fn)) return 0;
    owner_ = fn;
    Counts& here = Here();
    // One register saved more if there was none: the caller's frame pointer. Otherwise that is among them.
    const int saved = Info(fn).pushes;
    const int pushes = config_.frame_pointer && saved == 0 ? 1 : saved;
    // Call and return, push and pop, the tracer's NOP, the new frame's pointer.
    const int instructions = 2 + 2 * pushes + config_.function_tracer + config_.frame_pointer;
    ++here.calls;
    here.instructions += static_cast<uint64_t>(instructions);
    here.stack_stores += static_cast<uint64_t>(1 + pushes);
    here.stack_loads += static_cast<uint64_t>(1 + pushes);
    return instructions;
  }
  void Leave() {
    --depth_;
    owner_ = owners_[static_cast<size_t>(depth_)];
  }
  int Work(int n) {
    Here().instructions += static_cast<uint64_t>(n);
    return n;
  }
  void Gate() { ++Here().gates; }
  int Irq(bool off) {
    Counts& here = Here();
    ++here.instructions;
    here.irq_off += off;
    return 1;
  }
  // An increment of current or of per-CPU data, where the configuration has one; a call adds call and
  // return.
  int Nesting(NestingKind kind) {
    int instructions = 0;
    if (kind == NestingKind::kRcu && config_.rcu != RcuFlavour::kFree) {
      instructions = config_.rcu == RcuFlavour::kCall ? 4 : 2;
    }
    if (kind == NestingKind::kPreempt && config_.preempt_count) instructions = 1;
    if (instructions == 0) return 0;
    Counts& here = Here();
    here.instructions += static_cast<uint64_t>(instructions);
    ++here.gs_insns;
    ++here.loads;
    ++here.stores;
    return instructions;
  }
  int ThisCpuPtr() {
    Counts& here = Here();
    ++here.instructions;
    ++here.loads;
    ++here.gs_insns;
    return 1;
  }

 private:
  static constexpr int kMaxDepth = 64;

  Counts& Here() {
    return counts_->by_function[static_cast<size_t>(part_)][static_cast<size_t>(owner_)];
  }

  TraceCounts* counts_;
  BuildConfig config_;
  Part part_ = Part::kCharge;
  Fn owner_ = Fn::kHandleMmFault;
  int depth_ = 0;
  std::array<Fn, kMaxDepth> scopes_{};
  std::array<Fn, kMaxDepth> owners_{};
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_COUNTS_H_
