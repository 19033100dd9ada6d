// A world: one arena with everything a kernel image needs, built from a plan. T is a DataBundle: gate
// and knobs are the image's business alone.
//
// Objects are placed in a fixed order, so the same plan gives the same addresses on every machine and
// in every run. A world can be thrown away and built again; many exist at once.
//
// Units     see WorldPlan
// Errors    the plan is checked by whoever made it (session.cc); a plan that does not fit is a broken
//           invariant
// Assumed   dynamic per-CPU data starts behind the static area; allocations are 8-byte aligned
#ifndef MEMSIM_MEMCG_WORLD_H_
#define MEMSIM_MEMCG_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/arena.h"
#include "memsim/machine/deferred.h"
#include "memsim/memcg/kernel_image.h"
#include "memsim/workload/operation.h"

namespace memsim {

template <class T>
class World {
 public:
  using K = typename T::K;
  using M = typename T::M;
  using Memcg = typename T::Memcg;
  using Page = typename T::Page;
  using Area = CpuArea<T>;
  using StatCpu = typename Memcg::StatCpu;

  // How the image is made: it is the only object that knows gate and knobs.
  struct ImageMaker {
    size_t bytes;
    ImageData<T>* (*make)(void* at);
    void (*destroy)(ImageData<T>* image);
  };
  template <class Bundle>
  static ImageMaker Make() {
    return {sizeof(Image<Bundle>),
            [](void* at) -> ImageData<T>* { return new (at) Image<Bundle>; },
            [](ImageData<T>* image) { static_cast<Image<Bundle>*>(image)->~Image(); }};
  }

  MEMSIM_COLD World(const WorldPlan& plan, ImageMaker maker)
      : plan_(plan), maker_(maker), arena_(ArenaBytes(plan) + maker.bytes), mailboxes_(plan.cpus) {
    PlaceImage();
    PlaceCpuAreas();
    PlaceZones();
    for (size_t i = 0; i < plan.memcgs.size(); ++i) PlaceMemcg(i);
    for (size_t i = 0; i < plan.mms.size(); ++i) PlaceMm(i);
    PlacePages();
    PlaceThreads();
    image_->globals.root_mem_cgroup.store(image_->memcgs[0]);
    image_->globals.do_swap_account.store(plan.memsw ? 1 : 0);
  }
  MEMSIM_COLD ~World() { maker_.destroy(image_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  ImageData<T>& image() { return *image_; }
  const Arena& arena() const { return arena_; }
  const WorldPlan& plan() const { return plan_; }
  Mailboxes& mailboxes() { return mailboxes_; }
  MmStruct<M>* mm(int index) { return mms_[static_cast<size_t>(index)]; }
  // Who runs an mm on `cpu`: its owner at home, elsewhere that CPU's thread, because what current says about
  // a fault (memcg_oom, over high) belongs to one thread at a time.
  TaskStruct<M>* task(int mm, CpuId cpu) {
    return cpu == plan_.mms[static_cast<size_t>(mm)].home ? tasks_[static_cast<size_t>(mm)] : threads_ + cpu;
  }
  Memcg* memcg(int index) { return image_->memcgs[static_cast<size_t>(index)]; }
  std::byte* area(CpuId cpu) {
    return image_->area0 + static_cast<uint64_t>(cpu) * image_->area_stride;
  }
  uint64_t cpu_areas_begin() const { return areas_; }
  uint64_t cpu_areas_end() const {
    return areas_ + image_->area_stride * static_cast<uint64_t>(plan_.cpus);
  }
  uint64_t pages_begin() const { return pages_; }
  uint64_t pages_end() const {
    return pages_ + sizeof(Page) * static_cast<uint64_t>(plan_.memory.n);
  }

  // Moves the owner of an mm into another memcg (a store that readers see under RCU).
  void Move(int mm, int memcg) {
    tasks_[static_cast<size_t>(mm)]->cgroups.store(css_sets_[static_cast<size_t>(memcg)]);
  }

  StatCpu& StatOf(int memcg, CpuId cpu) {
    return *reinterpret_cast<StatCpu*>(area(cpu) + stat_offsets_[static_cast<size_t>(memcg)]);
  }
  // References of a memcg, summed over the CPUs. Nobody may be running.
  int64_t References(int memcg) {
    int64_t sum = 0;
    for (CpuId cpu = 0; cpu < plan_.cpus; ++cpu) {
      sum += reinterpret_cast<typename Css<M>::PerCpuCount*>(
                 area(cpu) + ref_offsets_[static_cast<size_t>(memcg)])
                 ->load();
    }
    return sum;
  }

 private:
  struct RefCount {
    static constexpr absl::string_view kTypeName = "percpu_ref count";
    typename M::template PerCpu<int64_t> count;
    static constexpr auto Fields() {
      using Self = RefCount;
      return std::array{MEMSIM_FIELD(Self, count, kOwnCpu, "references taken on this CPU")};
    }
  };

  static constexpr uint64_t kPage = 4096;
  static uint64_t RoundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

  static uint64_t AreaStride(const WorldPlan& plan) {
    const uint64_t dynamic = plan.memcgs.size() * (sizeof(StatCpu) + sizeof(RefCount));
    return RoundUp(sizeof(Area) + dynamic, kPage);
  }
  static uint64_t Tables(const MmSpec& mm) {
    return RoundUp(static_cast<uint64_t>(mm.size.n), kPtrsPerPte) / kPtrsPerPte;
  }
  static uint64_t ArenaBytes(const WorldPlan& plan) {
    uint64_t bytes = 16 * kPage;
    bytes += AreaStride(plan) * static_cast<uint64_t>(plan.cpus);
    bytes += sizeof(Zone<M>) * kMaxNrZones;
    bytes += sizeof(TaskStruct<M>) * static_cast<uint64_t>(plan.cpus) + kPage;
    bytes += plan.memcgs.size() * (sizeof(Memcg) + sizeof(MemCgroupPerNode<M>) + sizeof(CssSet<M>) +
                                   2 * sizeof(ThresholdAry<M>) + 512);
    for (const MmSpec& mm : plan.mms) {
      bytes += sizeof(MmStruct<M>) + sizeof(TaskStruct<M>) + 256;
      bytes += Tables(mm) * sizeof(PageTable<M>) + kPage;
    }
    return bytes + sizeof(Page) * static_cast<uint64_t>(plan.memory.n);
  }

  MEMSIM_COLD void PlaceImage() {
    const uint64_t at = arena_.Reserve(maker_.bytes, kPage);
    image_ = maker_.make(arena_.base() + at);
    arena_.template Name<Globals<T>>(at + OffsetInImage(&image_->globals), "globals", 1,
                                     sizeof(Globals<T>));
    for (auto& tree : image_->globals.soft_limit_tree) RbAlgorithms<M>::init_header(&tree.root);
  }
  uint64_t OffsetInImage(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) -
                                 reinterpret_cast<const std::byte*>(image_));
  }

