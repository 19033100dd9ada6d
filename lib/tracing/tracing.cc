#include "memsim/machine/tracing.h"

#include "memsim/units.h"

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

void TraceContext::Emit(TraceEvent event) {
  if (events_ == nullptr) return;
  event.function = depth_ > 0 ? scopes_[static_cast<size_t>(depth_ - 1)] : Fn::kHandleMmFault;
  event.depth = static_cast<uint8_t>(depth_);
  event.cpu = native::this_cpu != nullptr ? native::Head().cpu : 0;
  event.part = part_;
  events_->push_back(event);
}

void TraceContext::CountLines() {
  for (size_t i = 0; i < kPartCount; ++i) {
    counts_.lines[i] += lines_[i].size();
    counts_.page_lines[i] += page_lines_[i].size();
    lines_[i].clear();
    page_lines_[i].clear();
  }
}

void TraceContext::EndOperation() {
  ++operations_;
  ++counts_.operations[static_cast<size_t>(part_)];
  CountLines();
}

void TraceContext::LeavePart(Part before) {
  ++counts_.operations[static_cast<size_t>(part_)];
  part_ = before;
}

void TraceContext::Touch(uint64_t offset) {
  if (!IsMemcg(owner_)) return;
  const size_t part = static_cast<size_t>(part_);
  const uint64_t line = offset / kCacheLine;
  if (offset >= page_begin_ && offset < page_end_) {
    page_lines_[part].insert(line);
  } else {
    lines_[part].insert(line);
  }
}

void TraceContext::OnAccess(const Access& access, uint64_t before, uint64_t after) {
  const uint64_t offset = arena_->OffsetOf(access.address);
  const bool percpu = offset >= cpu_begin_ && offset < cpu_end_;
  Counts& here = Here();
  ++here.instructions;
  if (access.kind != AccessKind::kStore) ++here.loads;
  if (access.kind != AccessKind::kLoad) ++here.stores;
  if (access.kind == AccessKind::kRmw) ++here.rmw;
  if (access.kind == AccessKind::kAdd && percpu) ++here.percpu_incs;
  if (access.field == FieldKind::kPerCpu) ++here.gs_insns;
  Touch(offset);
  Emit({.type = TraceEvent::Type::kAccess,
        .function = owner_,
        .depth = 0,
        .cpu = 0,
        .part = part_,
        .access = access,
        .offset = offset,
        .before = before,
        .after = after});
}

void TraceContext::OnLock(const Access& access, bool acquire) {
  const uint64_t offset = arena_->OffsetOf(access.address);
  Counts& here = Here();
  ++here.instructions;
  ++here.stores;
  if (acquire) {
    ++here.loads;
    ++here.rmw;
    ++here.locks;
  }
  Touch(offset);
  Emit({.type = acquire ? TraceEvent::Type::kLock : TraceEvent::Type::kUnlock,
        .function = owner_,
        .depth = 0,
        .cpu = 0,
        .part = part_,
        .access = access,
        .offset = offset});
}

void TraceContext::OnEnter(Fn fn) {
  MEMSIM_CHECK(depth_ < kMaxDepth, "scopes are nested as deeply as the kernel's functions");
  const bool inlined = config_.inlined.Has(fn);
  owners_[static_cast<size_t>(depth_)] = owner_;
  scopes_[static_cast<size_t>(depth_)] = fn;
  if (!inlined) {
    owner_ = fn;
    Counts& here = Here();
    const uint64_t pushes = Info(fn).pushes;
    ++here.calls;
    here.instructions += 2 + 2 * pushes;  // call and return, push and pop
    here.stack_stores += 1 + pushes;
    here.stack_loads += 1 + pushes;
  }
  ++depth_;
  Emit({.type = TraceEvent::Type::kEnter,
        .function = fn,
        .inlined = inlined,
        .depth = 0,
        .cpu = 0,
        .part = part_});
}

void TraceContext::OnLeave() {
  Emit({.type = TraceEvent::Type::kLeave, .function = owner_, .depth = 0, .cpu = 0, .part = part_});
  --depth_;
  owner_ = owners_[static_cast<size_t>(depth_)];
}

void TraceContext::OnWork(int n) { Here().instructions += static_cast<uint64_t>(n); }

void TraceContext::OnGate() {
  ++Here().gates;
  OnSection(TraceEvent::Type::kGate);
}

void TraceContext::OnIrq(bool off) {
  Counts& here = Here();
  ++here.instructions;
  if (off) ++here.irq_off;
  OnSection(off ? TraceEvent::Type::kIrqOff : TraceEvent::Type::kIrqOn);
}

void TraceContext::OnSection(TraceEvent::Type type) {
  // A nesting count is one increment of current or of per-CPU data; a call adds call and return.
  Counts& here = Here();
  const bool rcu = type == TraceEvent::Type::kRcuLock || type == TraceEvent::Type::kRcuUnlock;
  const bool preempt = type == TraceEvent::Type::kPreemptOff || type == TraceEvent::Type::kPreemptOn;
  if (rcu && config_.rcu != RcuFlavour::kFree) {
    here.instructions += config_.rcu == RcuFlavour::kCall ? 4 : 2;
    ++here.gs_insns;  // current
    ++here.loads;
    ++here.stores;
  }
  if (preempt && config_.preempt_count) {
    ++here.instructions;
    ++here.gs_insns;
    ++here.loads;
    ++here.stores;
  }
  Emit({.type = type, .function = owner_, .depth = 0, .cpu = 0, .part = part_});
}

void TraceContext::OnThisCpuPtr() {
  Counts& here = Here();
  ++here.instructions;
  ++here.loads;
  ++here.gs_insns;
}

void TraceContext::OnNote(const char* text) {
  Emit({.type = TraceEvent::Type::kNote,
        .function = owner_,
        .depth = 0,
        .cpu = 0,
        .part = part_,
        .note = text});
}

}  // namespace memsim
