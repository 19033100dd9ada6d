#include "memsim/machine/arena.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/session.h"

namespace memsim {
namespace {

// A structure with a field, an array, and a hole of alignment padding.
struct Sample {
  static constexpr absl::string_view kTypeName = "struct sample";
  uint32_t first;
  uint64_t array[3];
  static constexpr auto Fields() {
    using Self = Sample;
    return std::array{MEMSIM_FIELD(Self, first, kSetup, "a field"),
                      MEMSIM_FIELD_ARRAY(Self, array, kOwnCpu, "three elements")};
  }
};
static_assert(sizeof(Sample) == 32);

// Three objects behind a single one.
// Expect an offset to be named after object, index, field and element, wherever it points into
// them.
TEST(ArenaTest, DescribesObjectFieldAndElement) {
  Arena arena(4096);
  auto* one = arena.New<Sample>("one");
  auto* many = arena.New<Sample>("many", 3);
  const uint64_t many_at = arena.OffsetOf(many);
  EXPECT_EQ(arena.Describe(arena.OffsetOf(&one->first)), "one.first");
  EXPECT_EQ(arena.Describe(many_at), "many[0].first");
  EXPECT_EQ(arena.Describe(arena.OffsetOf(&many[2].array[1])), "many[2].array[1]");
  EXPECT_EQ(arena.Describe(arena.OffsetOf(&many[2].array[1]) + 7), "many[2].array[1]");
  EXPECT_EQ(arena.DescribeObject(many_at + 2 * sizeof(Sample)), "many[2]");
}

// Offsets in padding between fields, and behind everything that was placed.
// Expect the object's name, and a plain number.
TEST(ArenaTest, DescribesWhatHasNoName) {
  Arena arena(4096);
  auto* one = arena.New<Sample>("one");
  EXPECT_EQ(arena.Describe(arena.OffsetOf(one) + 4), "one");
  EXPECT_EQ(arena.Describe(0x800), "+800");
}

// Two arenas are filled alike.
// Expect the same offsets, whatever the host's addresses, and zeroed objects that are aligned as
// asked.
TEST(ArenaTest, PlacesInOrderAtTheSameOffsets) {
  Arena a(4096);
  Arena b(4096);
  for (Arena* arena : {&a, &b}) {
    arena->New<Sample>("one");
    auto* aligned = arena->New<Sample>("aligned", 1, 64);
    EXPECT_EQ(arena->OffsetOf(aligned), 64u);
    EXPECT_EQ(aligned->array[2], 0u);
    EXPECT_EQ(arena->used(), 64u + sizeof(Sample));
  }
}

// Objects that are larger than the whole arena.
// Expect the program to end: the world computes the arena's size beforehand.
TEST(ArenaDeathTest, RunningOutIsABrokenInvariant) {
  Arena arena(4096);
  EXPECT_DEATH(arena.New<Sample>("many", uint64_t{1} << 24), "computes the size of its arena");
}

// A field table with a field forgotten, and one whose fields overlap.
// Expect both to be found; the arena refuses to compile such a structure.
TEST(FieldTableTest, CoversFindsHolesAndOverlaps) {
  const auto field = [](uint32_t offset, uint32_t size) {
    return FieldInfo{"f", offset, size, Writer::kNone, ""};
  };
  EXPECT_TRUE(Covers(std::array{field(0, 8), field(8, 4)}, 16, 8));
  EXPECT_FALSE(Covers(std::array{field(0, 8), field(16, 8)}, 24, 8));
  EXPECT_FALSE(Covers(std::array{field(0, 8), field(4, 8)}, 16, 8));
  EXPECT_FALSE(Covers(std::array{field(0, 8)}, 16, 8));
}

// A world with a child memcg and two CPUs.
// Expect the names that users see in traces.
TEST(WorldNamesTest, ObjectsOfAWorldHaveTheirNames) {
  WorldPlan plan = support::ChainPlan(1);
  plan.cpus = 2;
  const Kernel& kernel = support::KernelNamed("v4.0");
  auto session = support::Open(kernel, MachineKind::kTracing, support::ConfigOf(kernel, plan));
  std::string names;
  for (uint64_t at = 0; at < session->arena().used(); at += 8) {
    absl::StrAppend(&names, session->arena().Describe(at), "\n");
  }
  for (const absl::string_view name :
       {"globals.memory_cgrp_subsys.disabled\n", "globals.root_mem_cgroup\n",
        "cpu0.memcg_stock.cached\n", "cpu1.memcg_stock.nr_pages\n", "cpu1.lru_add_pvec.pages[13]\n",
        "cpu0.level1.stat.nr_page_events\n", "cpu1.root.refcnt.count\n",
        "memcg root.memory.count\n", "memcg level1.memsw.count\n", "memcg level1.css.ref_ptr\n",
        "level1.css_set.subsys_memory\n", "task 0.cgroups\n", "mm 0.owner\n",
        "page[17].mem_cgroup\n", "zone[2].lru_lock\n"}) {
    EXPECT_TRUE(absl::StrContains(names, name)) << name;
  }
}

}  // namespace
}  // namespace memsim
