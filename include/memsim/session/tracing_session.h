// A session on the tracing machine: modelled CPUs take seeded turns of one step on one thread.
#ifndef MEMSIM_SESSION_TRACING_SESSION_H_
#define MEMSIM_SESSION_TRACING_SESSION_H_

#include <vector>

#include "memsim/session/driver.h"
#include "memsim/session/session_base.h"
#include "memsim/workload/random.h"

namespace memsim {

template <class T>
class TracingSession final : public BundleSession<T> {
 public:
  explicit TracingSession(const SessionConfig& config)
      : BundleSession<T>(config), context_(&this->world_->arena(), config.config), random_(config.seed) {
    context_.SetCpuAreas(this->world_->cpu_areas_begin(), this->world_->cpu_areas_end());
    context_.SetPageArray(this->world_->pages_begin(), this->world_->pages_end());
  }

  TraceContext* trace() override { return &context_; }

  ExecResult Execute(absl::Span<OperationStream* const> streams) override {
    ExecResult result;
    result.cpus.resize(streams.size());
    std::vector<Turn> turns(streams.size());
    std::vector<CpuId> runnable;
    for (size_t i = 0; i < streams.size(); ++i) {
      if (streams[i]->Next(&turns[i].op)) runnable.push_back(static_cast<CpuId>(i));
    }
    Driver<T> driver(*this->world_);
    while (!runnable.empty() && !this->Stopped()) {
      const size_t pick = random_.Below(runnable.size());
      const CpuId cpu = runnable[pick];
      Turn& turn = turns[static_cast<size_t>(cpu)];
      if (TakeTurn(driver, cpu, turn, result.cpus[static_cast<size_t>(cpu)])) {
        turn.done = 0;
        if (!streams[static_cast<size_t>(cpu)]->Next(&turn.op)) {
          runnable.erase(runnable.begin() + static_cast<std::ptrdiff_t>(pick));
        }
      }
      RunDeferred();
    }
    result.interrupted = this->Stopped();
    return result;
  }

 private:
  struct Turn {
    Operation op;
    int64_t done = 0;
  };

  bool TakeTurn(Driver<T>& driver, CpuId cpu, Turn& turn, CpuResult& result) {
    const native::Binding binding(this->world_->area(cpu));
    driver.SwitchTo(turn.op);
    tracing::context = &context_;
    context_.BeginOperation(driver.PartOf(turn.op));
    const bool complete = driver.Step(turn.op, &turn.done, result);
    context_.EndOperation();
    tracing::context = nullptr;
    return complete;
  }

  // Between operations: deferred work of every CPU, on that CPU.
  void RunDeferred() {
    Mailboxes& mailboxes = this->world_->mailboxes();
    for (CpuId cpu = 0; cpu < mailboxes.cpus(); ++cpu) {
      if (!mailboxes.HasWork(cpu)) continue;
      const native::Binding binding(this->world_->area(cpu));
      tracing::context = &context_;
      mailboxes.RunDue(cpu, context_.NowNs());
      tracing::context = nullptr;
    }
  }

  TraceContext context_;
  Random random_;
};

}  // namespace memsim

#endif  // MEMSIM_SESSION_TRACING_SESSION_H_
