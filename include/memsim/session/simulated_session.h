// A session on the simulated machine: rehearse until no access is out of order, then report.
#ifndef MEMSIM_SESSION_SIMULATED_SESSION_H_
#define MEMSIM_SESSION_SIMULATED_SESSION_H_

#include <utility>

#include "memsim/session/driver.h"
#include "memsim/session/session_base.h"

namespace memsim {

template <class T>
class SimulatedSession final : public BundleSession<T> {
 public:
  explicit SimulatedSession(const SessionConfig& config) : BundleSession<T>(config) {}

  absl::Status SetEnabled(bool on) override {
    if (simulated::engine != nullptr && this->config_.gate == GateKind::kStaticKey) simulated::TurnKey();
    return BundleSession<T>::SetEnabled(on);
  }

  ExecResult Execute(absl::Span<OperationStream* const> streams) override {
    OrderedSet ordered;
    uint64_t all_accesses = 0;
    // A run in which the switch moves ends with another setting than the one it is repeated from.
    const bool enabled = this->enabled();
    for (int run = 1;; ++run) {
      const bool strict = this->config_.strict || run > kRehearsals;
      this->Build(enabled);
      for (OperationStream* stream : streams) stream->Reset();
      ExecResult result;
      SimRun sim = RunOnce(strict, ordered, streams, &result);
      all_accesses += sim.result.accesses();
      if (sim.violations.empty() || result.interrupted) {
        sim.result.runs = run;
        sim.result.all_accesses = all_accesses;
        result.sim = std::make_shared<const SimResult>(std::move(sim.result));
        return result;
      }
      ordered.insert(sim.violations.begin(), sim.violations.end());
    }
  }

 private:
  static constexpr int kRehearsals = 64;  // then the strict order

  SimRun RunOnce(bool strict, const OrderedSet& ordered, absl::Span<OperationStream* const> streams,
                 ExecResult* result) {
    result->cpus.resize(streams.size());
    World<typename T::Data>& world = *this->world_;
    SimSpec spec;
    spec.machine = this->config_.machine.get();
    spec.cpus = this->config_.plan.cpus;
    spec.seed = this->config_.seed;
    spec.strict = strict;
    spec.rest = this->config_.rest;
    spec.options = this->config_.sim;
    spec.config = this->config_.config;
    spec.arena = &world.arena();
    spec.area0 = world.area(0);
    spec.area_stride = world.image().area_stride;
    spec.pages_begin = world.pages_begin();
    spec.pages_end = world.pages_end();
    spec.mailboxes = &world.mailboxes();
    spec.program = [&](CpuId cpu) {
      RunStream(*streams[static_cast<size_t>(cpu)], result->cpus[static_cast<size_t>(cpu)]);
    };
    if (this->config_.sim.interrupts_charge) {
      spec.interrupt = [this](CpuId) { this->image().ChargeFromInterrupt(); };
    }
    SimRun sim = RunSimulation(spec, ordered);
    for (size_t cpu = 0; cpu < result->cpus.size(); ++cpu) {
      for (size_t p = 0; p < kPhaseCount; ++p) {
        result->cpus[cpu].phase[p].ns = sim.result.cpus[cpu].phase[p].time / 1000;
      }
    }
    result->interrupted = this->Stopped();
    return sim;
  }

  void RunStream(OperationStream& stream, CpuResult& result) {
    Driver<T> driver(*this->world_);
    Operation op;
    while (stream.Next(&op)) {
      bool complete = false;
      for (int64_t done = 0; !complete && !this->Stopped();) {
        simulated::Poll();
        {
          const simulated::OutsideGuard context_switch;
          driver.SwitchTo(op);
        }
        simulated::BeginOperation(driver.PartOf(op), static_cast<size_t>(op.phase),
                                  this->world_->mm(op.mm));
        complete = driver.Step(op, &done, result);
        simulated::EndOperation(static_cast<size_t>(op.phase));
      }
      if (this->Stopped()) break;
    }
  }
};

}  // namespace memsim

#endif  // MEMSIM_SESSION_SIMULATED_SESSION_H_
