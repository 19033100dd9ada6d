// Which fields share a line is part of the model: the offsets that the reference names, read off
// the annotated 4.0 disassembly and the order of fields.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "memsim/machine/native.h"
#include "memsim/machine/simulated.h"
#include "memsim/machine/tracing.h"
#include "memsim/memcg/image.h"
#include "models/kernels/v4_0.h"
#include "tests/support/session.h"

namespace memsim {
namespace {

// Every structure of a kernel, by its type.
std::map<std::string, StructInfo> LayoutOf(absl::string_view kernel) {
  std::map<std::string, StructInfo> structs;
  for (const StructInfo& info : support::KernelNamed(kernel).layout()) {
    structs.emplace(std::string(info.type), info);
  }
  return structs;
}

int64_t OffsetOf(const StructInfo& info, absl::string_view field) {
  for (const FieldInfo& f : info.fields) {
    if (f.name == field) return f.offset;
  }
  return -1;
}

struct Expected {
  const char* type;
  const char* field;
  int64_t offset;
};

void ExpectOffsets(absl::string_view kernel, const std::vector<Expected>& expected) {
  const auto layout = LayoutOf(kernel);
  for (const Expected& e : expected) {
    const auto it = layout.find(e.type);
    ASSERT_NE(it, layout.end()) << e.type;
    EXPECT_EQ(OffsetOf(it->second, e.field), e.offset) << kernel << " " << e.type << "." << e.field;
  }
}

// Expect the offsets that the disassembly of the 4.0 kernel shows.
TEST(LayoutTest, OffsetsOfTheChaseAreThoseOfThe40Disassembly) {
  ExpectOffsets("v4.0", {{"struct mm_struct", "owner", 0x340},
                         {"struct task_struct", "cgroups", 0xca0},
                         {"struct css_set", "subsys_memory", 0x70},
                         {"struct cgroup_subsys_state", "flags", 0x74},
                         {"struct cgroup_subsys_state", "ref_ptr", 0x18},
                         {"struct mem_cgroup", "css.flags", 0x74},
                         {"struct mem_cgroup", "css.ref_ptr", 0x18},
                         {"struct mem_cgroup_per_zone", "lruvec.zone", 112},
                         {"struct mem_cgroup_per_zone", "lru_size", 120}});
}

// Expect the counters where the order of fields puts them: memory.count and limit in line 2;
// parent, watermark and failcnt in line 3 together with memsw.count.
TEST(LayoutTest, CountersOfAMemcgShareLinesAsIn40) {
  ExpectOffsets("v4.0", {{"struct mem_cgroup", "memory.count", 176},
                         {"struct mem_cgroup", "memory.limit", 184},
                         {"struct mem_cgroup", "memory.parent", 192},
                         {"struct mem_cgroup", "memory.watermark", 200},
                         {"struct mem_cgroup", "memory.failcnt", 208},
                         {"struct mem_cgroup", "memsw.count", 216},
                         {"struct mem_cgroup", "kmem", 256}});
  const StructInfo memcg = LayoutOf("v4.0").at("struct mem_cgroup");
  const auto line = [&](absl::string_view field) { return OffsetOf(memcg, field) / kCacheLine; };
  EXPECT_EQ(line("memory.count"), line("memory.limit"));
  EXPECT_NE(line("memory.count"), line("memory.parent"));
  EXPECT_EQ(line("memory.parent"), line("memsw.count"));
}

// Expect the subsystem's flag at 0x68, the words of all gates in its line, and nothing of the gates behind
// it to move another global.
TEST(LayoutTest, GateFlagIsAt0x68) {
  ExpectOffsets("v4.0", {{"kernel globals", "memory_cgrp_subsys.disabled", 0x68},
                         {"kernel globals", "root_mem_cgroup", 0x80}});
  const StructInfo globals = LayoutOf("v4.0").at("kernel globals");
  for (const char* word : {"ever_answer", "enabled", "answer", "never_enabled", "ever_enabled"}) {
    EXPECT_EQ(OffsetOf(globals, absl::StrCat("memory_cgrp_subsys.", word)) / kCacheLine, 0x68 / kCacheLine)
        << word;
  }
}

// A size update of the zone's own lists must not hit anything else of the zone.
// Expect the sizes as far behind the lists as in a memcg's zone, and zones that share no line.
TEST(LayoutTest, SizesOfAZoneLieAsInAMemcgsZone) {
  const auto layout = LayoutOf("v4.0");
  const StructInfo zone = layout.at("struct zone");
  const StructInfo per_zone = layout.at("struct mem_cgroup_per_zone");
  EXPECT_EQ(OffsetOf(zone, "lru_size") - OffsetOf(zone, "lruvec"),
            OffsetOf(per_zone, "lru_size") - OffsetOf(per_zone, "lruvec.lists"));
  EXPECT_EQ(zone.size % kCacheLine, 0u);
}

// struct page is one line.
// Expect the memcg pointer to be its last word.
TEST(LayoutTest, MemcgPointerIsTheLastWordOfAPage) {
  const StructInfo page = LayoutOf("v4.0").at("struct page");
  EXPECT_EQ(page.size, 64u);
  EXPECT_EQ(OffsetOf(page, "mem_cgroup"), 56);
  EXPECT_EQ(OffsetOf(page, "flags"), 0);
  EXPECT_EQ(OffsetOf(page, "mapping"), 8);
  EXPECT_EQ(OffsetOf(page, "lru"), 32);
}

// The per-CPU statistics: six counts, eight events, the event number, three targets.
// Expect 144 bytes in 4.0; from 4.2 on DIRTY is the seventh count, and all else sits 8 bytes
// further on.
TEST(LayoutTest, StatisticsMoveBy8BytesIn42) {
  ExpectOffsets("v4.0", {{"struct mem_cgroup_stat_cpu", "count", 0},
                         {"struct mem_cgroup_stat_cpu", "events", 48},
                         {"struct mem_cgroup_stat_cpu", "nr_page_events", 112},
                         {"struct mem_cgroup_stat_cpu", "targets", 120}});
  EXPECT_EQ(LayoutOf("v4.0").at("struct mem_cgroup_stat_cpu").size, 144u);
  for (const char* later : {"v4.2", "v4.4"}) {
    ExpectOffsets(later, {{"struct mem_cgroup_stat_cpu", "events", 56},
                          {"struct mem_cgroup_stat_cpu", "nr_page_events", 120},
                          {"struct mem_cgroup_stat_cpu", "targets", 128}});
    EXPECT_EQ(LayoutOf(later).at("struct mem_cgroup_stat_cpu").size, 152u);
  }
}

// All structures of all kernels.
// Expect every table to cover its structure: fields in order, no overlap, no hole but padding, so
// that every access has a name.
TEST(LayoutTest, EveryTableCoversItsStructure) {
  for (const Kernel* kernel : AllKernels()) {
    for (const StructInfo& info : kernel->layout()) {
      uint64_t at = 0;
      for (const FieldInfo& field : info.fields) {
        EXPECT_GE(field.offset, at) << info.type << "." << field.name;
        EXPECT_LT(field.offset - at, 8u) << info.type << "." << field.name;
        const uint32_t element = field.element != 0 ? field.element : field.size;
        EXPECT_EQ(field.size % element, 0u) << info.type << "." << field.name;
        EXPECT_FALSE(field.purpose.empty()) << info.type << "." << field.name;
        at = field.offset + field.size;
      }
      EXPECT_LE(at, info.size) << info.type;
      EXPECT_LT(info.size - at, 64u) << info.type;
    }
  }
}

template <class M>
constexpr std::array<size_t, 9> SizesOn() {
  using T = DataBundle<V4_0, M>;
  return {sizeof(typename T::Memcg),   sizeof(typename T::Memcg::StatCpu),
          sizeof(typename T::Page),    sizeof(typename T::Stock),
          sizeof(MemCgroupPerNode<M>), sizeof(Zone<M>),
          sizeof(TaskStruct<M>),       sizeof(MmStruct<M>),
          sizeof(Globals<T>)};
}
// A structure has the same size on every machine: fields carry no state of the machine's.
static_assert(SizesOn<Tracing>() == SizesOn<Native<V4_0::kConfig>>());
static_assert(SizesOn<Tracing>() == SizesOn<Simulated>());

}  // namespace
}  // namespace memsim
