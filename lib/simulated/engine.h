// The simulated machine: an execution-driven model of n CPUs on one host thread. Each CPU runs the real
// charge path on a fiber of its own; every step asks the engine what it costs and whether it may go on.
//
// Ordering  An access that changes a line's directory state (first touch, upgrade, transfer), every lock
//           operation, every use of a shared resource (L3, memory, page clear) and every access to a line
//           of the *ordered set* waits until its CPU has the smallest (clock, tie). A hit that changes no
//           state does not wait. Each line keeps time and CPU of its last write and its last read; an
//           access that finds a conflicting one with a later time is an order violation: the line joins
//           the ordered set and the run is repeated. A finished run has no violation, so it equals the
//           strict order, in which every access waits (SimOptions::strict, and a test compares the two).
// Modelled  instructions at a rate (a slower one while the core's other thread runs); L1 and L2 per CPU,
//           L3 per socket, a directory with owner and sharers; transfers within a core, a socket and
//           between sockets, one at a time per line; LOCK instructions; ticket and queued spinlocks with
//           hand-off; memory with a bandwidth per socket, which reads lines before it clears pages; page
//           clears as one event; masking of interrupts, timer interrupts, requests to other CPUs; the rest
//           of the fault as stages with a cost
// Latency   inside the core an access takes its issue slot, and only who needs its value waits for it: an
//           access through the pointer that was loaded last, until that has arrived; a LOCK instruction for
//           its line. Whatever leaves the core is paid in full, at once
// Left out  store buffers (the machine is sequentially consistent), stream prefetch, instruction caches,
//           TLB misses, branch prediction; write-back traffic; waiting of a request in the interconnect;
//           a LOCK instruction holds the line that came for it, but not one that was there already
// Checked   by programs whose cost follows from the machine file: tests/simulated/closed_form.h
// Assumed   threads of a core that run slow each other down whether or not the other stalls, and own equal
//           shares of L1 and L2; per-CPU data lives in its CPU's socket, everything else is spread over the
//           sockets by page; a stage varies by up to 1/32 around its cost, a CPU starts up to 64 cycles late;
//           a timer interrupt due while a CPU spins for a lock, interrupts on, hides behind the wait
// Units     ps
// Errors    a deadlock ends the run and names lock and holder
#ifndef MEMSIM_LIB_SIMULATED_ENGINE_H_
#define MEMSIM_LIB_SIMULATED_ENGINE_H_

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/simulated/caches.h"
#include "lib/simulated/fiber.h"
#include "lib/simulated/line_stats.h"
#include "lib/simulated/ready_queue.h"
#include "memsim/machine/simulated.h"

namespace memsim {

class SimEngine {
 public:
  SimEngine(const SimSpec& spec, const OrderedSet& ordered);
  ~SimEngine();
  SimEngine(const SimEngine&) = delete;
  SimEngine& operator=(const SimEngine&) = delete;

  SimRun Run();

  // Steps of the current CPU; see simulated.h.
  void Before(const Access& access);
  void After(const Access& access, uint64_t after);
  void Lock(uint32_t* word);
  bool TryLock(uint32_t* word);
  void Unlock(uint32_t* word);
  void Enter(Fn fn);
  void Leave();
  Part EnterPart(Part part);
  void LeavePart(Part before);
  void Work(int n) { Slots(Me(), Me().step.Work(n)); }
  void Gate();
  void TurnKey();
  void Irq(IrqKind kind, bool off);
  void Nesting(NestingKind kind) { Slots(Me(), Me().step.Nesting(kind)); }
  void ThisCpuPtr() { Slots(Me(), Me().step.ThisCpuPtr()); }
  void OnStage(Stage stage);
  void ClearPage();
  void MmapLock(const void* word);
  void FlushTlb(const void* mm);
  void RunOn(CpuId cpu, DeferredWork work);
  void AfterNs(uint64_t ns, DeferredWork work);
  void Poll();
  void BeginOperation(Part part, size_t phase, const void* mm);
  void EndOperation(size_t phase);

 private:
  enum class State : uint8_t { kReady, kBlocked, kIdle, kDone };

