// Spinlocks. Waiters queue in the order of arrival; the lock goes to the next one a hand-off after its
// release, which includes the way of the lock's line. A ticket lock's waiters all read the line that the
// release changes, so that the next holder's turn to read it comes after half of the others' on average.
#include <algorithm>

#include "lib/simulated/engine.h"

namespace memsim {

void SimEngine::Lock(uint32_t* word) {
  Cpu& me = Me();
  if (TryLock(word)) return;
  me.state = State::kBlocked;
  me.waits_for = word;
  waiters_.push_back({word, current_, me.clock});
  Yield();  // Unlock() makes this CPU the holder before it goes on
}

bool SimEngine::TryLock(uint32_t* word) {
  Cpu& me = Me();
  const uint64_t offset = spec_.arena->OffsetOf(word);
  ++me.accesses;
  me.step.Lock(true);
  Mix(me, offset * 4 + 3);
  Slots(me, 1);
  WaitTurn();
  if (*word != 0) return false;
  *word = static_cast<uint32_t>(current_) + 1;
  if (!me.muted) {
    LockedOperation(me, Touch(me, offset, AccessKind::kRmw, me.slot));
  }
  Mix(me, me.clock);
  return true;
}

void SimEngine::Unlock(uint32_t* word) {
  Cpu& me = Me();
  const uint64_t offset = spec_.arena->OffsetOf(word);
  ++me.accesses;
  me.step.Lock(false);
  Mix(me, offset * 4 + 1);
  Slots(me, 1);
  WaitTurn();
  const auto first = std::find_if(waiters_.begin(), waiters_.end(),
                                  [word](const Waiter& w) { return w.word == word; });
  *word = 0;
  if (first == waiters_.end()) {
    if (!me.muted) Touch(me, offset, AccessKind::kStore, me.slot);
    return;
  }
  const Waiter next = *first;
  waiters_.erase(first);
  // Later than the release, however fast the machine: the next holder goes on behind this turn.
  uint64_t handoff = std::max<uint64_t>(machine_.lock_handoff, 1);
  if (spec_.config.ticket_locks) {
    const auto others = std::count_if(waiters_.begin(), waiters_.end(),
                                      [word](const Waiter& w) { return w.word == word; });
    handoff += static_cast<uint64_t>(others) * machine_.transfer_core / 2;
  }
  HandOver(word, offset, next.cpu, me.clock + handoff);
}

// Makes a blocked CPU the holder of a lock from `time` on.
void SimEngine::HandOver(uint32_t* word, uint64_t offset, CpuId to, uint64_t time) {
  *word = static_cast<uint32_t>(to) + 1;
  Cpu& me = Me();
  Cpu& next = At(to);
  const CpuId self = current_;
  const uint32_t line = static_cast<uint32_t>(offset / kCacheLine);
  // The line leaves everybody else, whom it may serve for data as well as for the lock. The event is the
  // releasing CPU's and of now, though it takes until then.
  CheckOrder(me, line, true);
  Record(me, lines_[line], true);
  next.state = State::kReady;
  next.waits_for = nullptr;
  // In the name of the next holder, whose fiber is at rest.
  current_ = to;
  me_ = &next;
  const uint64_t wait = time > next.clock ? time - next.clock : 0;
  Spend(next, Cause::kLockWait, wait);
  // A CPU that spins with interrupts on serves the timer meanwhile. Were it to do so once it holds the lock,
  // the others would wait for that as well, and have more to serve in turn.
  if (next.irq_off == 0) SkipTimer(next);
  line_stats_.LockWait(offset, wait);
  TakeFromOthers(line, true);
  const PrivateCache::Hit hit = next.cache.Find(line);
  if (hit.level == 0) next.cache.Fill(line, true);
  else next.cache.Upgrade(line);
  next.in_flight = line;
  next.in_flight_end = next.clock;
  Mix(next, next.clock);
  me_ = &me;
  current_ = self;
  ready_.Push(next.clock, to);
}

}  // namespace memsim
