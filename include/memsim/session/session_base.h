// What sessions of all machines share: building the world, draining it, reading its state.
#ifndef MEMSIM_SESSION_SESSION_BASE_H_
#define MEMSIM_SESSION_SESSION_BASE_H_

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "memsim/internal/compiler.h"
#include "memsim/memcg/world.h"
#include "memsim/session.h"

namespace memsim {

// T is a DataBundle, so the code exists once per kernel and machine.
template <class T>
class SessionBase : public Session {
 public:
  using M = typename T::M;
  using Memcg = typename T::Memcg;

  SessionBase(const SessionConfig& config, typename World<T>::ImageMaker maker)
      : config_(config), maker_(maker) {}

  void Drain() override {
    for (bool again = true; again;) {
      again = false;
      for (CpuId cpu = 0; cpu < config_.plan.cpus; ++cpu) {
        const typename M::Binding binding(world_->area(cpu));
        world_->mailboxes().RunDue(cpu, UINT64_MAX);
        DrainCpu();
      }
      for (CpuId cpu = 0; cpu < config_.plan.cpus; ++cpu) again |= world_->mailboxes().HasWork(cpu);
    }
  }

  // The words in the world are all there is to set: config_ keeps what the world started with.
  void SetEnabled(bool on) override {
    world_->image().globals.memory_cgrp_subsys.SetEnabled(on);
  }

  const Arena& arena() const override { return world_->arena(); }

  MEMSIM_COLD Ledger ReadLedger() override {
    Ledger ledger;
    ImageData<T>& image = world_->image();
    for (size_t i = 0; i < config_.plan.memcgs.size(); ++i) ledger.memcgs.push_back(ReadRow(i));
    for (CpuId cpu = 0; cpu < config_.plan.cpus; ++cpu) {
      image.StockOf(cpu).AnySlot([&](Memcg* memcg, Pages held) {
        AddToRow(ledger, memcg, &LedgerRow::stock, held.n);
        return false;
      });
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
  // Builds the world anew from the configuration, switched on or off.
  void Build(bool enabled) {
    world_ = std::make_unique<World<T>>(config_.plan, maker_);
    ImageData<T>& image = world_->image();
    image.globals.memory_cgrp_subsys.SetEnabled(enabled);
    SetUpImage();
    for (CpuId cpu = 0; cpu < config_.plan.cpus; ++cpu) {
      image.AreaOf(cpu).head.irq = config_.irq;
    }
  }

  // Gives back the current CPU's batch and stock.
  virtual void DrainCpu() = 0;
  // Sets gate and knobs of a fresh image.
  virtual void SetUpImage() = 0;

  // The last SetEnabled().
  bool enabled() const { return world_->image().globals.memory_cgrp_subsys.enabled.load() != 0; }

  bool Stopped() const {
    return config_.stop != nullptr && config_.stop->load(std::memory_order_relaxed);
  }

  SessionConfig config_;
  typename World<T>::ImageMaker maker_;
  std::unique_ptr<World<T>> world_;

 private:
  void AddToRow(Ledger& ledger, const Memcg* memcg, int64_t LedgerRow::*field, int64_t n) {
    for (size_t i = 0; i < ledger.memcgs.size(); ++i) {
      if (world_->memcg(static_cast<int>(i)) == memcg) ledger.memcgs[i].*field += n;
    }
  }

  MEMSIM_COLD LedgerRow ReadRow(size_t i) {
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

// A session of one bundle: what SessionBase (or a class on top of it) leaves to gate and knobs.
template <class T, class Base = SessionBase<typename T::Data>>
class BundleSession : public Base {
 public:
  template <class... Args>
  explicit BundleSession(const SessionConfig& config, Args&&... args)
      : Base(config, World<typename T::Data>::template Make<T>(), std::forward<Args>(args)...) {
    this->Build(config.enabled);
  }

 protected:
  Image<T>& image() { return static_cast<Image<T>&>(this->world_->image()); }
  void DrainCpu() override { image().DrainCpu(); }
  void SetUpImage() override {
    SetKnobs(image().knobs);
    SetGate(image().gate);
  }

 private:
  void SetKnobs(FixedKnobs<typename T::K>&) {}
  void SetKnobs(DynamicKnobs& knobs) {
    knobs.batch_ = this->config_.batch.value_or(T::K::kChargeBatch);
    knobs.charge_first_ = this->config_.charge_first.value_or(T::K::kChargeFirst);
  }
  template <class G>
  void SetGate(G& gate) {
    if constexpr (std::is_same_v<G, RuntimeGate>) {
      gate.kind = this->config_.gate;
      gate.constant_on = this->config_.enabled;
      gate.built_in = this->config_.config.memcg;
    }
  }
};

}  // namespace memsim

#endif  // MEMSIM_SESSION_SESSION_BASE_H_
