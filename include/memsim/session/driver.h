// The driver: turns operations into calls of the kernel image, on whatever machine.
#ifndef MEMSIM_SESSION_DRIVER_H_
#define MEMSIM_SESSION_DRIVER_H_

#include <cstdint>

#include "memsim/internal/check.h"
#include "memsim/memcg/world.h"
#include "memsim/session.h"

namespace memsim {

// Pages between two looks at the mailbox and the stop flag.
inline constexpr int64_t kPollPages = 32;

template <class T>
class Driver {
 public:
  using M = typename T::M;

  using World = memsim::World<typename T::Data>;

  explicit Driver(World& world) : world_(world), image_(static_cast<Image<T>&>(world.image())) {}

  // Context switch of the current CPU to its thread of the operation's mm.
  void SwitchTo(const Operation& op) {
    MEMSIM_CHECK(First(op) + static_cast<uint64_t>(PagesOf(op)) <= static_cast<uint64_t>(SizeOf(op)),
                 "an operation stays inside its address space");
    CpuStats<M>& stats = image_.Stats();
    TaskStruct<M>* task = world_.task(op.mm, M::cpu());
    stats.current_task.store(task);
  }

  void Fault(int mm, uint64_t vpn, CpuResult::PerPhase& phase, CpuResult& result) {
    switch (image_.handle_mm_fault(world_.mm(mm), vpn)) {
      case FaultResult::kMapped: ++phase.pages; break;
      case FaultResult::kAlreadyMapped: ++result.already_mapped; break;
      case FaultResult::kOom: ++result.oom; break;
      case FaultResult::kNoMemory: ++result.no_memory; break;
    }
  }

  // A step is the smallest piece of an operation: one fault, one gather batch, one move. Executes the
  // step at `*done` pages into `op`; true when the operation is complete.
  bool Step(const Operation& op, int64_t* done, CpuResult& result) {
    CpuResult::PerPhase& phase = result.phase[static_cast<size_t>(op.phase)];
    switch (op.kind) {
      case OpKind::kFault:
        Fault(op.mm, op.vpn + static_cast<uint64_t>(*done), phase, result);
        return ++*done >= op.pages.n;
      case OpKind::kMove:
        world_.Move(op.mm, op.memcg);
        return true;
      case OpKind::kUnmap:
      case OpKind::kExit: {
        const int64_t all = PagesOf(op);
        const int64_t n = all - *done < kGatherBatch ? all - *done : kGatherBatch;
        phase.pages +=
            image_.zap_pte_range(world_.mm(op.mm), First(op) + static_cast<uint64_t>(*done), Pages(n)).n;
        *done += n;
        return *done >= all;
      }
    }
    return true;
  }

  Part PartOf(const Operation& op) const {
    return op.kind == OpKind::kUnmap || op.kind == OpKind::kExit ? Part::kFree : Part::kCharge;
  }

 private:
  int64_t PagesOf(const Operation& op) const {
    return op.kind == OpKind::kExit ? SizeOf(op) : op.pages.n;
  }
  int64_t SizeOf(const Operation& op) const {
    return world_.plan().mms[static_cast<size_t>(op.mm)].size.n;
  }
  // kExit says nothing of a range: it is everything.
  static uint64_t First(const Operation& op) { return op.kind == OpKind::kExit ? 0 : op.vpn; }

  World& world_;
  Image<T>& image_;
};

}  // namespace memsim

#endif  // MEMSIM_SESSION_DRIVER_H_
