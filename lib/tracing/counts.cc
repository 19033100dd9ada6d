#include "memsim/machine/counts.h"

namespace memsim {

void Counts::Add(const Counts& other) {
  calls += other.calls;
  instructions += other.instructions;
  loads += other.loads;
  stores += other.stores;
  stack_loads += other.stack_loads;
  stack_stores += other.stack_stores;
  rmw += other.rmw;
  percpu_incs += other.percpu_incs;
  gs_insns += other.gs_insns;
  irq_off += other.irq_off;
  locks += other.locks;
  gates += other.gates;
}

Counts TraceCounts::Memcg(Part part) const {
  Counts sum;
  for (size_t i = 0; i < kFnCount; ++i) {
    const Fn fn = static_cast<Fn>(i);
    if (IsMemcg(fn)) sum.Add(of(part, fn));
  }
  return sum;
}

}  // namespace memsim
