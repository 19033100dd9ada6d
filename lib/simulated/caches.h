// The caches of a simulated machine, as tags only: which line is there, and may it be written?
//
// Shape     a set is an array of tags, most recently used first, so that a hit near the front is cheap and
//           a replacement is a shift. A tag is (line + 1) << 1 | writable; 0 is a way that never hits
// Dead ways a line that another CPU takes away dies in place and ages like a live one: what is replaced
//           next must not depend on when the other CPU's action became known, or running ahead would not
//           equal the strict order
// Page clear zeroing a page passes 64 lines through every level. Nobody reads them again here, so they are
//           counted per set and turned into dead ways when the set is next looked at
// Assumed   true LRU; a core's threads that run own an equal share of its ways; L3 is neither inclusive nor
//           exclusive: it keeps what passed through it
#ifndef MEMSIM_LIB_SIMULATED_CACHES_H_
#define MEMSIM_LIB_SIMULATED_CACHES_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "memsim/machine/machine_model.h"
#include "memsim/units.h"

namespace memsim {

class TagArray {
 public:
  static constexpr uint32_t KeyOf(uint32_t line) { return (line + 1) << 1; }

  TagArray(uint64_t bytes, int ways, int sharers)
      : ways_(static_cast<uint32_t>(std::max(ways / sharers, 1))),
        stride_(std::bit_ceil(ways_)),
        sets_(static_cast<uint32_t>(bytes / static_cast<uint64_t>(kCacheLine * ways))) {
    if (bytes == 0) sets_ = 0;
    tags_.resize(static_cast<size_t>(sets_) * stride_);
    pending_.resize(sets_);
  }

  bool exists() const { return sets_ != 0; }

  // 0: not there; 1: there; 2: there and writable. What is found, and writable if so wanted, becomes the most
  // recently used. Tags found to be pushed out are given to `evicted`.
  template <class Evicted>
  int Find(uint32_t line, bool want_writable, Evicted evicted) {
    uint32_t* set = SetOf(line, evicted);
    const uint32_t key = KeyOf(line);
    if ((set[0] & ~1u) == key) return 1 + static_cast<int>(set[0] & 1);
    for (uint32_t way = 1; way < ways_; ++way) {
      const uint32_t tag = set[way];
      if ((tag & ~1u) != key) continue;
      if (want_writable && (tag & 1) == 0) return 1;
      std::memmove(set + 1, set, way * sizeof(uint32_t));
      set[0] = tag;
      return 1 + static_cast<int>(tag & 1);
    }
    return 0;
  }

  // Is the line there, as of the owner's last fill? Changes nothing.
  bool Contains(uint32_t line) const {
    if (sets_ == 0) return false;
    const uint32_t index = line & (sets_ - 1);
    const uint32_t* set = &tags_[static_cast<size_t>(index) * stride_];
    const uint32_t live = ways_ - std::min<uint32_t>(pending_[index], ways_);
    for (uint32_t way = 0; way < live; ++way) {
      if ((set[way] & ~1u) == KeyOf(line)) return true;
    }
    return false;
  }

  // Puts a line that is not there into the most recent way.
  template <class Evicted>
  void Insert(uint32_t line, bool writable, Evicted evicted) {
    uint32_t* set = SetOf(line, evicted);
    const uint32_t last = set[ways_ - 1];
    std::memmove(set + 1, set, (ways_ - 1) * sizeof(uint32_t));
    set[0] = KeyOf(line) | (writable ? 1 : 0);
    if (last != 0) evicted((last >> 1) - 1);
  }

  void Kill(uint32_t line) {
    if (uint32_t* tag = Peek(line); tag != nullptr) *tag = 0;
  }
  void SetWritable(uint32_t line, bool writable) {
    if (uint32_t* tag = Peek(line); tag != nullptr) *tag = (*tag & ~1u) | (writable ? 1 : 0);
  }

  // That many bytes pass through, in every set the same whole number of lines.
  void FillSets(uint64_t bytes) {
    if (sets_ == 0) return;
    const uint64_t each = bytes / (uint64_t{sets_} * kCacheLine);
    if (each == 0) return;
    for (uint8_t& pending : pending_) pending = static_cast<uint8_t>(std::min<uint64_t>(pending + each, 255));
  }

  // 64 consecutive lines, from a multiple of 64 on, pass through.
  void FillPage(uint64_t page) {
    if (sets_ == 0) return;
    constexpr uint32_t kLines = kPageSize / kCacheLine;
    const uint32_t first = static_cast<uint32_t>(page * kLines) & (sets_ - 1);
    const uint32_t sets = std::min(sets_, kLines);
    const uint32_t each = kLines / sets;
    for (uint32_t set = first; set < first + sets; ++set) {
      pending_[set] = static_cast<uint8_t>(std::min<uint32_t>(pending_[set] + each, 255));
    }
  }

