// Prototype your own fast path in one file: v4.0 with a stock of two slots.
//
// The kernel's stock of 4.0 holds pages of one memcg per CPU. When two memcgs fault in turns on one CPU,
// every charge finds the other's pages there, gives them back and takes a new batch: four LOCK
// instructions and more for each fault. What would a second slot be worth? Replace one part of the
// kernel, run both, check both against plain arithmetic, and compare.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "memsim/session.h"
#include "memsim/session/make_kernel.h"
#include "memsim/session/open_dynamic.h"
#include "memsim/session/open_fixed.h"
#include "memsim/session/open_observed.h"
#include "models/kernels/v4_0.h"

namespace {

using namespace memsim;

// Per-CPU stock with two owners; the contract is in memsim/stock/one_slot_stock.h.
//
// Shape     64 bytes per CPU: two owners, two counts, the drain's work item
// Threads   owned by its CPU; owners and counts are also read by a draining CPU
template <class M, class Memcg>
struct TwoSlotStock {
  static constexpr absl::string_view kTypeName = "struct memcg_stock_pcp (two slots)";
  static constexpr uint64_t kFlushingCachedCharge = 1;
  static constexpr int kSlots = 2;

  typename M::template Racy<Memcg*> cached[kSlots];
  typename M::template Racy<uint32_t> nr_pages[kSlots];
  Unmodelled<32> work;
  typename M::template Atomic<uint64_t> flags;

  // What `memsim layout` prints and what names the accesses; checked to cover the structure.
  static constexpr auto Fields() {
    using Self = TwoSlotStock;
    return std::array{
        MEMSIM_FIELD_ARRAY(Self, cached, kOwnCpu, "whose pages these are"),
        MEMSIM_FIELD_ARRAY(Self, nr_pages, kOwnCpu, "charged pages nobody uses yet"),
        MEMSIM_FIELD(Self, work, kNone, "work item of the drain"),
        MEMSIM_FIELD(Self, flags, kAnyCpu, "a drain is on its way"),
    };
  }

  [[nodiscard]] bool consume_stock(Memcg* memcg, Pages n, Pages batch) {
    typename M::Scope scope(Fn::kConsumeStock);
    M::Work(2);
    if (n > batch) return false;
    for (int slot = 0; slot < kSlots; ++slot) {
      M::Work(3);  // loop and branches
      if (cached[slot].load() != memcg) continue;
      if (nr_pages[slot].load() < static_cast<uint32_t>(n.n)) return false;
      nr_pages[slot].add(static_cast<uint32_t>(-n.n));
      return true;
    }
    return false;
  }

  template <class Visit>
  bool AnySlot(Visit visit) const {
    for (int slot = 0; slot < kSlots; ++slot) {
      Memcg* memcg = cached[slot].load();
      if (memcg == nullptr) continue;
      const Pages held(nr_pages[slot].load());
      if (held.n != 0 && visit(memcg, held)) return true;
    }
    return false;
  }

  template <class Give>
  void drain_stock(Give give) {
    typename M::Scope scope(Fn::kDrainStock);
    for (int slot = 0; slot < kSlots; ++slot) DrainSlot(slot, give);
  }

  template <class Give>
  void refill_stock(Memcg* memcg, Pages n, Give give) {
    typename M::Scope scope(Fn::kRefillStock);
    const int slot = SlotFor(memcg);
    if (cached[slot].load() != memcg) {
      DrainSlot(slot, give);
      cached[slot].store(memcg);
    }
    nr_pages[slot].add(static_cast<uint32_t>(n.n));
  }

