// A session on the native machine: one pinned thread per modelled CPU.
#ifndef MEMSIM_SESSION_NATIVE_SESSION_H_
#define MEMSIM_SESSION_NATIVE_SESSION_H_

#include <memory>
#include <utility>
#include <vector>

#include "memsim/session/driver.h"
#include "memsim/session/session_base.h"
#include "memsim/session/threads.h"

namespace memsim {

template <class T>
class NativeSession final : public BundleSession<T> {
 public:
  using M = typename T::M;

  NativeSession(const SessionConfig& config, std::vector<std::shared_ptr<RestOfFault>> rest)
      : BundleSession<T>(config), rest_(std::move(rest)) {
    for (CpuId cpu = 0; cpu < config.plan.cpus; ++cpu) {
      this->world_->image().AreaOf(cpu).head.rest = rest_[static_cast<size_t>(cpu)].get();
    }
  }

  ExecResult Execute(absl::Span<OperationStream* const> streams) override {
    ExecResult result;
    result.cpus.resize(streams.size());
    RunOnCpus(static_cast<int>(streams.size()), [&](CpuId cpu) {
      this->world_->mailboxes().SetIdle(cpu, false);
      {
        const native::Binding binding(this->world_->area(cpu));
        if (this->config_.observer != nullptr) this->config_.observer->OnCpuStart(cpu);
        RunCpu(cpu, *streams[static_cast<size_t>(cpu)], result.cpus[static_cast<size_t>(cpu)]);
        if (this->config_.observer != nullptr) this->config_.observer->OnCpuEnd(cpu);
        this->world_->mailboxes().RunDue(cpu, UINT64_MAX);
      }
      this->world_->mailboxes().SetIdle(cpu, true);
    });
    result.interrupted = this->Stopped();
    return result;
  }

 private:
  void RunCpu(CpuId cpu, OperationStream& stream, CpuResult& result) {
    Driver<T> driver(*this->world_);
    Mailboxes& mailboxes = this->world_->mailboxes();
    Operation op;
    Phase phase = Phase::kUntimed;
    uint64_t since = 0;
    while (stream.Next(&op)) {
      if (op.phase != phase) {
        since = SwitchPhase(phase, op.phase, since, result);
        phase = op.phase;
      }
      driver.SwitchTo(op);
      for (int64_t done = 0;;) {
        if (mailboxes.HasWork(cpu)) mailboxes.RunDue(cpu, native::NowNs());
        if (this->Stopped()) break;
        bool complete = false;
        if (op.kind == OpKind::kFault) {
          complete = FaultChunk(driver, op, &done, result);
        } else {
          complete = driver.Step(op, &done, result);
        }
        if (complete) break;
      }
      if (this->Stopped()) break;
    }
    SwitchPhase(phase, Phase::kUntimed, since, result);
  }

  // The hot loop: a run of faults without looking left or right.
  static bool FaultChunk(Driver<T>& driver, const Operation& op, int64_t* done, CpuResult& result) {
    CpuResult::PerPhase& phase = result.phase[static_cast<size_t>(op.phase)];
    const int64_t end = *done + kPollPages < op.pages.n ? *done + kPollPages : op.pages.n;
    for (; *done < end; ++*done) {
      driver.Fault(op.mm, op.vpn + static_cast<uint64_t>(*done), phase, result);
    }
    return *done >= op.pages.n;
  }

  uint64_t SwitchPhase(Phase from, Phase to, uint64_t since, CpuResult& result) {
    if (from != Phase::kUntimed) {
      result.phase[static_cast<size_t>(from)].ns += native::ThreadCpuNs() - since;
    }
    if (to == Phase::kUntimed) return 0;
    if (to == Phase::kCharge && native::Head().rest != nullptr) native::Head().rest->Recycle();
    return native::ThreadCpuNs();
  }

  std::vector<std::shared_ptr<RestOfFault>> rest_;
};

}  // namespace memsim

#endif  // MEMSIM_SESSION_NATIVE_SESSION_H_
