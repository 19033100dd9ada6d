// The driver: turns operations into calls of the kernel image, on whatever machine.
#ifndef MEMSIM_LIB_SESSION_DRIVER_H_
#define MEMSIM_LIB_SESSION_DRIVER_H_

#include <cstdint>

#include "memsim/memcg/world.h"
#include "memsim/session.h"

namespace memsim {

// Pages between two looks at the mailbox and the stop flag.
inline constexpr int64_t kPollPages = 32;

template <class T>
class Driver {
 public:
  using M = typename T::M;

  explicit Driver(World<T>& world) : world_(world) {}

  // Context switch of the current CPU to the owner of `mm`.
  void SwitchTo(int mm) {
    CpuStats<M>& stats = Image<T>::Stats();
    TaskStruct<M>* task = world_.task(mm);
    stats.current_task.store(task);
  }

  void Fault(int mm, uint64_t vpn, CpuResult::PerPhase& phase, CpuResult& result) {
    switch (world_.image().handle_mm_fault(world_.mm(mm), vpn)) {
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
        phase.pages += world_.image()
                           .zap_pte_range(world_.mm(op.mm), op.vpn + static_cast<uint64_t>(*done),
                                          Pages(n))
                           .n;
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
    return op.kind == OpKind::kExit ? world_.plan().mms[static_cast<size_t>(op.mm)].size.n
                                    : op.pages.n;
  }

  World<T>& world_;
};

// What sessions of all machines share.
template <class T>
class SessionBase : public Session {
 public:
  using M = typename T::M;
  using Memcg = typename T::Memcg;

  explicit SessionBase(const SessionConfig& config) : config_(config) { Build(); }

  void Drain() override {
    for (bool again = true; again;) {
      again = false;
      for (CpuId cpu = 0; cpu < config_.plan.cpus; ++cpu) {
        const typename M::Binding binding(world_->area(cpu));
        world_->mailboxes().RunDue(cpu, UINT64_MAX);
        Image<T>& image = world_->image();
        image.lru_add_drain();
        image.ThisCpuStock().drain_stock(image.Give());
      }
      for (CpuId cpu = 0; cpu < config_.plan.cpus; ++cpu) again |= world_->mailboxes().HasWork(cpu);
    }
  }

  void SetEnabled(bool on) override {
    config_.enabled = on;
    world_->image().globals.memory_cgrp_subsys.SetEnabled(on);
  }

  const Arena& arena() const override { return world_->arena(); }

  Ledger ReadLedger() override {
    Ledger ledger;
    Image<T>& image = world_->image();
    for (size_t i = 0; i < config_.plan.memcgs.size(); ++i) ledger.memcgs.push_back(ReadRow(i));
    for (CpuId cpu = 0; cpu < config_.plan.cpus; ++cpu) {
      auto& stock = image.StockOf(cpu);
      AddToRow(ledger, stock.cached.load(), &LedgerRow::stock, stock.nr_pages.load());
      ledger.free_pages += static_cast<int64_t>(image.AreaOf(cpu).pageset.count.load());
    }
    for (int z = 0; z < image.zone_count; ++z) {
      Zone<M>* zone = image.ZoneAt(z);
      ledger.free_pages += zone->free_count.load();
      ledger.free_pages += static_cast<int64_t>(zone->end_unused.load() - zone->next_unused.load());
    }
    for (size_t i = 0; i < config_.plan.mms.size(); ++i) {
      int64_t mapped = 0;
      for (uint64_t vpn = 0; vpn < static_cast<uint64_t>(config_.plan.mms[i].size.n); ++vpn) {
        auto& table = world_->mm(static_cast<int>(i))->TableOf(vpn);
        const uint32_t entry = table.pte[vpn % kPtrsPerPte].load();
        if (entry == 0) continue;
        ++mapped;
        AddToRow(ledger, image.PageAt(entry - 1)->mem_cgroup.load(), &LedgerRow::held, 1);
      }
      ledger.mapped.push_back(mapped);
    }
    return ledger;
  }

 protected:
  // Builds the world anew from the configuration.
  void Build() {
    world_ = std::make_unique<World<T>>(config_.plan);
    Image<T>& image = world_->image();
    image.globals.memory_cgrp_subsys.SetEnabled(config_.enabled);
    SetKnobs(image.knobs);
    SetGate(image.gate);
    for (CpuId cpu = 0; cpu < config_.plan.cpus; ++cpu) {
      image.AreaOf(cpu).head.irq = config_.irq;
    }
  }

  bool Stopped() const {
    return config_.stop != nullptr && config_.stop->load(std::memory_order_relaxed);
  }

  SessionConfig config_;
  std::unique_ptr<World<T>> world_;

 private:
  void SetKnobs(FixedKnobs<typename T::K>&) {}
  void SetKnobs(DynamicKnobs& knobs) {
    knobs.batch_ = config_.batch.value_or(T::K::kChargeBatch);
    knobs.charge_first_ = config_.charge_first.value_or(T::K::kChargeFirst);
  }
  template <class G>
  void SetGate(G& gate) {
    if constexpr (std::is_same_v<G, RuntimeGate>) {
      gate.kind = config_.gate;
      gate.constant_on = config_.enabled;
      gate.built_in = config_.config.memcg;
    }
  }

  void AddToRow(Ledger& ledger, const Memcg* memcg, int64_t LedgerRow::*field, int64_t n) {
    for (size_t i = 0; i < ledger.memcgs.size(); ++i) {
      if (world_->memcg(static_cast<int>(i)) == memcg) ledger.memcgs[i].*field += n;
    }
  }

  LedgerRow ReadRow(size_t i) {
    const MemcgSpec& spec = config_.plan.memcgs[i];
    Memcg* memcg = world_->memcg(static_cast<int>(i));
    LedgerRow row;
    row.name = spec.name;
    row.parent = spec.parent;
    row.memory = memcg->memory.count.load();
    row.memsw = memcg->memsw.count.load();
    row.watermark = memcg->memory.watermark.load();
    row.failcnt = memcg->memory.failcnt.load();
    row.references = world_->References(static_cast<int>(i));
    for (int z = 0; z < kMaxNrZones; ++z) {
      auto& info = memcg->ZoneInfo(z);
      for (auto& size : info.lru_size) row.lru += static_cast<int64_t>(size.load());
      row.on_soft_tree |= info.on_tree.load() != 0;
    }
    for (CpuId cpu = 0; cpu < config_.plan.cpus; ++cpu) {
      auto& stat = world_->StatOf(static_cast<int>(i), cpu);
      row.rss += stat.count[kStatRss].load();
      for (int e = 0; e < kMemcgEvents; ++e) {
        row.events[e] += static_cast<int64_t>(stat.events[e].load());
      }
    }
    if (auto* ary = memcg->thresholds.load(); ary != nullptr) {
      for (uint32_t t = 0; t < ary->size.load(); ++t) {
        row.threshold_signals.push_back(static_cast<int64_t>(ary->entries[t].signals.load()));
      }
    }
    return row;
  }
};

}  // namespace memsim

#endif  // MEMSIM_LIB_SESSION_DRIVER_H_
