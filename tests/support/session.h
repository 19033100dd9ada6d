// Driving sessions from tests: one stream from a list, one plan, one way to open.
#ifndef MEMSIM_TESTS_SUPPORT_SESSION_H_
#define MEMSIM_TESTS_SUPPORT_SESSION_H_

#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/session.h"

namespace memsim::support {

using Operations = std::vector<Operation>;

// The operations of one CPU, from a list.
class VectorStream final : public OperationStream {
 public:
  explicit VectorStream(Operations operations) : operations_(std::move(operations)) {}
  bool Next(Operation* op) override {
    if (next_ == operations_.size()) return false;
    *op = operations_[next_++];
    return true;
  }
  void Reset() override { next_ = 0; }

 private:
  Operations operations_;
  size_t next_ = 0;
};

inline Operation Fault(uint64_t vpn, int64_t pages, int mm = 0) {
  return {.kind = OpKind::kFault, .mm = mm, .vpn = vpn, .pages = Pages(pages)};
}
inline Operation Unmap(uint64_t vpn, int64_t pages, int mm = 0) {
  return {.kind = OpKind::kUnmap,
          .phase = Phase::kUncharge,
          .mm = mm,
          .vpn = vpn,
          .pages = Pages(pages)};
}

// A root with a chain of `depth` memcgs below it; one address space, owned by the last of them.
inline WorldPlan ChainPlan(int depth, Pages size = Pages(1024)) {
  WorldPlan plan;
  plan.memory = size + Pages(1024);
  plan.memcgs.emplace_back().name = "root";
  for (int level = 1; level <= depth; ++level) {
    MemcgSpec& memcg = plan.memcgs.emplace_back();
    memcg.name = absl::StrCat("level", level);
    memcg.parent = level - 1;
  }
  plan.mms.push_back({.memcg = depth, .size = size});
  return plan;
}

// The kernel as it is: its own gate and build configuration.
inline SessionConfig ConfigOf(const Kernel& kernel, WorldPlan plan) {
  SessionConfig config;
  config.plan = std::move(plan);
  config.gate = kernel.default_gate;
  config.config = kernel.build;
  return config;
}

inline const Kernel& KernelNamed(absl::string_view name) {
  const absl::StatusOr<const Kernel*> kernel = FindKernel(name);
  MEMSIM_CHECK(kernel.ok(), "a test names a kernel of the list");
  return **kernel;
}

inline std::unique_ptr<Session> Open(const Kernel& kernel, MachineKind machine,
                                     const SessionConfig& config) {
  auto session = kernel.Open(machine, config);
  if (!session.ok()) {
    ADD_FAILURE() << session.status();
    std::abort();
  }
  return *std::move(session);
}

// Executes one list of operations per CPU.
inline ExecResult Execute(Session& session, const std::vector<Operations>& per_cpu) {
  std::vector<std::unique_ptr<VectorStream>> streams;
  std::vector<OperationStream*> pointers;
  for (const Operations& operations : per_cpu) {
    streams.push_back(std::make_unique<VectorStream>(operations));
    pointers.push_back(streams.back().get());
  }
  return session.Execute(pointers);
}
inline ExecResult Execute(Session& session, const Operations& operations) {
  return Execute(session, std::vector<Operations>{operations});
}

// What tracing counts while one CPU executes `operations`.
inline TraceCounts CountsOf(Session& session, const Operations& operations) {
  session.trace()->ResetCounts();
  Execute(session, operations);
  return session.trace()->counts();
}

// Every step of `operations`, recorded.
inline std::vector<TraceEvent> EventsOf(Session& session, const std::vector<Operations>& per_cpu) {
  std::vector<TraceEvent> events;
  session.trace()->Record(&events);
  Execute(session, per_cpu);
  session.trace()->Record(nullptr);
  return events;
}
inline std::vector<TraceEvent> EventsOf(Session& session, const Operations& operations) {
  return EventsOf(session, std::vector<Operations>{operations});
}

// A name that GoogleTest accepts.
inline std::string TestName(absl::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

}  // namespace memsim::support

#endif  // MEMSIM_TESTS_SUPPORT_SESSION_H_
