#include "lib/measure/calibrate/memory.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "lib/measure/calibrate/slices.h"
#include "memsim/units.h"
#include "memsim/workload/random.h"

namespace memsim::calibrate {

namespace {

struct alignas(kCacheLine) Link {
  Link* next;
};

constexpr size_t kUnrolled = 8;
constexpr size_t kTrialSteps = 4000;
constexpr double kSliceNs = 300000;

}  // namespace

Chase::Chase(size_t bytes, Laps laps, uint64_t seed)
    : lines_(std::max<size_t>(2, bytes / kCacheLine)), laps_(laps), memory_(lines_ * kCacheLine) {
  if (!ok()) return;
  std::vector<uint32_t> order(lines_);
  for (size_t i = 0; i < lines_; ++i) order[i] = static_cast<uint32_t>(i);
  Random random(seed);
  for (size_t i = lines_ - 1; i > 0; --i) std::swap(order[i], order[random.Below(i + 1)]);
  Link* links = reinterpret_cast<Link*>(memory_.base());
  // In the order of addresses first: every page is there before the random writes.
  for (size_t i = 0; i < lines_; ++i) new (&links[i]) Link{nullptr};
  for (size_t i = 0; i < lines_; ++i) links[order[i]].next = &links[order[(i + 1) % lines_]];
  at_ = &links[order[0]];
}

void* Chase::Walk(size_t steps) const {
  const Link* at = static_cast<Link*>(at_);
  for (size_t i = 0; i < steps; i += kUnrolled) {
    Repeat<kUnrolled>([&]() __attribute__((always_inline)) {
      at = at->next;
      asm volatile("" : "+r"(at));
    });
  }
  return const_cast<Link*>(at);
}

size_t Chase::StepsOfASlice() {
  const auto trial = [&] { at_ = Walk(kTrialSteps); };
  // A hit of an L1 takes a nanosecond, memory a hundred: as many loads as make a slice.
  const double steps = std::clamp(kSliceNs / std::max(0.1, Slice(kTrialSteps, trial)), 4000.0, 400000.0);
  return static_cast<size_t>(steps) / kUnrolled * kUnrolled;
}

double Chase::LoadNs() {
  if (laps_ == Laps::kWarm) at_ = Walk(lines_);
  const size_t steps = StepsOfASlice();
  return SlicesNs(static_cast<double>(steps), [&] { at_ = Walk(steps); });
}

double Chase::SharedHitNs() {
  const auto slice = [&] { at_ = Walk(kTrialSteps); };
  double fastest = std::numeric_limits<double>::infinity();
  for (int s = 0; s < kSlices; ++s) {
    at_ = Walk(lines_);
    fastest = std::min(fastest, Slice(kTrialSteps, slice));
  }
  return fastest;
}

void Clears::Clear(int pages) {
  for (int i = 0; i < pages; ++i) {
    RestOfFault::ZeroPage(memory_ + next_);
    next_ += kPageSize;
    if (next_ + kPageSize > bytes_) next_ = 0;
  }
}

double Clears::PageNs() {
  constexpr int kPages = 4096;
  return SlicesNs(kPages, [&] { Clear(kPages); });
}

FaultNs MeasureFaults(RestOfFault& rest) {
  std::vector<double> faults, unmaps;
  const auto enter = [&] {
    for (int i = 0; i < kFaults; ++i) rest.Enter();
  };
  const auto recycle = [&] { rest.Recycle(); };
  for (int s = 0; s < kSlices; ++s) {
    faults.push_back(Slice(kFaults, enter));
    unmaps.push_back(Slice(kFaults, recycle));
  }
  return {Median(std::move(faults)), Median(std::move(unmaps))};
}

}  // namespace memsim::calibrate
