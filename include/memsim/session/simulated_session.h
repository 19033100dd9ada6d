// A session on the simulated machine: rehearse until no access is out of order, then report.
#ifndef MEMSIM_SESSION_SIMULATED_SESSION_H_
#define MEMSIM_SESSION_SIMULATED_SESSION_H_

#include "memsim/session/driver.h"
#include "memsim/session/session_base.h"

namespace memsim {

template <class T>
class SimulatedSession final : public BundleSession<T> {
 public:
  explicit SimulatedSession(const SessionConfig& config) : BundleSession<T>(config) {}

  ExecResult Execute(absl::Span<OperationStream* const> streams) override {
    SimContext::OrderedSet ordered;
    // A run in which the switch moves ends with another setting than the one it is repeated from.
    const bool enabled = this->enabled();
    for (int run = 1;; ++run) {
      const bool strict = this->config_.strict || run > kRehearsals;
      this->Build(enabled);
      for (OperationStream* stream : streams) stream->Reset();
      SimContext context({.cpus = this->config_.plan.cpus,
                          .seed = this->config_.seed,
                          .strict = strict,
                          .costs = {}},
                         &this->world_->arena(), this->config_.config, &ordered);
      ExecResult result = RunOnce(context, streams);
      if (context.violations().empty() || strict || result.interrupted) {
        result.sim = context.result();
        result.sim->runs = run;
        return result;
      }
      ordered.insert(context.violations().begin(), context.violations().end());
    }
  }

 private:
  static constexpr int kRehearsals = 64;  // then the strict order

  ExecResult RunOnce(SimContext& context, absl::Span<OperationStream* const> streams) {
    ExecResult result;
    result.cpus.resize(streams.size());
    World<typename T::Data>& world = *this->world_;
    context.Run(world.area(0), world.image().area_stride, &world.mailboxes(), [&](CpuId cpu) {
      Driver<T> driver(world);
      Operation op;
      while (streams[static_cast<size_t>(cpu)]->Next(&op)) {
        bool complete = false;
        for (int64_t done = 0; !complete && !this->Stopped();) {
          context.Poll();
          driver.SwitchTo(op);
          complete = driver.Step(op, &done, result.cpus[static_cast<size_t>(cpu)]);
        }
        if (this->Stopped()) break;
      }
    });
    result.interrupted = this->Stopped();
    return result;
  }
};

}  // namespace memsim

#endif  // MEMSIM_SESSION_SIMULATED_SESSION_H_