  // Directory state and history of one line.
  struct Line {
    uint64_t write_time : 44;  // of the last write or change of owner; 17 s at most
    uint64_t writer : 10;
    uint64_t holders : 2;   // 0: no CPU; 1: `holder`; 2: many, in sharers_
    uint64_t exclusive : 1; // the one holder may write without asking
    uint64_t touched : 1;
    uint64_t ordered : 1;
    uint64_t exposed : 1;  // see IsExposed()
    uint64_t unused : 4;
    uint64_t read_time : 44;
    uint64_t reader : 10;
    uint64_t holder : 10;   // the CPU that got it last

    void SetHolder(CpuId cpu) { holder = static_cast<uint64_t>(cpu) & 1023; }
  };
  static_assert(sizeof(Line) == 16);
  static constexpr uint64_t kTimeMask = (uint64_t{1} << 44) - 1;
  static constexpr uint64_t kRust = 20000;  // ps
  // An access from so far before a pointer's target to so far behind it goes through the pointer.
  static constexpr uint64_t kBeforePointer = 256, kNearPointer = 4096 + kBeforePointer;
  using Sharers = std::bitset<kMaxSimCpus>;

  struct alignas(64) Cpu {
    explicit Cpu(const SimSpec& spec, TraceCounts* counts, int sharers)
        : step(counts, spec.config), cache(*spec.machine, sharers) {}

    uint64_t clock = 0;
    uint64_t next_alarm = UINT64_MAX;  // the next sample is due
    uint64_t slot = 0;                 // ps an instruction takes
    CauseTimes* row = nullptr;         // where time goes now
    uint64_t hash = 0xcbf29ce484222325u;
    uint64_t accesses = 0;
    size_t row_index = 0;
    bool muted = false;
    State state = State::kReady;
    uint32_t in_flight = UINT32_MAX;  // the line of the last change of owner,
    uint64_t in_flight_end = 0;       // and when it was complete
    uint64_t next_timer = UINT64_MAX;
    int irq_off = 0;
    int socket = 0;
    uint32_t own_first = 0, own_lines = 0;  // lines of its per-CPU data
    StepCounter step;
    PrivateCache cache;

    uint32_t* waits_for = nullptr;
    std::array<uint32_t, 4> taken = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    uint32_t takes = 0;
    // When the value of the last hit arrives, and from which level; the same of the last pointer.
    uint64_t value_ready = 0, pointer_ready = 0;
    int value_level = 0, pointer_level = 0;
    uint64_t pointer = 0;  // its value, an offset in the arena
    uint64_t last_poll = 0, last_gate = 0;
    uint64_t random = 0;
    uint64_t cleared = 0;  // pages
    uint64_t stored_at = UINT64_MAX;  // the last store
    uint8_t stored_size = 0;
    uint64_t sample_due = UINT64_MAX;
    uint32_t held_samples = 0;     // until interrupts are on again
    uint32_t stalled_samples = 0;  // for the next instruction
    // The fault in progress: time inside the controller's functions, whatever they call.
    int charge_depth = 0;  // of scopes, where the controller was entered; 0: outside
    uint64_t charge_begin = 0, charge_time = 0;
    uint32_t fault_marks = 0;  // 1 << ChargeKind
    SimCpuTimes times;
    uint64_t operation_begin = 0, operation_user = 0;  // clock and times.user there
    std::unique_ptr<SimFiber> fiber;
  };
  struct Waiter {
    uint32_t* word;
    CpuId cpu;
    uint64_t since;
  };

  // A CPU that runs an address space. It does not wait for its turn to say so, and may be ahead.
  struct Ran {
    CpuId cpu;
    uint64_t since;
  };

  // What an access that leaves the core costs.
  struct Fetch {
    uint64_t latency;
    Cause cause;
    bool from_memory = false;
  };

  Cpu& Me() { return *me_; }
  Cpu& At(CpuId cpu) { return *cpus_[static_cast<size_t>(cpu)]; }

