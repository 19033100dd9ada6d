#include "lib/workload/streams.h"

#include <algorithm>
#include <utility>

#include "memsim/workload/random.h"

namespace memsim {

namespace {

class Sweep final : public OperationStream {
 public:
  explicit Sweep(SweepSpec spec) : spec_(spec) {}

  bool Next(Operation* op) override {
    op->mm = spec_.mm;
    op->vpn = 0;
    if (mapped_.n != 0) {
      op->kind = OpKind::kUnmap;
      op->phase = spec_.uncharge_in_rate ? Phase::kCharge : Phase::kUncharge;
      op->pages = std::exchange(mapped_, Pages(0));
      return true;
    }
    const Pages left = spec_.faults - asked_;
    if (left.n <= 0) return false;
    mapped_ = std::min(left, spec_.slice);
    asked_ = asked_ + mapped_;
    op->kind = OpKind::kFault;
    op->phase = Phase::kCharge;
    op->pages = mapped_;
    return true;
  }
  void Reset() override { asked_ = mapped_ = Pages(0); }

 private:
  SweepSpec spec_;
  Pages asked_{0};
  Pages mapped_{0};
};

class Churn final : public OperationStream {
 public:
  explicit Churn(ChurnSpec spec) : spec_(std::move(spec)), random_(spec_.seed) {}

  bool Next(Operation* op) override {
    op->phase = Phase::kCharge;
    if (asked_ >= spec_.faults) {
      if (exited_ == spec_.mms) return false;
      op->kind = OpKind::kExit;
      op->mm = spec_.first_mm + exited_++;
      return true;
    }
    op->mm = spec_.first_mm + Below(spec_.mms);
    op->pages = Pages(1 + Below(spec_.burst.n));
    op->vpn = static_cast<uint64_t>(Below(spec_.region.n - op->pages.n + 1));
    // Mix, in percent: faults 60, unmaps 30, moves 8, exits 2. Assumed: about half an address space
    // stays mapped.
    const int dice = Below(100);
    if (dice < 60) {
      op->kind = OpKind::kFault;
      op->pages = std::min(op->pages, spec_.faults - asked_);
      asked_ = asked_ + op->pages;
    } else if (dice < 90) {
      op->kind = OpKind::kUnmap;
    } else if (dice < 98) {
      op->kind = OpKind::kMove;
      op->memcg = spec_.groups[static_cast<size_t>(Below(static_cast<int64_t>(spec_.groups.size())))];
    } else {
      op->kind = OpKind::kExit;
    }
    return true;
  }
  void Reset() override {
    random_ = Random(spec_.seed);
    asked_ = Pages(0);
    exited_ = 0;
  }

 private:
  int Below(int64_t n) { return static_cast<int>(random_.Below(static_cast<uint64_t>(n))); }

  ChurnSpec spec_;
  Random random_;
  Pages asked_{0};
  int exited_ = 0;
};

}  // namespace

std::unique_ptr<OperationStream> MakeSweep(SweepSpec spec) { return std::make_unique<Sweep>(spec); }

std::unique_ptr<OperationStream> MakeChurn(ChurnSpec spec) {
  return std::make_unique<Churn>(std::move(spec));
}

}  // namespace memsim
