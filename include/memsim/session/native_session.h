// A session on the native machine: one pinned thread per modelled CPU.
//
// What does not depend on gate and knobs is compiled once per kernel (NativeSessionBase); the hot loop is
// compiled for each (NativeSession). The edge between them is one virtual call for a run of faults.
#ifndef MEMSIM_SESSION_NATIVE_SESSION_H_
#define MEMSIM_SESSION_NATIVE_SESSION_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "memsim/session/driver.h"
#include "memsim/session/session_base.h"
#include "memsim/session/threads.h"

namespace memsim {

// T is a DataBundle.
template <class T>
class NativeSessionBase : public SessionBase<T> {
 public:
  NativeSessionBase(const SessionConfig& config, typename World<T>::ImageMaker maker, RestObjects rest)
      : SessionBase<T>(config, maker), rest_(std::move(rest)), keys_(config.enabled, MemcgKeys()) {}
  MEMSIM_COLD ~NativeSessionBase() override = default;  // not once more in each NativeSession

  ExecResult Execute(absl::Span<OperationStream* const> streams) override {
    ExecResult result;
    result.cpus.resize(streams.size());
    std::optional<StaticKeySwitch::Turn> turn;
    if (patched()) result.status = turn.emplace(keys_).status();
    if (!result.status.ok()) return result;
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

  void Drain() override {
    std::optional<StaticKeySwitch::Turn> turn;
    // With keys that say something else, pages would leave the wrong lists: rather nothing at all.
    if (patched() && !turn.emplace(keys_).status().ok()) return;
    SessionBase<T>::Drain();
  }

  absl::Status SetEnabled(bool on) override {
    const absl::Status status = patched() ? keys_.Set(on) : absl::OkStatus();
    return status.ok() ? SessionBase<T>::SetEnabled(on) : status;
  }

 protected:
  // Prepares for an operation, and does some of it: true when it is complete.
  virtual void Begin(const Operation& op) = 0;
  virtual bool Advance(const Operation& op, int64_t* done, CpuResult& result) = 0;

  // Hands each CPU its rest of the fault; the areas are new in a new world.
  void ConnectRest() {
    for (CpuId cpu = 0; cpu < this->config_.plan.cpus; ++cpu) {
      this->world_->image().AreaOf(cpu).head.rest = rest_[static_cast<size_t>(cpu)].get();
    }
  }

 private:
  void RunCpu(CpuId cpu, OperationStream& stream, CpuResult& result) {
    Mailboxes& mailboxes = this->world_->mailboxes();
    Operation op;
    Phase phase = Phase::kUntimed;
    uint64_t since = 0;
    while (stream.Next(&op)) {
      if (op.phase != phase) {
        since = SwitchPhase(phase, op.phase, since, result);
        phase = op.phase;
      }
      Begin(op);
      for (int64_t done = 0;;) {
        if (mailboxes.HasWork(cpu)) mailboxes.RunDue(cpu, native::NowNs());
        if (this->Stopped() || Advance(op, &done, result)) break;
      }
      if (this->Stopped()) break;
    }
    SwitchPhase(phase, Phase::kUntimed, since, result);
  }

  static uint64_t SwitchPhase(Phase from, Phase to, uint64_t since, CpuResult& result) {
    if (from != Phase::kUntimed) {
      result.phase[static_cast<size_t>(from)].ns += native::ThreadCpuNs() - since;
    }
    if (to == Phase::kUntimed) return 0;
    if (to == Phase::kCharge && native::Head().rest != nullptr) native::Head().rest->Recycle();
    return native::ThreadCpuNs();
  }

  // Are keys of the process part of this session's gate?
  bool patched() const { return this->config_.gate == GateKind::kStaticKey && this->config_.config.memcg; }

  RestObjects rest_;
  StaticKeySwitch keys_;
};

template <class T>
class NativeSession final : public BundleSession<T, NativeSessionBase<typename T::Data>> {
 public:
  NativeSession(const SessionConfig& config, RestObjects rest)
      : BundleSession<T, NativeSessionBase<typename T::Data>>(config, std::move(rest)) {
    this->ConnectRest();
  }

 private:
  void Begin(const Operation& op) override { Driver<T>(*this->world_).SwitchTo(op); }
  bool Advance(const Operation& op, int64_t* done, CpuResult& result) override {
    Driver<T> driver(*this->world_);
    if (op.kind != OpKind::kFault) return driver.Step(op, done, result);
    return FaultChunk(driver, op, done, result);
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
};

}  // namespace memsim

#endif  // MEMSIM_SESSION_NATIVE_SESSION_H_
