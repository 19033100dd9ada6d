// Two results of the simulated machine compared completely: everything but how the run was made (number of
// rehearsals, turns, the ordered set).
#ifndef MEMSIM_TESTS_SUPPORT_SIM_RESULT_H_
#define MEMSIM_TESTS_SUPPORT_SIM_RESULT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "memsim/machine/sim_result.h"

namespace memsim::support {

// A word per number of the result, in a fixed order, with a visitor: compared one by one, or hashed.
template <class Visit>
void VisitCounts(const TraceCounts& counts, Visit visit) {
  for (size_t part = 0; part < kPartCount; ++part) {
    for (size_t fn = 0; fn < kFnCount; ++fn) {
      const Counts& c = counts.by_function[part][fn];
      for (const uint64_t n : {c.calls, c.instructions, c.loads, c.stores, c.stack_loads, c.stack_stores,
                               c.rmw, c.percpu_incs, c.gs_insns, c.irq_off, c.locks, c.gates}) {
        visit(n);
      }
    }
    visit(counts.operations[part]);
  }
}

// Differences of two tables of counts, one line per function. Lines are left out: only tracing has them.
inline void ExpectSame(const TraceCounts& want, const TraceCounts& have) {
  EXPECT_EQ(want.operations, have.operations);
  for (size_t part = 0; part < kPartCount; ++part) {
    for (size_t fn = 0; fn < kFnCount; ++fn) {
      if (want.by_function[part][fn] == have.by_function[part][fn]) continue;
      const Counts& w = want.by_function[part][fn];
      const Counts& h = have.by_function[part][fn];
      ADD_FAILURE() << "part " << part << ", " << kFunctions[fn].name << ": calls " << w.calls << " and "
                    << h.calls << ", instructions " << w.instructions << " and " << h.instructions
                    << ", loads " << w.loads << " and " << h.loads << ", stores " << w.stores << " and "
                    << h.stores << ", rmw " << w.rmw << " and " << h.rmw << ", gs " << w.gs_insns << " and "
                    << h.gs_insns << ", irq " << w.irq_off << " and " << h.irq_off << ", locks " << w.locks
                    << " and " << h.locks << ", gates " << w.gates << " and " << h.gates;
    }
  }
}

inline void ExpectSame(const SimCpuTimes& want, const SimCpuTimes& have) {
  EXPECT_EQ(want.clock, have.clock);
  EXPECT_EQ(want.accesses, have.accesses);
  EXPECT_EQ(want.user, have.user);
  EXPECT_EQ(want.idle, have.idle);
  for (size_t p = 0; p < want.phase.size(); ++p) {
    SCOPED_TRACE(absl::StrCat("phase ", p));
    EXPECT_EQ(want.phase[p].any, have.phase[p].any);
    EXPECT_EQ(want.phase[p].time, have.phase[p].time);
    EXPECT_EQ(want.phase[p].begin, have.phase[p].begin);
    EXPECT_EQ(want.phase[p].end, have.phase[p].end);
    EXPECT_EQ(want.phase[p].user, have.phase[p].user);
  }
}

inline void ExpectSame(const LineReport& want, const LineReport& have) {
  EXPECT_EQ(want.offset, have.offset);
  EXPECT_EQ(want.array, have.array);
  EXPECT_EQ(want.cost, have.cost);
  EXPECT_EQ(want.transfers, have.transfers);
  EXPECT_EQ(want.misses, have.misses);
  EXPECT_EQ(want.lock_waits, have.lock_waits);
  EXPECT_EQ(want.lock_wait, have.lock_wait);
  for (size_t w = 0; w < want.words.size(); ++w) {
    SCOPED_TRACE(absl::StrCat("word ", w));
    EXPECT_EQ(want.words[w].reads, have.words[w].reads);
    EXPECT_EQ(want.words[w].writes, have.words[w].writes);
    EXPECT_EQ(want.words[w].misses, have.words[w].misses);
    EXPECT_EQ(want.words[w].cost, have.words[w].cost);
  }
  ASSERT_EQ(want.pairs.size(), have.pairs.size());
  for (size_t p = 0; p < want.pairs.size(); ++p) {
    SCOPED_TRACE(absl::StrCat("pair ", p));
    EXPECT_EQ(want.pairs[p].waiter, have.pairs[p].waiter);
    EXPECT_EQ(want.pairs[p].writer, have.pairs[p].writer);
    EXPECT_EQ(want.pairs[p].n, have.pairs[p].n);
  }
}

inline void ExpectSame(const ChargeTimes& want, const ChargeTimes& have) {
  for (size_t kind = 0; kind < kChargeKindCount; ++kind) {
    SCOPED_TRACE(kChargeKindNames[kind]);
    EXPECT_EQ(want.kind[kind].n, have.kind[kind].n);
    EXPECT_EQ(want.kind[kind].sum, have.kind[kind].sum);
    EXPECT_EQ(want.kind[kind].worst, have.kind[kind].worst);
    EXPECT_EQ(want.kind[kind].histogram, have.kind[kind].histogram);
  }
}

inline void ExpectSame(const SimResult& want, const SimResult& have) {
  EXPECT_EQ(want.hash, have.hash);
  EXPECT_EQ(want.deadlock, have.deadlock);
  ASSERT_EQ(want.cpus.size(), have.cpus.size());
  for (size_t cpu = 0; cpu < want.cpus.size(); ++cpu) {
    SCOPED_TRACE(absl::StrCat("cpu ", cpu));
    ExpectSame(want.cpus[cpu], have.cpus[cpu]);
  }
  ExpectSame(want.counts, have.counts);
  for (size_t part = 0; part < kPartCount; ++part) {
    for (size_t row = 0; row < kSimRows; ++row) {
      for (size_t cause = 0; cause < kCauseCount; ++cause) {
        EXPECT_EQ(want.times[part][row][cause], have.times[part][row][cause])
            << "part " << part << ", " << SimRowName(row) << ", " << kCauses[cause].name;
      }
    }
  }
  EXPECT_EQ(want.samples, have.samples);
  ExpectSame(want.charges, have.charges);
  ASSERT_EQ(want.lines.size(), have.lines.size());
  for (size_t line = 0; line < want.lines.size(); ++line) {
    SCOPED_TRACE(absl::StrCat("line ", line));
    ExpectSame(want.lines[line], have.lines[line]);
  }
}

// One number for everything that ExpectSame() compares.
inline uint64_t HashOf(const SimResult& result) {
  uint64_t hash = result.hash;
  const auto mix = [&hash](uint64_t n) { hash = (hash ^ n) * 0x100000001b3u; };
  for (const SimCpuTimes& cpu : result.cpus) {
    for (const uint64_t n : {cpu.clock, cpu.accesses, cpu.user, cpu.idle}) mix(n);
    for (const SimCpuTimes::PerPhase& p : cpu.phase) {
      for (const uint64_t n : {p.time, p.begin, p.end, p.user}) mix(n);
    }
  }
  VisitCounts(result.counts, mix);
  for (const RowTimes& part : result.times) {
    for (const CauseTimes& row : part) {
      for (const uint64_t ps : row) mix(ps);
    }
  }
  for (const uint64_t n : result.samples) mix(n);
  for (const ChargeTimes::Kind& kind : result.charges.kind) {
    for (const uint64_t n : {kind.n, kind.sum, kind.worst}) mix(n);
    for (const uint64_t n : kind.histogram) mix(n);
  }
  for (const LineReport& line : result.lines) {
    for (const uint64_t n : {line.offset, line.cost, line.transfers, line.misses, line.lock_waits,
                             line.lock_wait}) {
      mix(n);
    }
    for (const LineReport::Word& word : line.words) {
      for (const uint64_t n : {word.reads, word.writes, word.misses, word.cost}) mix(n);
    }
    for (const LineReport::Pair& pair : line.pairs) {
      mix(pair.waiter * 8u + pair.writer);
      mix(pair.n);
    }
  }
  return hash;
}

}  // namespace memsim::support

#endif  // MEMSIM_TESTS_SUPPORT_SIM_RESULT_H_