  MEMSIM_COLD void PlaceCpuAreas() {
    const uint64_t stride = AreaStride(plan_);
    areas_ = arena_.Reserve(stride * static_cast<uint64_t>(plan_.cpus), kPage);
    image_->area0 = arena_.base() + areas_;
    image_->area_stride = stride;
    image_->cpu_count = plan_.cpus;
    dynamic_ = sizeof(Area);
    for (CpuId cpu = 0; cpu < plan_.cpus; ++cpu) {
      Area& a = image_->AreaOf(cpu);
      a.head = {};
      a.head.cpu = cpu;
      a.head.mailboxes = &mailboxes_;
      a.head.area_of_cpu0 = image_->area0;
      a.head.area_stride = stride;
      list_init(a.pageset.list);
      const auto name = [&](const auto& object, absl::string_view what) {
        using Object = std::remove_cvref_t<decltype(object)>;
        arena_.template Name<Object>(arena_.OffsetOf(&object), absl::StrCat("cpu", cpu, ".", what), 1,
                                     sizeof(Object));
      };
      name(a.memcg_stock, "memcg_stock");
      name(a.lru_add_pvec, "lru_add_pvec");
      name(a.pageset, "pageset");
      name(a.stats, "stats");
      name(a.stack, "stack");
      name(a.gather, "gather");
    }
  }

  MEMSIM_COLD void PlaceZones() {
    Zone<M>* zones = arena_.template New<Zone<M>>("zone", kMaxNrZones, 64);
    image_->globals.node_zones.store(zones);
    image_->zone_count = plan_.zones;
    for (int z = 0; z < kMaxNrZones; ++z) {
      zones[z].number.store(static_cast<uint32_t>(z));
      list_init(zones[z].free_list);
      InitLruvec(zones[z].lruvec, &zones[z]);
    }
  }

  static void InitLruvec(Lruvec<M>& lruvec, Zone<M>* zone) {
    for (auto& list : lruvec.lists) list_init(list);
    lruvec.zone.store(zone);
  }

  // Reserves `sizeof(Object)` in every CPU's dynamic area; the offset from the per-CPU base.
  template <class Object>
  MEMSIM_COLD uint64_t PlacePerCpu(const std::string& what) {
    const uint64_t offset = dynamic_;
    dynamic_ += sizeof(Object);
    for (CpuId cpu = 0; cpu < plan_.cpus; ++cpu) {
      arena_.template Name<Object>(
          areas_ + static_cast<uint64_t>(cpu) * image_->area_stride + offset,
          absl::StrCat("cpu", cpu, ".", what), 1, sizeof(Object));
    }
    return offset;
  }

