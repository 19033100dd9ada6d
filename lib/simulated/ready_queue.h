// The simulated CPUs that could go on, the earliest first: a binary heap of (clock, CPU). Equal clocks are
// broken by a seeded hash, so that no CPU is first by its number.
#ifndef MEMSIM_LIB_SIMULATED_READY_QUEUE_H_
#define MEMSIM_LIB_SIMULATED_READY_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memsim/units.h"

namespace memsim {

inline uint64_t SimHash(uint64_t x) {  // the finaliser of splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The order of simulated events.
class SimOrder {
 public:
  explicit SimOrder(uint64_t seed) : seed_(seed) {}
  bool Earlier(uint64_t clock_a, CpuId a, uint64_t clock_b, CpuId b) const {
    if (clock_a != clock_b) [[likely]] return clock_a < clock_b;
    const uint64_t tie_a = Tie(clock_a, a);
    const uint64_t tie_b = Tie(clock_b, b);
    return tie_a != tie_b ? tie_a < tie_b : a < b;
  }

 private:
  uint64_t Tie(uint64_t clock, CpuId cpu) const {
    return SimHash(seed_ ^ SimHash(clock * 1024 + static_cast<uint64_t>(cpu)));
  }
  uint64_t seed_;
};

class ReadyQueue {
 public:
  struct Item {
    uint64_t clock;
    CpuId cpu;
  };

  explicit ReadyQueue(const SimOrder* order) : order_(order) {}

  bool empty() const { return heap_.empty(); }
  const Item& first() const { return heap_.front(); }

  void Push(uint64_t clock, CpuId cpu) {
    size_t at = heap_.size();
    heap_.push_back({clock, cpu});
    while (at > 0) {
      const size_t parent = (at - 1) / 2;
      if (!Before({clock, cpu}, heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = {clock, cpu};
  }

  Item Pop() {
    const Item first = heap_.front();
    const Item last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) SiftDown(last);
    return first;
  }

  // Pop() and Push() in one.
  Item Exchange(uint64_t clock, CpuId cpu) {
    const Item first = heap_.front();
    SiftDown({clock, cpu});
    return first;
  }

 private:
  bool Before(const Item& a, const Item& b) const {
    return order_->Earlier(a.clock, a.cpu, b.clock, b.cpu);
  }
  void SiftDown(Item item) {
    size_t at = 0;
    for (;;) {
      size_t child = 2 * at + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && Before(heap_[child + 1], heap_[child])) ++child;
      if (!Before(heap_[child], item)) break;
      heap_[at] = heap_[child];
      at = child;
    }
    heap_[at] = item;
  }

  const SimOrder* order_;
  std::vector<Item> heap_;
};

}  // namespace memsim

#endif  // MEMSIM_LIB_SIMULATED_READY_QUEUE_H_
