// What happens to each cache line: misses, transfers and waits, by word. Lines of the page array are taken
// together: there are too many of them, and they are all alike.
#ifndef MEMSIM_LIB_SIMULATED_LINE_STATS_H_
#define MEMSIM_LIB_SIMULATED_LINE_STATS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "memsim/machine/sim_result.h"
#include "memsim/units.h"

namespace memsim {

class LineStats {
 public:
  LineStats(uint64_t arena_bytes, uint64_t pages_begin, uint64_t pages_end, bool detail)
      : pages_first_(static_cast<uint32_t>(pages_begin / kCacheLine)),
        pages_(static_cast<uint32_t>((pages_end - pages_begin) / kCacheLine)),
        detail_(detail) {
    const uint64_t lines = arena_bytes / kCacheLine + 1;
    slots_.resize(pages_ == 0 ? lines : lines - pages_ + 1);
    if (detail) last_writes_.resize(lines);
  }

  bool detail() const { return detail_; }

  // An access that left the core and took `cost`.
  void Miss(uint64_t offset, bool transfer, uint64_t cost) {
    LineReport& stat = StatOf(offset);
    stat.cost += cost;
    ++stat.misses;
    stat.transfers += transfer;
    LineReport::Word& word = stat.words[WordOf(offset)];
    ++word.misses;
    word.cost += cost;
  }
  void LockWait(uint64_t offset, uint64_t ps) {
    LineReport& stat = StatOf(offset);
    stat.cost += ps;
    stat.lock_wait += ps;
    ++stat.lock_waits;
  }
  // Detail: every access; `transfer` when it had to fetch the line from another CPU.
  void Access(uint64_t offset, bool read, bool write, bool transfer, CpuId cpu) {
    LineReport& stat = StatOf(offset);
    const size_t at = WordOf(offset);
    LineReport::Word& word = stat.words[at];
    word.reads += read;
    word.writes += write;
    LastWrite& last = last_writes_[offset / kCacheLine];
    if (transfer && last.cpu >= 0 && last.cpu != cpu) {
      AddPair(stat, static_cast<uint8_t>(at), last.word);
    }
    if (write) last = {static_cast<int16_t>(cpu), static_cast<uint8_t>(at)};
  }

  // The lines with traffic, most expensive first; with detail also those with accesses alone.
  std::vector<LineReport> Report() const;

 private:
  // By line, also where lines are reported together: in one line writes come in order, in two they may not.
  struct LastWrite {
    int16_t cpu = -1;
    uint8_t word = 0;
  };

  static size_t WordOf(uint64_t offset) { return offset % kCacheLine / 8; }
  static void AddPair(LineReport& report, uint8_t waiter, uint8_t writer);

  LineReport& StatOf(uint64_t offset) {
    const uint32_t line = static_cast<uint32_t>(offset / kCacheLine);
    uint32_t slot = line;
    const bool page = line - pages_first_ < pages_;
    if (page) slot = pages_first_;
    else if (line > pages_first_ && pages_ != 0) slot = line - pages_ + 1;
    std::unique_ptr<LineReport>& stat = slots_[slot];
    if (stat == nullptr) [[unlikely]] {
      stat = std::make_unique<LineReport>();
      stat->offset = uint64_t{page ? pages_first_ : line} * kCacheLine;
      stat->array = page;
    }
    return *stat;
  }

  uint32_t pages_first_, pages_;
  bool detail_;
  std::vector<std::unique_ptr<LineReport>> slots_;
  std::vector<LastWrite> last_writes_;  // with detail
};

}  // namespace memsim

#endif  // MEMSIM_LIB_SIMULATED_LINE_STATS_H_
