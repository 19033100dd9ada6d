// The oracle: what a world must look like after a sequence of operations, by a map and plain
// arithmetic. It knows no stock, no batch, no counter tree and no order among CPUs.
//
//   Oracle            predicts a whole ledger; exact while no limit is hit and, with several CPUs,
//                     while each CPU works on address spaces of its own
//   ExpectConsistent  the laws that any ledger obeys, limits and sharing included
//
// Units     pages
#ifndef MEMSIM_TESTS_ORACLE_ORACLE_H_
#define MEMSIM_TESTS_ORACLE_ORACLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memsim/session.h"
#include "memsim/workload/random.h"

namespace memsim::oracle {

// A memcg nobody pays for: pages faulted in while the controller was off.
inline constexpr int kNobody = -1;

class VectorStream final : public OperationStream {
 public:
  VectorStream() = default;
  explicit VectorStream(std::vector<Operation> operations) : operations_(std::move(operations)) {}
  bool Next(Operation* op) override {
    if (next_ == operations_.size()) return false;
    *op = operations_[next_++];
    return true;
  }
  void Reset() override { next_ = 0; }

 private:
  std::vector<Operation> operations_;
  size_t next_ = 0;
};

using Operations = std::vector<Operation>;

struct Limits {
  int64_t max = -1;
  int64_t memsw_max = -1;
  int64_t high = -1;
  int64_t soft = -1;
  std::vector<int64_t> thresholds = {};
};
MemcgSpec Memcg(std::string name, int parent = 0, const Limits& limits = {});

// Executes one sequence per CPU.
ExecResult Execute(Session& session, const std::vector<Operations>& per_cpu);

Operation Fault(int mm, uint64_t vpn, int64_t pages);
Operation Unmap(int mm, uint64_t vpn, int64_t pages);
Operation Move(int mm, int memcg);
Operation Exit(int mm);

// `count` random operations on the given address spaces: mostly short faults and unmaps, now and
// then a range longer than a gather batch and a page table, a move to any memcg, an exit.
Operations RandomOperations(Random& random, const WorldPlan& plan, const std::vector<int>& mms,
                            int count);

// A configuration with the kernel's build and nothing turned.
SessionConfig DefaultConfig(const Kernel& kernel, WorldPlan plan);
// Opens the session or fails the test.
std::unique_ptr<Session> Open(const Kernel& kernel, MachineKind machine,
                              const SessionConfig& config);

class Oracle {
 public:
  // `charging`: the controller is compiled in and its gate is open.
  Oracle(const WorldPlan& plan, bool charging);

  void set_charging(bool on) { charging_ = on; }
  // Applies one CPU's operations; what that CPU must report.
  CpuResult Run(const Operations& operations);
  // The drained world.
  const Ledger& ledger() const { return ledger_; }

 private:
  void FaultPage(int mm, uint64_t vpn, CpuResult::PerPhase& phase, CpuResult& result);
  int64_t UnmapRange(int mm, uint64_t vpn, int64_t pages);
  // `sign` pages arrive at (1) or leave (-1) a memcg.
  void Account(int memcg, int sign);

  WorldPlan plan_;
  bool charging_;
  std::vector<int> owner_;               // per mm, the memcg of its owner
  std::vector<std::vector<int>> payer_;  // per mm and vpn: who paid; kUnmapped: not mapped
  Ledger ledger_;
};

// Compares everything the oracle predicts.
void ExpectLedger(const Ledger& expected, const Ledger& actual);
void ExpectResult(const CpuResult& expected, const CpuResult& actual);

// How the world that a ledger was read from came about.
struct Circumstances {
  Pages batch{32};
  bool drained = true;
  bool shared_mms = false;  // several CPUs work on one address space
  bool charging = true;     // the controller was on all the time: every mapped page is held
};

// The laws. With held, stock and usage of a memcg meaning the sums over itself and all below:
//   usage = held + stock            and usage never exceeds the limit or falls below zero
//   references = held + stock       of the memcg alone; root is not counted
//   stock <= (batch - 1) x CPUs     over all memcgs: see the note at the definition
//   drained: stock = 0, LRU length = RSS = PGPGIN - PGPGOUT = held, mapped + free = memory
// With shared mms, and not drained, up to one LRU batch per CPU may be unmapped but not yet
// uncharged.
void ExpectConsistent(const WorldPlan& plan, const Ledger& ledger, const Circumstances& how);

// Nothing is mapped, everything is drained: every page is free, and nobody owes anything.
void ExpectEmpty(const WorldPlan& plan, const Ledger& ledger);

// PGFAULT of all memcgs is what the CPUs report.
void ExpectFaultsCounted(const Ledger& ledger, const CpuResult& total);

// Adds up the results of successive Execute() calls.
void Add(CpuResult& sum, const CpuResult& more);

}  // namespace memsim::oracle

#endif  // MEMSIM_TESTS_ORACLE_ORACLE_H_