 private:
  // Its own slot, else an empty one, else the first.
  int SlotFor(Memcg* memcg) const {
    int empty = 0;
    for (int slot = kSlots - 1; slot >= 0; --slot) {
      Memcg* owner = cached[slot].load();
      if (owner == memcg) return slot;
      if (owner == nullptr) empty = slot;
    }
    return empty;
  }
  template <class Give>
  void DrainSlot(int slot, Give give) {
    Memcg* owner = cached[slot].load();
    const Pages held(nr_pages[slot].load());
    if (held.n != 0) {
      give(owner, held);
      nr_pages[slot].store(0);
    }
    cached[slot].store(nullptr);
  }
};

// The kernel: everything of v4.0 but the stock.
struct V4_0TwoSlots : V4_0 {
  static constexpr absl::string_view kName = "v4.0-two_slots";
  static constexpr absl::string_view kStory = "v4.0 with a stock of two slots";
  template <class M>
  using Stock = TwoSlotStock<M, MemCgroup<M>>;
};

// Two processes in two memcgs take turns on one CPU, one fault each; then both exit.
class Turns final : public OperationStream {
 public:
  explicit Turns(int64_t faults) : faults_(faults) {}
  bool Next(Operation* op) override {
    if (next_ == faults_ + 2) return false;
    const int mm = static_cast<int>(next_ % 2);
    if (next_ < faults_) {
      *op = {.kind = OpKind::kFault,
             .phase = Phase::kCharge,
             .mm = mm,
             .vpn = static_cast<uint64_t>(next_ / 2),
             .pages = Pages(1)};
    } else {
      *op = {.kind = OpKind::kExit, .phase = Phase::kUncharge, .mm = mm};
    }
    ++next_;
    return true;
  }
  void Reset() override { next_ = 0; }

 private:
  int64_t faults_;
  int64_t next_ = 0;
};

constexpr int64_t kFaults = 8192;

std::unique_ptr<Session> Open(const Kernel& kernel, MachineKind machine) {
  SessionConfig config;
  config.config = kernel.build;
  config.plan.memory = Pages(kFaults + 1024);
  config.plan.memcgs.resize(3);
  config.plan.memcgs[0].name = "root";
  config.plan.memcgs[1].name = "a";
  config.plan.memcgs[2].name = "b";
  for (int memcg = 1; memcg <= 2; ++memcg) {
    config.plan.mms.push_back({.memcg = memcg, .size = Pages(kFaults / 2)});
  }
  auto session = kernel.Open(machine, config);
  if (!session.ok()) {
    std::fprintf(stderr, "%s\n", std::string(session.status().message()).c_str());
    std::exit(2);
  }
  return *std::move(session);
}

// Plain arithmetic: usage is what is held plus what the stocks hold, and nothing is left at the end.
bool Balanced(Session& session) {
  session.Drain();
  for (const LedgerRow& row : session.ReadLedger().memcgs) {
    if (row.memory != 0 || row.memsw != 0 || row.references != 0 || row.stock != 0) return false;
  }
  return true;
}

struct Row {
  double locked = 0, instructions = 0;  // per fault, exact
  double ns = 0, least = 0, most = 0;   // per fault, CPU time
  bool balanced = false;
};

Row Measure(const Kernel& kernel) {
  Turns turns(kFaults);
  OperationStream* streams[] = {&turns};
  Row row;

  auto tracing = Open(kernel, MachineKind::kTracing);
  tracing->Execute(streams);
  const Counts counts = tracing->trace()->counts().Memcg(Part::kCharge);
  row.locked = static_cast<double>(counts.rmw) / kFaults;
  row.instructions = static_cast<double>(counts.instructions) / kFaults;
  row.balanced = Balanced(*tracing);

  auto native = Open(kernel, MachineKind::kNative);
  std::vector<double> ns;
  for (int repetition = 0; repetition < 51; ++repetition) {
    turns.Reset();
    const ExecResult result = native->Execute(streams);
    const auto& charge = result.cpus[0].phase[static_cast<size_t>(Phase::kCharge)];
    ns.push_back(static_cast<double>(charge.ns) / static_cast<double>(charge.pages));
  }
  std::sort(ns.begin(), ns.end());
  row.ns = ns[ns.size() / 2];
  row.least = ns.front();
  row.most = ns.back();
  row.balanced = row.balanced && Balanced(*native);
  return row;
}

}  // namespace

int main() {
  constexpr Kernel kPrototype = MakeKernel<V4_0TwoSlots>();
  const auto original = FindKernel("v4.0");
  if (!original.ok()) return 2;
  std::printf("two memcgs in turns on one CPU, %d faults; counts exact, ns: median (least to most of 51)\n\n",
              static_cast<int>(kFaults));
  std::printf("kernel          LOCK per fault  instructions  ns per fault            balanced\n");
  bool balanced = true;
  for (const Kernel* kernel : {*original, &kPrototype}) {
    const Row row = Measure(*kernel);
    std::printf("%-14s  %14.3f  %12.1f  %6.1f (%5.1f to %6.1f)  %s\n", kernel->name.data(), row.locked,
                row.instructions, row.ns, row.least, row.most, row.balanced ? "yes" : "NO");
    balanced = balanced && row.balanced;
  }
  return balanced ? 0 : 1;
}
