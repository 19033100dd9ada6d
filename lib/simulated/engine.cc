// Time, turns and the steps that touch no memory. coherence.cc, locks.cc and samples.cc hold the rest.
#include "lib/simulated/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "memsim/internal/check.h"

namespace memsim {

namespace {

// CPUs of the run on the core of `cpu`.
int ThreadsThatRun(const MachineModel& machine, int cpus, int cpu) {
  int threads = 0;
  for (int other = machine.CoreOf(cpu); other < cpus; other += machine.sockets * machine.cores_per_socket) {
    ++threads;
  }
  return threads;
}

}  // namespace

SimEngine::SimEngine(const SimSpec& spec, const OrderedSet& ordered)
    : spec_(spec),
      machine_(*spec.machine),
      order_(spec.seed),
      strict_(spec.strict),
      ordered_polls_(ordered.contains(kOrderedPolls)),
      ordered_gates_(ordered.contains(kOrderedGates)),
      per_cpu_begin_(spec.arena->OffsetOf(spec.area0)),
      per_cpu_bytes_(spec.area_stride * static_cast<uint64_t>(spec.cpus)),
      page_first_(static_cast<uint32_t>(spec.pages_begin / kCacheLine)),
      page_lines_(static_cast<uint32_t>((spec.pages_end - spec.pages_begin) / kCacheLine)),
      lines_(spec.arena->used() / kCacheLine + 2),
      ready_(&order_),
      memory_(static_cast<size_t>(machine_.sockets)),
      line_stats_(spec.arena->used(), spec.pages_begin, spec.pages_end, spec.options.line_detail) {
  MEMSIM_CHECK(spec.cpus >= 1 && spec.cpus <= machine_.cpus(), "the machine has the CPUs of the run");
  for (int s = 0; s < machine_.sockets; ++s) l3_.emplace_back(machine_);
  for (const uint32_t line : ordered) {
    if (line != kOrderedPolls && line != kOrderedGates) lines_[line].ordered = 1;
  }
  for (int cpu = 0; cpu < spec.cpus; ++cpu) {
    const int threads = ThreadsThatRun(machine_, spec.cpus, cpu);
    auto one = std::make_unique<Cpu>(spec, &result_.counts, threads);
    one->random = SimHash(spec.seed * 4096 + static_cast<uint64_t>(cpu));
    one->clock = one->random % 64 * machine_.cycle;
    one->times.phase = {};
    one->slot = threads > 1 ? machine_.smt_instruction : machine_.instruction;
    one->socket = machine_.SocketOf(cpu);
    one->own_lines = static_cast<uint32_t>(spec.area_stride / kCacheLine);
    one->own_first = static_cast<uint32_t>(per_cpu_begin_ / kCacheLine) +
                     static_cast<uint32_t>(cpu) * one->own_lines;
    if (machine_.timer_period != 0) {
      one->next_timer = one->clock + SimHash(one->random) % machine_.timer_period;
    }
    if (spec.options.sample_period != 0) {
      one->sample_due = one->clock + SimHash(one->random + 1) % spec.options.sample_period;
      one->next_alarm = one->sample_due;
    }
    SetRow(*one);
    cpus_.push_back(std::move(one));
  }
}

SimEngine::~SimEngine() = default;

void SimEngine::SetRow(Cpu& me) {
  const Fn owner = me.step.owner();
  me.muted = spec_.options.muted.Has(owner);
  UseRow(me, static_cast<size_t>(owner));
}

void SimEngine::SpendOn(size_t row, Cause cause, uint64_t ps) {
  Cpu& me = Me();
  UseRow(me, row);
  Spend(me, cause, ps);
  SetRow(me);
}

void SimEngine::Yield() { Me().fiber->Yield(); }

// Until this CPU is the earliest of those that could go on.
void SimEngine::WaitTurn() {
  ++events_;
  Cpu& me = Me();
  while (!ready_.empty() &&
         order_.Earlier(ready_.first().clock, ready_.first().cpu, me.clock, current_)) {
    Yield();  // Run() puts this CPU back into the queue
  }
}

void SimEngine::Violation(uint32_t line) {
  violations_.insert(line);
  // A rehearsal that looks on for a while finds the others of the same kind.
  if (give_up_ == UINT64_MAX) give_up_ = events_ + events_ / 4 + 2000;
}

uint64_t SimEngine::Jitter(Cpu& me, uint64_t ps) {
  const uint64_t width = ps / 16;
  if (width == 0) return ps;
  me.random = me.random * 6364136223846793005u + 1442695040888963407u;
  return ps - width / 2 + (me.random >> 33) % (width + 1);
}

void SimEngine::Enter(Fn fn) {
  Cpu& me = Me();
  if (fn == Fn::kHandleMmFault) {
    me.charge_time = 0;
    me.fault_marks = 0;
  }
  const int frame = me.step.Enter(fn);
  if (me.charge_depth == 0 && IsMemcg(fn) && me.step.part() == Part::kCharge) {
    me.charge_depth = me.step.depth();
    me.charge_begin = me.clock;
  }
  if (frame == 0) return;
  SetRow(me);
  Slots(me, frame);
  if (!me.muted) Spend(me, Cause::kInstructions, machine_.call);
  switch (fn) {
    case Fn::kPageCounterTryCharge: me.fault_marks |= 1u << static_cast<int>(ChargeKind::kMiss); break;
    case Fn::kDrainStock:
    case Fn::kDrainAllStock: me.fault_marks |= 1u << static_cast<int>(ChargeKind::kDrain); break;
    case Fn::kThreshold: me.fault_marks |= 1u << static_cast<int>(ChargeKind::kTail); break;
    case Fn::kReclaim: me.fault_marks |= 1u << static_cast<int>(ChargeKind::kReclaim); break;
    default: break;
  }
}

void SimEngine::Leave() {
  Cpu& me = Me();
  const bool fault = me.step.source() == Fn::kHandleMmFault;
  if (me.step.depth() == me.charge_depth) {
    me.charge_time += me.clock - me.charge_begin;
    me.charge_depth = 0;
  }
  me.step.Leave();
  SetRow(me);
  if (fault) EndFault(me);
}

Part SimEngine::EnterPart(Part part) {
  Cpu& me = Me();
  const Part before = me.step.part();
  me.step.SetPart(part);
  SetRow(me);
  return before;
}

void SimEngine::LeavePart(Part before) {
  Cpu& me = Me();
  ++result_.counts.operations[static_cast<size_t>(me.step.part())];
  me.step.SetPart(before);
  SetRow(me);
}

void SimEngine::Irq(IrqKind kind, bool off) {
  Cpu& me = Me();
  Slots(me, me.step.Irq(off));
  const uint64_t pair = kind == IrqKind::kSaveRestore ? machine_.irq_save : machine_.irq_disable;
  if (!me.muted) Spend(me, Cause::kIrq, off ? pair / 2 : pair - pair / 2);
  me.irq_off += off ? 1 : -1;
  if (me.irq_off == 0 && me.held_samples != 0) DeliverSamples(me, &me.held_samples);
}

void SimEngine::Gate() {
  Cpu& me = Me();
  if (strict_ || ordered_gates_) WaitTurn();
  me.last_gate = me.clock;
  me.step.Gate();
}

void SimEngine::TurnKey() {
  Cpu& me = Me();
  WaitTurn();
  if (strict_ || ordered_gates_) return;
  for (CpuId cpu = 0; cpu < spec_.cpus; ++cpu) {
    if (cpu == current_ || !order_.Earlier(me.clock, current_, At(cpu).last_gate, cpu)) continue;
    Violation(kOrderedGates);  // it asked too early
    return;
  }
}

void SimEngine::OnStage(Stage stage) {
  if (spec_.rest != RestKind::kFault) return;
  Cpu& me = Me();
  if (stage == Stage::kException) me.cache.FillL1(machine_.stage_data);
  const uint64_t ps = machine_.stage[static_cast<size_t>(stage)];
  if (ps == 0) return;
  const uint64_t spent = Jitter(me, ps);
  SpendOn(kFnCount + static_cast<size_t>(stage), Cause::kStage, spent);
  if (stage == Stage::kUser) me.times.user += spent;
}

// One ordered event: the socket's memory serves the page's lines while the core writes them.
void SimEngine::ClearPage() {
  Cpu& me = Me();
  ++me.accesses;
  if (spec_.rest == RestKind::kNone) return;
  WaitTurn();
  FlushEvicted(me);
  const uint64_t alone = machine_.clear_page;
  // Waiting that the core's own pace would have hidden costs nothing.
  const uint64_t all = std::max(alone, WritePage(me.socket, me.clock));
  UseRow(me, kSimClearPage);
  Spend(me, Cause::kDram, alone);
  Spend(me, Cause::kBandwidth, all - alone);
  SetRow(me);
  const uint64_t page = SimHash(me.cleared++ * 2048 + static_cast<uint64_t>(current_));
  me.cache.FillPage(page);
  l3_[static_cast<size_t>(me.socket)].FillPage(page);
}

// down_read() and up_read() of an address space: one LOCK instruction each on a line its threads share.
void SimEngine::MmapLock(const void* word) {
  if (spec_.rest != RestKind::kFault) return;
  Cpu& me = Me();
  UseRow(me, kSimMmapLock);
  Slots(me, 1);
  LockedOperation(me, Touch(me, spec_.arena->OffsetOf(word), AccessKind::kRmw, me.slot));
  SetRow(me);
}

// Other CPUs that ran this address space have to flush as well.
void SimEngine::FlushTlb(const void* mm) {
  OnStage(Stage::kTlbFlush);
  if (spec_.rest != RestKind::kFault || machine_.tlb_shootdown == 0) return;
  Cpu& me = Me();
  WaitTurn();
  uint64_t others = 0;
  for (const Ran& ran : ran_mm_[mm]) {
    others += ran.cpu != current_ && order_.Earlier(ran.since, ran.cpu, me.clock, current_);
  }
  if (others == 0) return;
  SpendOn(kFnCount + static_cast<size_t>(Stage::kTlbFlush), Cause::kStage,
          machine_.tlb_shootdown * others);
}

// Only one can be pending, however many periods have passed.
void SimEngine::TimerInterrupt(Cpu& me) {
  SpendOn(kSimTimer, Cause::kStage, Jitter(me, machine_.timer_cost));
  SkipTimer(me);
  if (!spec_.interrupt) return;
  ++me.irq_off;
  spec_.interrupt(current_);
  --me.irq_off;
}

void SimEngine::SkipTimer(Cpu& me) {
  if (me.clock < me.next_timer) return;
  me.next_timer += (me.clock - me.next_timer) / machine_.timer_period * machine_.timer_period +
                   machine_.timer_period;
}

void SimEngine::Poll() {
  Cpu& me = Me();
  if (strict_ || ordered_polls_) WaitTurn();
  me.last_poll = me.clock;
  if (spec_.mailboxes->HasWork(current_)) spec_.mailboxes->RunDue(current_, me.clock);
}

void SimEngine::BeginOperation(Part part, size_t phase, const void* mm) {
  Cpu& me = Me();
  me.step.SetPart(part);
  SetRow(me);
  std::vector<Ran>& ran = ran_mm_[mm];
  const auto is_mine = [this](const Ran& one) { return one.cpu == current_; };
  if (std::none_of(ran.begin(), ran.end(), is_mine)) ran.push_back({current_, me.clock});
  me.operation_begin = me.clock;
  me.operation_user = me.times.user;
  SimCpuTimes::PerPhase& times = me.times.phase[phase];
  if (!times.any) times.begin = me.clock;
  times.any = true;
  if (part == Part::kCharge) OnStage(Stage::kUser);
}

void SimEngine::EndOperation(size_t phase) {
  Cpu& me = Me();
  ++result_.counts.operations[static_cast<size_t>(me.step.part())];
  SimCpuTimes::PerPhase& times = me.times.phase[phase];
  times.time += me.clock - me.operation_begin;
  times.user += me.times.user - me.operation_user;
  times.end = me.clock;
}

void SimEngine::RunOn(CpuId cpu, DeferredWork work) {
  WaitTurn();
  // Later than this turn, however fast the machine: a poll at the same time has come or comes before it.
  const uint64_t due = Me().clock + std::max<uint64_t>(machine_.ipi, 1);
  spec_.mailboxes->Post(cpu, work, due);
  Cpu& target = At(cpu);
  if (target.state == State::kIdle) {
    target.state = State::kReady;
    if (due > target.clock) {
      target.times.idle += due - target.clock;
      target.clock = due;
    }
    ready_.Push(target.clock, cpu);
  } else if (cpu != current_ && target.last_poll >= due && !ordered_polls_) {
    Violation(kOrderedPolls);  // it looked too early
  }
}

void SimEngine::AfterNs(uint64_t ns, DeferredWork work) {
  WaitTurn();
  spec_.mailboxes->Post(current_, work, Me().clock + ns * 1000);
}

// Serves deferred work after the last operation, until every CPU is idle.
void SimEngine::Idle(CpuId cpu) {
  Cpu& me = At(cpu);
  for (;;) {
    WaitTurn();
    if (spec_.mailboxes->HasWork(cpu)) {
      me.last_poll = me.clock;
      spec_.mailboxes->RunDue(cpu, me.clock);
      if (spec_.mailboxes->HasWork(cpu)) {  // sleep towards the next item
        const uint64_t nap = std::max<uint64_t>(machine_.ipi, 1000);
        me.times.idle += nap;
        me.clock += nap;
      }
      continue;
    }
    me.state = State::kIdle;
    Yield();
    if (me.state == State::kDone) return;
  }
}

void SimEngine::Resume(CpuId cpu) {
  current_ = cpu;
  me_ = cpus_[static_cast<size_t>(cpu)].get();
  const native::Binding binding(spec_.area0 + static_cast<uint64_t>(cpu) * spec_.area_stride);
  me_->fiber->Resume();
}

SimRun SimEngine::Run() {
  for (CpuId cpu = 0; cpu < spec_.cpus; ++cpu) {
    At(cpu).fiber = std::make_unique<SimFiber>([this, cpu] {
      spec_.program(cpu);
      Idle(cpu);
    });
    ready_.Push(At(cpu).clock, cpu);
  }
  simulated::engine = this;
  bool gave_up = false;
  for (CpuId next = ready_.Pop().cpu;;) {
    Resume(next);
    gave_up = events_ >= give_up_;
    const bool ready = me_->state == State::kReady;
    if (gave_up || (!ready && ready_.empty())) break;
    // A CPU yields its turn to somebody earlier, so the queue is not empty.
    next = ready ? ready_.Exchange(me_->clock, next).cpu : ready_.Pop().cpu;
  }
  SimRun run;
  if (!gave_up) {
    DescribeDeadlock(result_);
    for (CpuId cpu = 0; cpu < spec_.cpus; ++cpu) {
      if (At(cpu).state != State::kIdle) continue;
      At(cpu).state = State::kDone;
      Resume(cpu);
    }
  }
  // Fibers that did not end are unwound; the guards on their stacks then find no engine.
  simulated::engine = nullptr;
  for (auto& cpu : cpus_) cpu->fiber.reset();
  FillResult(result_);
  run.violations = std::move(violations_);
  run.result = std::move(result_);
  return run;
}

void SimEngine::DescribeDeadlock(SimResult& result) {
  for (CpuId cpu = 0; cpu < spec_.cpus; ++cpu) {
    const Cpu& c = At(cpu);
    if (c.state != State::kBlocked) continue;
    absl::StrAppend(&result.deadlock, result.deadlock.empty() ? "" : "; ", "cpu ", cpu, " waits for ",
                    spec_.arena->Describe(spec_.arena->OffsetOf(c.waits_for)), " held by cpu ",
                    static_cast<int64_t>(*c.waits_for) - 1);
  }
}

void SimEngine::FillResult(SimResult& result) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const auto& cpu : cpus_) {
    cpu->times.clock = cpu->clock;
    cpu->times.accesses = cpu->accesses;
    result.cpus.push_back(cpu->times);
    for (const uint64_t part : {cpu->clock, cpu->accesses, cpu->hash}) {
      hash = (hash ^ part) * 0x100000001b3u;
    }
  }
  result.hash = hash;
  result.strict = strict_;
  result.turns = events_;
  result.lines = line_stats_.Report();
}

