// One access: does it hit, what does it change in the directory, and what does it cost?
#include <algorithm>

#include "lib/simulated/engine.h"

namespace memsim {

void SimEngine::Before(const Access& access) {
  Cpu& me = Me();
  ++me.accesses;
  if (me.clock >= me.next_timer && me.irq_off == 0) [[unlikely]] TimerInterrupt(me);
  const uint64_t offset = spec_.arena->OffsetOf(access.address);
  const bool rmw = access.kind == AccessKind::kRmw;
  me.step.Access(access, offset - per_cpu_begin_ < per_cpu_bytes_);
  Mix(me, offset * 4 + static_cast<uint64_t>(access.kind));
  if (me.muted) [[unlikely]] {
    if (!Solo()) {
      WaitTurn();
      CheckOrder(me, static_cast<uint32_t>(offset / kCacheLine), access.kind != AccessKind::kLoad);
    }
    return;
  }
  // A read-modify-write of memory is a load and a store.
  const uint64_t slots = access.kind == AccessKind::kLoad || access.kind == AccessKind::kStore
                             ? me.slot
                             : 2 * me.slot;
  if (offset - me.pointer + kBeforePointer < kNearPointer) WaitForPointer(me);
  Spend(me, Cause::kInstructions, slots);
  const bool moved = Touch(me, offset, access.kind, slots,
                           access.field == FieldKind::kRacy || access.field == FieldKind::kAtomic);
  if (rmw) LockedOperation(me, moved);
  if (machine_.store_forward != 0) StoreForward(me, offset, access);
  Mix(me, me.clock);
}

// A LOCK instruction waits for its line, beyond the L1 hit that its own time contains. A line that came for
// it stays until it is done.
void SimEngine::LockedOperation(Cpu& me, bool moved) {
  if (!moved && me.value_level == 2) Spend(me, Cause::kL2, machine_.l2.latency - machine_.l1.latency);
  Spend(me, Cause::kRmw, machine_.rmw);
  if (moved) me.in_flight_end = me.clock;
}

void SimEngine::After(const Access& access, uint64_t after) {
  Cpu& me = Me();
  if (access.pointer && after != 0) {
    after = spec_.arena->OffsetOf(reinterpret_cast<const void*>(after));
    if (access.kind == AccessKind::kLoad) {
      me.pointer = after;
      me.pointer_ready = me.value_ready;
      me.pointer_level = me.value_level;
    }
  }
  Mix(me, after);
}

// The access goes through the pointer that was loaded last, and that may not have arrived yet.
void SimEngine::WaitForPointer(Cpu& me) {
  if (me.pointer_ready <= me.clock) return;
  Spend(me, me.pointer_level == 1 ? Cause::kL1 : Cause::kL2, me.pointer_ready - me.clock);
}

// A load wider than the last store to its place waits until that store is in the cache.
void SimEngine::StoreForward(Cpu& me, uint64_t offset, const Access& access) {
  if (access.kind == AccessKind::kLoad) {
    if (offset == me.stored_at && access.size > me.stored_size) {
      Spend(me, Cause::kL1, machine_.store_forward);
      me.stored_at = UINT64_MAX;  // it is there now
    }
  } else {
    me.stored_at = offset;
    me.stored_size = access.size;
  }
}

// True when the line changed its state.
bool SimEngine::Touch(Cpu& me, uint64_t offset, AccessKind kind, uint64_t slots_paid, bool shared) {
  const bool write = kind != AccessKind::kLoad;
  const uint32_t line = static_cast<uint32_t>(offset / kCacheLine);
  Line& state = lines_[line];
  bool waited = false;
  if (strict_ || state.ordered || (!Solo() && IsExposed(me, line, shared))) {
    WaitTurn();
    waited = true;
  }
  PrivateCache::Hit hit = me.cache.Find(line, write && !waited);
  if (hit.level != 0 && (!write || hit.writable)) [[likely]] {
    if (waited) CheckOrder(me, line, write);
    Record(me, state, write);
    me.value_level = hit.level;
    me.value_ready = me.clock - slots_paid + (hit.level == 1 ? machine_.l1.latency : machine_.l2.latency);
    if (line_stats_.detail()) line_stats_.Access(offset, !write, write, false, current_);
    return false;
  }
  if (!waited) {
    WaitTurn();
    hit = me.cache.Find(line);  // others may have run while this CPU waited
  }
  ChangeState(me, offset, write, hit, slots_paid);
  me.value_ready = me.clock;
  return true;
}

// Might others have turned to this line? Waiting more than the rules demand changes nothing but the number
// of rehearsals. Such places are lines with fields meant for several CPUs, once they are written; what came
// from another CPU just now; and anything written that this CPU has left alone for a while. Its own data is
// none.
bool SimEngine::IsExposed(const Cpu& me, uint32_t line, bool shared) {
  Line& state = lines_[line];
  if (state.write_time == 0 || line - me.own_first < me.own_lines) return false;
  if (state.exposed) return true;
  if (line - page_first_ >= page_lines_) {
    state.exposed = shared;
    if (shared) return true;
  } else if (std::find(me.taken.begin(), me.taken.end(), line) != me.taken.end()) {
    return true;
  }
  const uint64_t self = static_cast<uint64_t>(current_);
  uint64_t last = 0;
  if (state.writer == self) last = state.write_time;
  if (state.reader == self && state.read_time > last) last = state.read_time;
  return last + kRust < me.clock;
}

void SimEngine::Record(Cpu& me, Line& line, bool write) {
  if (write) {
    line.write_time = me.clock & kTimeMask;
    line.writer = static_cast<uint64_t>(current_) & 1023;
  } else if (order_.Earlier(line.read_time, static_cast<CpuId>(line.reader), me.clock, current_)) {
    // Of all reads the latest counts, not the one that came last: a CPU that ran ahead has read already.
    line.read_time = me.clock & kTimeMask;
    line.reader = static_cast<uint64_t>(current_) & 1023;
  }
}

// Has somebody who ran ahead made an access that this one should have come before?
void SimEngine::CheckOrder(Cpu& me, uint32_t line, bool write) {
  const Line& state = lines_[line];
  if (!state.touched || state.ordered) return;
  const auto later = [&](uint64_t time, uint64_t cpu) {
    return static_cast<CpuId>(cpu) != current_ &&
           order_.Earlier(me.clock, current_, time, static_cast<CpuId>(cpu));
  };
  if (later(state.write_time, state.writer) || (write && later(state.read_time, state.reader))) {
    Violation(line);
  }
}

// The turn is this CPU's. Changes owner or sharers of a line and pays for the way it comes.
void SimEngine::ChangeState(Cpu& me, uint64_t offset, bool write, PrivateCache::Hit hit,
                            uint64_t slots_paid) {
  const uint32_t line = static_cast<uint32_t>(offset / kCacheLine);
  const bool had = hit.level != 0;
  FlushEvicted(me);
  CheckOrder(me, line, write);
  Line& state = lines_[line];
  Record(me, state, write);
  const uint64_t begin = me.clock;
  WaitForLine(me, line, write);
  const Fetch fetch = Source(me, line, write, hit);
  TakeFromOthers(line, write);
  if (had) {
    me.cache.Upgrade(line);
  } else {
    me.cache.Fill(line, state.exclusive != 0);
    l3_[static_cast<size_t>(me.socket)].Touch(line);
  }
  if (fetch.from_memory) {
    const int home = HomeOf(line);
    Spend(me, Cause::kBandwidth, ReadLine(home, me.clock));
  }
  const bool transfer = fetch.cause == Cause::kTransfer;
  if (machine_.adjacent_line && !had && !transfer) Prefetch(me, line ^ 1);
  // The line is under way from the end of the wait on: slots issued before that are no part of its way.
  const uint64_t overlapped = slots_paid - std::min(slots_paid, me.clock - begin);
  Spend(me, fetch.cause, std::max(fetch.latency, overlapped) - overlapped);
  me.in_flight = line;
  me.in_flight_end = me.clock;
  if (transfer) me.taken[me.takes++ % me.taken.size()] = line;
  line_stats_.Miss(offset, transfer, me.clock - begin);
  if (line_stats_.detail()) line_stats_.Access(offset, !write, write, transfer, current_);
}

// A line changes hands one CPU at a time. Whoever got it last may not have it yet: a CPU waits for its own
// line before it does anything else, so what it waits for is all there is to look at.
void SimEngine::WaitForLine(Cpu& me, uint32_t line, bool write) {
  const Line& state = lines_[line];
  if (!state.touched) return;
  uint64_t until = me.clock;
  const auto wait_for = [&](uint64_t cpu) {
    if (static_cast<CpuId>(cpu) == current_ || cpu >= cpus_.size()) return;
    const Cpu& other = At(static_cast<CpuId>(cpu));
    if (other.in_flight == line) until = std::max(until, other.in_flight_end);
  };
  wait_for(state.holder);
  if (write) wait_for(state.reader);
  Spend(me, Cause::kTransfer, until - me.clock);
}

uint64_t SimEngine::TransferFrom(CpuId from) const {
  if (machine_.CoreOf(from) == machine_.CoreOf(current_)) return machine_.transfer_smt;
  if (machine_.SocketOf(from) == machine_.SocketOf(current_)) return machine_.transfer_core;
  return machine_.transfer_socket;
}

// Where the line comes from; for an upgrade, whom it has to be taken from.
SimEngine::Fetch SimEngine::Source(Cpu& me, uint32_t line, bool write, PrivateCache::Hit hit) {
  const Line& state = lines_[line];
  uint64_t farthest = 0;
  uint64_t nearest = UINT64_MAX;
  const auto look_at = [&](CpuId cpu) {
    if (cpu == current_ || !At(cpu).cache.Holds(line)) return;
    const uint64_t transfer = TransferFrom(cpu);
    farthest = std::max(farthest, transfer);
    nearest = std::min(nearest, transfer);
  };
  if (state.holders == 1) look_at(static_cast<CpuId>(state.holder));
  if (state.holders == 2) {
    const Sharers& sharers = sharers_.find(line)->second;
    for (size_t cpu = sharers._Find_first(); cpu < sharers.size(); cpu = sharers._Find_next(cpu)) {
      look_at(static_cast<CpuId>(cpu));
    }
  }
  const bool others = nearest != UINT64_MAX;
  // Somebody has to give the line up, or has the only valid copy.
  if (others && write) return {farthest, Cause::kTransfer};
  if (others && state.exclusive) return {nearest, Cause::kTransfer};
  if (hit.level != 0) return {machine_.l3.latency, Cause::kL3};  // the directory says yes
  if (l3_[static_cast<size_t>(me.socket)].Find(line)) return {machine_.l3.latency, Cause::kL3};
  if (others) return {nearest, Cause::kTransfer};
  const bool local = HomeOf(line) == me.socket;
  return {local ? machine_.dram : machine_.dram_remote, Cause::kDram, true};
}

void SimEngine::TakeFromOthers(uint32_t line, bool write) {
  Line& state = lines_[line];
  const bool first = !state.touched || state.holders == 0;
  state.touched = 1;
  const uint64_t self = static_cast<uint64_t>(current_);
  if (write) {
    if (state.holders == 1 && state.holder != self) At(static_cast<CpuId>(state.holder)).cache.Kill(line);
    if (state.holders == 2) {
      const auto sharers = sharers_.find(line);
      const Sharers& all = sharers->second;
      for (size_t cpu = all._Find_first(); cpu < all.size(); cpu = all._Find_next(cpu)) {
        if (cpu != self) At(static_cast<CpuId>(cpu)).cache.Kill(line);
      }
      sharers_.erase(sharers);
    }
    state.holders = 1;
    state.SetHolder(current_);
    state.exclusive = 1;
    return;
  }
  if (first || (state.holders == 1 && state.holder == self)) {
    state.holders = 1;
    state.SetHolder(current_);
    state.exclusive = 1;
    return;
  }
  if (state.holders == 1) {
    At(static_cast<CpuId>(state.holder)).cache.SetWritable(line, false);
    Sharers& sharers = sharers_[line];
    sharers.set(state.holder);
    sharers.set(self);
    state.holders = 2;
    state.exclusive = 0;
    state.SetHolder(current_);
    return;
  }
  sharers_.find(line)->second.set(self);
  state.SetHolder(current_);
}

// The pair of a line that comes from outside the core, if nobody else has it. Part of an event, so it
// comes in order, and it is no access: nobody who ran ahead can have had the line. Nobody waits for it, but
// the memory is busy with it.
void SimEngine::Prefetch(Cpu& me, uint32_t line) {
  if (line >= lines_.size()) return;
  Line& state = lines_[line];
  const bool mine = state.holders == 1 && static_cast<CpuId>(state.holder) == current_;
  if ((state.holders != 0 && !mine) || me.cache.Holds(line)) return;
  state.touched = 1;
  state.holders = 1;
  state.SetHolder(current_);
  state.exclusive = 1;
  me.cache.FillL2(line, true);
  SharedCache& l3 = l3_[static_cast<size_t>(me.socket)];
  if (l3.Find(line)) return;
  l3.Touch(line);
  ReadLine(HomeOf(line), me.clock);
}

// What this core's fills pushed out since its last event is in L3 now.
void SimEngine::FlushEvicted(Cpu& me) {
  for (const uint32_t line : me.cache.evicted()) l3_[static_cast<size_t>(me.socket)].Touch(line);
  me.cache.evicted().clear();
}

// Time until a socket's memory begins to read a line. A read goes before the page clears that wait, not
// before the line that is being written, and pushes them back.
uint64_t SimEngine::ReadLine(int socket, uint64_t clock) {
  const uint64_t line = machine_.dram_line;
  if (line == 0) return 0;
  Memory& memory = memory_[static_cast<size_t>(socket)];
  const uint64_t busy = std::min(line, memory.all_done - std::min(memory.all_done, clock));
  const uint64_t begin = std::max(memory.reads_done, clock + busy);
  memory.reads_done = begin + line;
  memory.all_done = std::max(memory.all_done, clock) + line;
  return begin - clock;
}

// Time until it has written a page of zeros, behind all that came before.
uint64_t SimEngine::WritePage(int socket, uint64_t clock) {
  const uint64_t service = machine_.clear_lines * machine_.dram_line;
  if (service == 0) return 0;
  Memory& memory = memory_[static_cast<size_t>(socket)];
  memory.all_done = std::max(memory.all_done, clock) + service;
  return memory.all_done - clock;
}

int SimEngine::HomeOf(uint32_t line) const {
  if (machine_.sockets == 1) return 0;
  const uint64_t offset = uint64_t{line} * kCacheLine;
  if (offset - per_cpu_begin_ < per_cpu_bytes_) {
    return machine_.SocketOf(static_cast<int>((offset - per_cpu_begin_) / spec_.area_stride));
  }
  return static_cast<int>(SimHash(offset / kPageSize) % static_cast<uint64_t>(machine_.sockets));
}

}  // namespace memsim