  // engine.cc: time and turns
  void Spend(Cpu& me, Cause cause, uint64_t ps) {
    me.clock += ps;
    (*me.row)[static_cast<size_t>(cause)] += ps;
    if (me.clock >= me.next_alarm) [[unlikely]] TakeSamples(me, cause);
  }
  void Slots(Cpu& me, int n) {
    if (me.muted) [[unlikely]] return;
    Spend(me, Cause::kInstructions, static_cast<uint64_t>(n) * me.slot);
  }
  void SpendOn(size_t row, Cause cause, uint64_t ps);
  void SetRow(Cpu& me);
  void UseRow(Cpu& me, size_t row) {
    me.row_index = row;
    me.row = &result_.times[static_cast<size_t>(me.step.part())][row];
  }
  void WaitTurn();
  void Yield();
  void Resume(CpuId cpu);
  void Idle(CpuId cpu);
  void TimerInterrupt(Cpu& me);
  void SkipTimer(Cpu& me);  // what fell due until now is done with
  uint64_t Jitter(Cpu& me, uint64_t ps);
  void Violation(uint32_t line);
  void FillResult(SimResult& result);
  void DescribeDeadlock(SimResult& result);

  // samples.cc
  void TakeSamples(Cpu& me, Cause cause);
  void DeliverSamples(Cpu& me, uint32_t* from);
  void EndFault(Cpu& me);

  // coherence.cc
  bool Touch(Cpu& me, uint64_t offset, AccessKind kind, uint64_t slots_paid, bool shared = true);
  void WaitForPointer(Cpu& me);
  void LockedOperation(Cpu& me, bool moved);
  void ChangeState(Cpu& me, uint64_t offset, bool write, PrivateCache::Hit hit, uint64_t slots_paid);
  void CheckOrder(Cpu& me, uint32_t line, bool write);
  void WaitForLine(Cpu& me, uint32_t line, bool write);
  Fetch Source(Cpu& me, uint32_t line, bool write, PrivateCache::Hit hit);
  uint64_t TransferFrom(CpuId from) const;
  void TakeFromOthers(uint32_t line, bool write);
  void Prefetch(Cpu& me, uint32_t line);
  void FlushEvicted(Cpu& me);
  uint64_t ReadLine(int socket, uint64_t clock);
  uint64_t WritePage(int socket, uint64_t clock);
  int HomeOf(uint32_t line) const;
  bool IsExposed(const Cpu& me, uint32_t line, bool shared);
  void Record(Cpu& me, Line& line, bool write);
  void StoreForward(Cpu& me, uint64_t offset, const Access& access);

  // locks.cc
  void HandOver(uint32_t* word, uint64_t offset, CpuId to, uint64_t time);

  void Mix(Cpu& me, uint64_t value) { me.hash = (me.hash ^ value) * 0x100000001b3u; }
  bool Solo() const { return cpus_.size() == 1; }

  const SimSpec& spec_;
  const MachineModel& machine_;
  SimOrder order_;
  bool strict_;
  bool ordered_polls_, ordered_gates_;
  uint64_t per_cpu_begin_, per_cpu_bytes_;  // in the arena
  uint32_t page_first_, page_lines_;        // lines of the page array
  std::vector<Line> lines_;
  std::vector<std::unique_ptr<Cpu>> cpus_;
  Cpu* me_ = nullptr;
  CpuId current_ = 0;
  ReadyQueue ready_;
  std::vector<SharedCache> l3_;        // by socket
  struct Memory {
    uint64_t reads_done = 0;  // all reads that it was asked for
    uint64_t all_done = 0;    // and all page clears
  };
  std::vector<Memory> memory_;  // by socket
  absl::flat_hash_map<uint32_t, Sharers> sharers_;
  absl::flat_hash_map<const void*, std::vector<Ran>> ran_mm_;
  std::vector<Waiter> waiters_;  // in the order of arrival
  LineStats line_stats_;
  OrderedSet violations_;
  uint64_t events_ = 0;                 // turns taken
  uint64_t give_up_ = UINT64_MAX;       // at this turn: enough violations for a rehearsal
  SimResult result_;
};

}  // namespace memsim

#endif  // MEMSIM_LIB_SIMULATED_ENGINE_H_