SimRun RunSimulation(const SimSpec& spec, const OrderedSet& ordered) {
  SimEngine engine(spec, ordered);
  SimRun run = engine.Run();
  run.result.ordered_lines = ordered.size();
  return run;
}

namespace simulated {

void Before(const Access& access) { engine->Before(access); }
void After(const Access& access, uint64_t, uint64_t after) { engine->After(access, after); }
void Lock(uint32_t* word) { engine->Lock(word); }
bool TryLock(uint32_t* word) { return engine->TryLock(word); }
void Unlock(uint32_t* word) { engine->Unlock(word); }
void Enter(Fn fn) { engine->Enter(fn); }
void Leave() { engine->Leave(); }
Part EnterPart(Part part) { return engine->EnterPart(part); }
void LeavePart(Part before) { engine->LeavePart(before); }
void Work(int n) { engine->Work(n); }
void Gate() { engine->Gate(); }
void TurnKey() { engine->TurnKey(); }
void Irq(IrqKind kind, bool off) { engine->Irq(kind, off); }
void Nesting(NestingKind kind) { engine->Nesting(kind); }
void ThisCpuPtr() { engine->ThisCpuPtr(); }
void OnStage(Stage stage) { engine->OnStage(stage); }
void ClearPage() { engine->ClearPage(); }
void MmapLock(const void* word) { engine->MmapLock(word); }
void FlushTlb(const void* mm) { engine->FlushTlb(mm); }
void RunOn(CpuId cpu, DeferredWork work) { engine->RunOn(cpu, work); }
void AfterNs(uint64_t ns, DeferredWork work) { engine->AfterNs(ns, work); }
void Poll() { engine->Poll(); }
void BeginOperation(Part part, size_t phase, const void* mm) {
  engine->BeginOperation(part, phase, mm);
}
void EndOperation(size_t phase) { engine->EndOperation(phase); }

}  // namespace simulated

}  // namespace memsim