 private:
  template <class Evicted>
  uint32_t* SetOf(uint32_t line, Evicted evicted) {
    const uint32_t index = line & (sets_ - 1);
    uint32_t* set = &tags_[static_cast<size_t>(index) * stride_];
    if (pending_[index] != 0) [[unlikely]] {
      const uint32_t dead = std::min<uint32_t>(pending_[index], ways_);
      for (uint32_t way = ways_ - dead; way < ways_; ++way) {
        if (set[way] != 0) evicted((set[way] >> 1) - 1);
      }
      std::memmove(set + dead, set, (ways_ - dead) * sizeof(uint32_t));
      std::memset(set, 0, dead * sizeof(uint32_t));
      pending_[index] = 0;
    }
    return set;
  }
  // A line that a cleared page pushed out is not found, whether or not the set has been looked at since.
  uint32_t* Peek(uint32_t line) {
    if (sets_ == 0) return nullptr;
    const uint32_t index = line & (sets_ - 1);
    uint32_t* set = &tags_[static_cast<size_t>(index) * stride_];
    const uint32_t live = ways_ - std::min<uint32_t>(pending_[index], ways_);
    for (uint32_t way = 0; way < live; ++way) {
      if ((set[way] & ~1u) == KeyOf(line)) return &set[way];
    }
    return nullptr;
  }

  uint32_t ways_, stride_, sets_;
  std::vector<uint32_t> tags_;
  std::vector<uint8_t> pending_;  // lines of cleared pages not yet in the set
};

// L1 and L2 of one CPU, or its share of them.
class PrivateCache {
 public:
  PrivateCache(const MachineModel& machine, int sharers)
      : l1_(machine.l1.bytes, machine.l1.ways, sharers),
        l2_(machine.l2.bytes, machine.l2.ways, sharers) {}

  struct Hit {
    int level = 0;  // 1, 2; 0: not in the core
    bool writable = false;
  };
  // Brings a hit in L2 into L1. With `want_writable`, a line that may not be written is found, but nothing
  // moves: the CPU has to wait for its turn, and others may take the line until then.
  Hit Find(uint32_t line, bool want_writable = false) {
    if (!l1_.exists()) return {};
    if (const int found = l1_.Find(line, want_writable, kForget); found != 0) return {1, found == 2};
    if (!l2_.exists()) return {};
    const int found =
        l2_.Find(line, want_writable, [this](uint32_t old) { evicted_.push_back(old); });
    if (found == 0) return {};
    if (found == 2 || !want_writable) l1_.Insert(line, found == 2, kForget);
    return {2, found == 2};
  }
  // Would another CPU find the line here? The outer level decides: an L1 fills without asking anybody.
  bool Holds(uint32_t line) const { return l2_.exists() ? l2_.Contains(line) : l1_.Contains(line); }
  // A line that Find() did not find.
  void Fill(uint32_t line, bool writable) {
    if (l1_.exists()) l1_.Insert(line, writable, kForget);
    FillL2(line, writable);
  }
  void FillL2(uint32_t line, bool writable) {
    if (l2_.exists()) {
      l2_.Insert(line, writable, [this](uint32_t old) { evicted_.push_back(old); });
    }
  }
  // A line that Find() found may be written from now on.
  void Upgrade(uint32_t line) {
    SetWritable(line, true);
    if (!l2_.Contains(line)) FillL2(line, true);
  }
  void Kill(uint32_t line) {
    l1_.Kill(line);
    l2_.Kill(line);
  }
  void SetWritable(uint32_t line, bool writable) {
    l1_.SetWritable(line, writable);
    l2_.SetWritable(line, writable);
  }
  void FillPage(uint64_t page) {
    l1_.FillPage(page);
    l2_.FillPage(page);
  }
  // Data of code that is no step comes from L2, over and over.
  void FillL1(uint64_t bytes) { l1_.FillSets(bytes); }
  // Lines that fills pushed out of L2, for the L3 behind it.
  std::vector<uint32_t>& evicted() { return evicted_; }

 private:
  // L2 does not learn what L1 drops: it has the line, or dropped it before.
  static constexpr auto kForget = [](uint32_t) {};

  TagArray l1_, l2_;
  std::vector<uint32_t> evicted_;
};

// The cache of a socket.
class SharedCache {
 public:
  explicit SharedCache(const MachineModel& machine)
      : tags_(machine.l3.bytes, machine.l3.ways, 1) {}
  bool Find(uint32_t line) { return tags_.exists() && tags_.Find(line, false, kForget) != 0; }
  void Touch(uint32_t line) {
    if (tags_.exists() && tags_.Find(line, false, kForget) == 0) tags_.Insert(line, false, kForget);
  }
  void FillPage(uint64_t page) { tags_.FillPage(page); }

 private:
  static constexpr auto kForget = [](uint32_t) {};
  TagArray tags_;
};

}  // namespace memsim

#endif  // MEMSIM_LIB_SIMULATED_CACHES_H_