  MEMSIM_COLD void PlaceMemcg(size_t i) {
    const MemcgSpec& spec = plan_.memcgs[i];
    const std::string name = absl::StrCat("memcg ", spec.name);
    Memcg* memcg = arena_.template New<Memcg>(name, 1, 64);
    Memcg* parent = i == 0 ? nullptr : image_->memcgs[static_cast<size_t>(spec.parent)];
    memcg->memory.Init(parent == nullptr ? nullptr : &parent->memory);
    memcg->memsw.Init(parent == nullptr ? nullptr : &parent->memsw);
    if (spec.max >= 0) memcg->memory.limit.store(spec.max);
    if (spec.memsw_max >= 0) memcg->memsw.limit.store(spec.memsw_max);
    memcg->high.store(spec.high >= 0 ? spec.high : kNoLimit.n);
    memcg->soft_limit.store(spec.soft >= 0 ? spec.soft : kNoLimit.n);
    memcg->css.flags.store(i == 0 ? kCssNoRef : 0);
    if (parent != nullptr) memcg->css.parent.store(&parent->css);

    stat_offsets_.push_back(PlacePerCpu<StatCpu>(absl::StrCat(spec.name, ".stat")));
    ref_offsets_.push_back(PlacePerCpu<RefCount>(absl::StrCat(spec.name, ".refcnt")));
    memcg->stat.store(stat_offsets_.back());
    memcg->css.ref_ptr.store(ref_offsets_.back());

    // Named zone by zone, so that an access is to a field of the zone's structure.
    const uint64_t at = arena_.Reserve(sizeof(MemCgroupPerNode<M>), 64);
    auto* node = new (arena_.base() + at) MemCgroupPerNode<M>;
    arena_.template Name<typename Memcg::PerZone>(at, absl::StrCat(spec.name, ".zoneinfo"),
                                                  kMaxNrZones, sizeof(typename Memcg::PerZone));
    memcg->nodeinfo[0].store(node);
    Zone<M>* zones = image_->globals.node_zones.load();
    for (int z = 0; z < kMaxNrZones; ++z) {
      InitLruvec(node->zoneinfo[z].lruvec, &zones[z]);
      node->zoneinfo[z].memcg.store(memcg);
    }
    if (!spec.thresholds.empty()) PlaceThresholds(spec, memcg);
    auto* set = arena_.template New<CssSet<M>>(absl::StrCat(spec.name, ".css_set"), 1, 64);
    set->subsys_memory.store(&memcg->css);
    css_sets_.push_back(set);
    image_->memcgs.push_back(memcg);
  }

  MEMSIM_COLD void PlaceThresholds(const MemcgSpec& spec, Memcg* memcg) {
    auto* ary = arena_.template New<ThresholdAry<M>>(absl::StrCat(spec.name, ".thresholds"), 1, 64);
    ary->current_threshold.store(-1);
    ary->size.store(static_cast<uint32_t>(spec.thresholds.size()));
    for (size_t t = 0; t < spec.thresholds.size(); ++t) {
      ary->entries[t].threshold.store(static_cast<uint64_t>(Bytes(Pages(spec.thresholds[t])).n));
    }
    memcg->thresholds.store(ary);
  }

  MEMSIM_COLD void PlaceMm(size_t i) {
    const MmSpec& spec = plan_.mms[i];
    auto* task = arena_.template New<TaskStruct<M>>(absl::StrCat("task ", i), 1, 64);
    auto* mm = arena_.template New<MmStruct<M>>(absl::StrCat("mm ", i), 1, 64);
    auto* tables = arena_.template New<PageTable<M>>(absl::StrCat("mm ", i, " page table"),
                                                     Tables(spec), 64);
    mm->pgd.store(tables);
    mm->owner.store(task);
    tasks_.push_back(task);
    mms_.push_back(mm);
    Move(static_cast<int>(i), spec.memcg);
  }

  // Behind everything else: addresses do not depend on whether there is more than one CPU.
  MEMSIM_COLD void PlaceThreads() {
    static_assert(sizeof(TaskStruct<M>) % kCacheLine == 0, "no two threads share a line");
    if (plan_.cpus == 1) return;
    threads_ = arena_.template New<TaskStruct<M>>("thread", static_cast<uint64_t>(plan_.cpus), 64);
  }

  MEMSIM_COLD void PlacePages() {
    Page* pages = arena_.template New<Page>("page", static_cast<uint64_t>(plan_.memory.n), 64);
    pages_ = arena_.OffsetOf(pages);
    image_->globals.mem_map.store(pages);
    // Two zones: the lower half is DMA32.
    const uint64_t all = static_cast<uint64_t>(plan_.memory.n);
    const uint64_t lower = plan_.zones == 2 ? all / 2 : 0;
    for (int z = 0; z < plan_.zones; ++z) {
      Zone<M>* zone = image_->ZoneAt(z);
      const bool top = z == plan_.zones - 1;
      zone->next_unused.store(top ? lower : 0);
      zone->end_unused.store(top ? all : lower);
    }
  }

  WorldPlan plan_;
  ImageMaker maker_;
  Arena arena_;
  Mailboxes mailboxes_;
  ImageData<T>* image_ = nullptr;
  uint64_t areas_ = 0;
  uint64_t pages_ = 0;
  uint64_t dynamic_ = 0;
  std::vector<uint64_t> stat_offsets_;
  std::vector<uint64_t> ref_offsets_;
  std::vector<CssSet<M>*> css_sets_;
  std::vector<TaskStruct<M>*> tasks_;    // by mm: the owner
  TaskStruct<M>* threads_ = nullptr;     // by CPU; null when there is but one
  std::vector<MmStruct<M>*> mms_;
};

}  // namespace memsim

#endif  // MEMSIM_MEMCG_WORLD_H_
