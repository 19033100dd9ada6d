#include "memsim/machine/tracing.h"

#include "memsim/units.h"

namespace memsim {

void TraceContext::Emit(TraceEvent event) {
  if (events_ == nullptr) return;
  event.function = step_.source();
  event.depth = static_cast<uint8_t>(step_.depth());
  event.cpu = native::this_cpu != nullptr ? native::Head().cpu : 0;
  event.part = step_.part();
  events_->push_back(event);
}

void TraceContext::EmitPlain(TraceEvent::Type type) {
  Emit({.type = type, .function = step_.owner(), .depth = 0, .cpu = 0, .part = step_.part()});
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
  ++counts_.operations[static_cast<size_t>(step_.part())];
  CountLines();
}

void TraceContext::LeavePart(Part before) {
  ++counts_.operations[static_cast<size_t>(step_.part())];
  step_.SetPart(before);
}

void TraceContext::Touch(uint64_t offset) {
  if (!IsMemcg(step_.owner())) return;
  const size_t part = static_cast<size_t>(step_.part());
  const uint64_t line = offset / kCacheLine;
  if (offset >= page_begin_ && offset < page_end_) {
    page_lines_[part].insert(line);
  } else {
    lines_[part].insert(line);
  }
}

void TraceContext::OnAccess(const Access& access, uint64_t before, uint64_t after) {
  const uint64_t offset = arena_->OffsetOf(access.address);
  step_.Access(access, offset >= cpu_begin_ && offset < cpu_end_);
  Touch(offset);
  Emit({.type = TraceEvent::Type::kAccess,
        .function = step_.owner(),
        .depth = 0,
        .cpu = 0,
        .part = step_.part(),
        .access = access,
        .offset = offset,
        .before = before,
        .after = after});
}

void TraceContext::OnLock(const Access& access, bool acquire) {
  const uint64_t offset = arena_->OffsetOf(access.address);
  step_.Lock(acquire);
  Touch(offset);
  Emit({.type = acquire ? TraceEvent::Type::kLock : TraceEvent::Type::kUnlock,
        .function = step_.owner(),
        .depth = 0,
        .cpu = 0,
        .part = step_.part(),
        .access = access,
        .offset = offset});
}

void TraceContext::OnEnter(Fn fn) {
  const bool inlined = step_.Enter(fn) == 0;
  Emit({.type = TraceEvent::Type::kEnter,
        .function = fn,
        .inlined = inlined,
        .depth = 0,
        .cpu = 0,
        .part = step_.part()});
}

void TraceContext::OnLeave() {
  EmitPlain(TraceEvent::Type::kLeave);
  step_.Leave();
}

void TraceContext::OnWork(int n) { step_.Work(n); }

void TraceContext::OnGate() {
  step_.Gate();
  EmitPlain(TraceEvent::Type::kGate);
}

void TraceContext::OnIrq(bool off) {
  step_.Irq(off);
  EmitPlain(off ? TraceEvent::Type::kIrqOff : TraceEvent::Type::kIrqOn);
}

void TraceContext::OnNesting(NestingKind kind, TraceEvent::Type type) {
  step_.Nesting(kind);
  EmitPlain(type);
}

void TraceContext::OnThisCpuPtr() { step_.ThisCpuPtr(); }

void TraceContext::OnNote(const char* text) {
  Emit({.type = TraceEvent::Type::kNote,
        .function = step_.owner(),
        .depth = 0,
        .cpu = 0,
        .part = step_.part(),
        .note = text});
}

}  // namespace memsim
