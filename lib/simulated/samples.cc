// The simulated sampling profiler, and the histogram of charges.
//
// A sample falls due by the clock and lands where a real one would: time spent waiting for memory or a lock
// is charged to the instruction that waits for the value, which is the next one; with the timer's interrupt
// a sample inside a section with interrupts off lands where they come back on, with an NMI it does not.
#include <algorithm>
#include <bit>

#include "lib/simulated/engine.h"

namespace memsim {

namespace {

// Does the core stand still for it?
bool IsStall(Cause cause) {
  switch (cause) {
    case Cause::kL2:
    case Cause::kL3:
    case Cause::kDram:
    case Cause::kTransfer:
    case Cause::kLockWait:
    case Cause::kBandwidth: return true;
    default: return false;
  }
}

int BucketOf(uint64_t ps) {
  if (ps < 2) return 0;
  const int octave = static_cast<int>(std::bit_width(ps)) - 1;
  const bool upper = octave > 0 && ((ps >> (octave - 1)) & 1) != 0;
  return std::min(2 * octave + (upper ? 1 : 0), ChargeTimes::kBuckets - 1);
}

}  // namespace

void SimEngine::TakeSamples(Cpu& me, Cause cause) {
  if (me.stalled_samples != 0) DeliverSamples(me, &me.stalled_samples);
  const bool masked = spec_.options.sampler == SamplerKind::kTimer && me.irq_off > 0;
  while (me.clock >= me.sample_due) {
    if (masked) ++me.held_samples;
    // Zeroing a page is one instruction: it waits for itself.
    else if (IsStall(cause) && me.row_index != kSimClearPage) ++me.stalled_samples;
    else ++result_.samples[me.row_index];
    me.sample_due += Jitter(me, spec_.options.sample_period);
  }
  me.next_alarm = me.stalled_samples != 0 ? 0 : me.sample_due;
}

void SimEngine::DeliverSamples(Cpu& me, uint32_t* from) {
  result_.samples[me.row_index] += *from;
  *from = 0;
}

void SimEngine::EndFault(Cpu& me) {
  if (me.charge_time == 0) return;
  int kind = 0;
  while (kind < static_cast<int>(ChargeKind::kPlain) && ((me.fault_marks >> kind) & 1) == 0) ++kind;
  ChargeTimes::Kind& times = result_.charges.kind[static_cast<size_t>(kind)];
  ++times.n;
  times.sum += me.charge_time;
  times.worst = std::max(times.worst, me.charge_time);
  ++times.histogram[static_cast<size_t>(BucketOf(me.charge_time))];
}

}  // namespace memsim
