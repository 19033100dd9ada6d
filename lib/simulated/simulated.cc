#include "memsim/machine/simulated.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lib/simulated/fiber.h"
#include "memsim/internal/check.h"

namespace memsim {

namespace {

constexpr uint64_t kCyclesPerNs = 3;  // assumed: a 3 GHz core, used by After() alone

uint64_t Hash(uint64_t x) {  // the finaliser of splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

SimContext::SimContext(Options options, const Arena* arena, BuildConfig config,
                       const OrderedSet* ordered)
    : options_(options),
      arena_(arena),
      config_(config),
      ordered_(ordered),
      lines_(arena->used() / kCacheLine + 1),
      cpus_(static_cast<size_t>(options.cpus)) {
  MEMSIM_CHECK(options.cpus <= 2, "the thin simulator keeps sharers of two CPUs");
  // A seeded start offset, so that CPUs with equal programs do not march in step.
  for (size_t i = 0; i < cpus_.size(); ++i) cpus_[i].clock = Hash(options.seed * 1024 + i) % 64;
}

SimContext::~SimContext() = default;

uint64_t SimContext::Tie(uint64_t clock, CpuId cpu) const {
  return Hash(options_.seed ^ Hash(clock * 1024 + static_cast<uint64_t>(cpu)));
}

bool SimContext::Earlier(uint64_t clock_a, CpuId a, uint64_t clock_b, CpuId b) const {
  if (clock_a != clock_b) return clock_a < clock_b;
  const uint64_t tie_a = Tie(clock_a, a);
  const uint64_t tie_b = Tie(clock_b, b);
  return tie_a != tie_b ? tie_a < tie_b : a < b;
}

CpuId SimContext::Smallest() const {
  CpuId best = -1;
  for (CpuId cpu = 0; cpu < options_.cpus; ++cpu) {
    const Cpu& c = cpus_[static_cast<size_t>(cpu)];
    if (c.state != State::kReady) continue;
    if (best < 0 || Earlier(c.clock, cpu, cpus_[static_cast<size_t>(best)].clock, best)) best = cpu;
  }
  return best;
}

void SimContext::WaitTurn() {
  const CpuId self = current_;
  while (Smallest() != self) cpus_[static_cast<size_t>(self)].fiber->Yield();
}

void SimContext::Mix(uint64_t value) {
  Cpu& me = Me();
  me.hash = (me.hash ^ value) * 0x100000001b3u;
}

void SimContext::Touch(uint64_t index, bool write, bool must_order) {
  const auto hits = [&] {
    const Line& line = lines_[index];
    if (!line.touched) return false;
    if (write) return line.modified && line.writer == static_cast<uint64_t>(current_);
    return ((line.sharers >> current_) & 1) != 0;
  };
  if (options_.strict || must_order || !hits() || ordered_->contains(index)) WaitTurn();

  const bool hit = hits();  // others may have run while this CPU waited
  Cpu& me = Me();
  Line& line = lines_[index];
  const auto conflicts = [&](uint64_t time, uint64_t cpu) {
    return static_cast<CpuId>(cpu) != current_ &&
           Earlier(me.clock, current_, time, static_cast<CpuId>(cpu));
  };
  if (line.touched && (conflicts(line.write_time, line.writer) ||
                       (write && conflicts(line.read_time, line.reader)))) {
    violations_.insert(index);
  }
  const uint64_t self = static_cast<uint64_t>(current_);
  if (write) {
    line.Wrote(me.clock, self);
    line.modified = 1;
    line.Share(self, true);
  } else {
    if (!hit) line.modified = 0;  // the owner's copy becomes shared
    line.Share(self, false);
    // Of all reads the latest counts, not the one that came last: a CPU that ran ahead has read already.
    if (!line.touched ||
        Earlier(line.read_time, static_cast<CpuId>(line.reader), me.clock, current_)) {
      line.Read(me.clock, self);
    }
  }
  if (!line.touched) {
    line.touched = 1;
    if (write) line.Read(0, self);
    if (!write) line.Wrote(0, self);
  }
  Mix(me.clock);
  me.clock += hit ? options_.costs.hit : options_.costs.transfer;
}

void SimContext::Before(const Access& access) {
  const uint64_t offset = arena_->OffsetOf(access.address);
  const bool rmw = access.kind == AccessKind::kRmw;
  Touch(offset / kCacheLine, access.kind != AccessKind::kLoad, false);
  Cpu& me = Me();
  if (rmw) me.clock += options_.costs.rmw;
  ++me.accesses;
  Mix(offset * 4 + static_cast<uint64_t>(access.kind));
}

void SimContext::After(const Access& access, uint64_t, uint64_t after) {
  if (access.pointer && after != 0) {
    after = arena_->OffsetOf(reinterpret_cast<const void*>(after));
  }
  Mix(after);
}

void SimContext::Lock(uint32_t* word) {
  while (!TryLock(word)) {
    Cpu& me = Me();
    me.state = State::kBlocked;
    me.waits_for = word;
    waiters_.push_back({word, current_});
    me.fiber->Yield();
  }
}

bool SimContext::TryLock(uint32_t* word) {
  Touch(arena_->OffsetOf(word) / kCacheLine, true, true);
  Me().clock += options_.costs.rmw;
  if (*word != 0) return false;
  *word = static_cast<uint32_t>(current_) + 1;
  return true;
}

void SimContext::Unlock(uint32_t* word) {
  Touch(arena_->OffsetOf(word) / kCacheLine, true, true);
  *word = 0;
  const auto first = std::find_if(waiters_.begin(), waiters_.end(),
                                  [word](const Waiter& w) { return w.word == word; });
  if (first == waiters_.end()) return;
  Cpu& next = cpus_[static_cast<size_t>(first->cpu)];
  next.state = State::kReady;
  next.waits_for = nullptr;
  next.clock = std::max(next.clock, Me().clock + options_.costs.lock_handoff);
  waiters_.erase(first);
}

void SimContext::OnEnter(Fn fn) {
  if (config_.inlined.Has(fn)) return;
  Charge(options_.costs.instruction * (2 + 2 * uint64_t{Info(fn).pushes}));
}

void SimContext::Poll() {
  WaitTurn();
  mailboxes_->RunDue(current_, Me().clock);
}

void SimContext::RunOn(CpuId cpu, DeferredWork work) {
  WaitTurn();
  const uint64_t due = Me().clock + options_.costs.ipi;
  mailboxes_->Post(cpu, work, due);
  Cpu& target = cpus_[static_cast<size_t>(cpu)];
  if (target.state == State::kIdle) {
    target.state = State::kReady;
    target.clock = std::max(target.clock, due);
  }
}

void SimContext::AfterNs(uint64_t ns, DeferredWork work) {
  mailboxes_->Post(current_, work, Me().clock + ns * kCyclesPerNs);
}

// Serves deferred work after the last operation, until every CPU is idle.
void SimContext::Idle(CpuId cpu) {
  Cpu& me = cpus_[static_cast<size_t>(cpu)];
  for (;;) {
    WaitTurn();
    if (mailboxes_->HasWork(cpu)) {
      mailboxes_->RunDue(cpu, me.clock);
      if (mailboxes_->HasWork(cpu)) me.clock += options_.costs.ipi;  // sleep towards the next item
      continue;
    }
    me.state = State::kIdle;
    me.fiber->Yield();
    if (me.state == State::kDone) return;
  }
}

void SimContext::Run(std::byte* area0, uint64_t stride, Mailboxes* mailboxes,
                     const std::function<void(CpuId)>& program) {
  mailboxes_ = mailboxes;
  for (CpuId cpu = 0; cpu < options_.cpus; ++cpu) {
    cpus_[static_cast<size_t>(cpu)].fiber = std::make_unique<SimFiber>([this, cpu, &program] {
      program(cpu);
      Idle(cpu);
    });
  }
  simulated::context = this;
  const auto resume = [&](CpuId cpu) {
    current_ = cpu;
    const native::Binding binding(area0 + static_cast<uint64_t>(cpu) * stride);
    cpus_[static_cast<size_t>(cpu)].fiber->Resume();
  };
  for (CpuId next = Smallest(); next >= 0; next = Smallest()) resume(next);

  for (CpuId cpu = 0; cpu < options_.cpus; ++cpu) {
    const Cpu& c = cpus_[static_cast<size_t>(cpu)];
    if (c.state != State::kBlocked) continue;
    absl::StrAppend(&deadlock_, deadlock_.empty() ? "" : "; ", "cpu ", cpu, " waits for ",
                    arena_->Describe(arena_->OffsetOf(c.waits_for)), " held by cpu ",
                    static_cast<int64_t>(*c.waits_for) - 1);
  }
  for (CpuId cpu = 0; cpu < options_.cpus; ++cpu) {
    Cpu& c = cpus_[static_cast<size_t>(cpu)];
    if (c.state != State::kIdle) continue;
    c.state = State::kDone;
    resume(cpu);
  }
  simulated::context = nullptr;
}

SimResult SimContext::result() const {
  SimResult result;
  uint64_t hash = 0xcbf29ce484222325u;
  for (const Cpu& cpu : cpus_) {
    result.clock.push_back(cpu.clock);
    result.accesses.push_back(cpu.accesses);
    for (const uint64_t part : {cpu.clock, cpu.accesses, cpu.hash}) {
      hash = (hash ^ part) * 0x100000001b3u;
    }
  }
  result.hash = hash;
  result.ordered_lines = ordered_->size();
  result.strict = options_.strict;
  result.deadlock = deadlock_;
  return result;
}

}  // namespace memsim
