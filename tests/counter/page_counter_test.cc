#include "memsim/counter/page_counter.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "memsim/machine/native.h"
#include "tests/support/traced.h"

namespace memsim {
namespace {

// Three levels, as objects of their own:
//
//   root
//    '- mid
//        '- leaf
template <class Counter>
struct Tree {
  Counter root{};
  Counter mid{};
  Counter leaf{};
  Tree() {
    root.Init(nullptr);
    mid.Init(&root);
    leaf.Init(&mid);
  }
  std::array<int64_t, 3> usage() const { return {root.usage().n, mid.usage().n, leaf.usage().n}; }
};

template <class M>
class PageCounterTest : public ::testing::Test {};
struct MachineNames {
  template <class M>
  static std::string GetName(int) {
    return std::string(M::kName);
  }
};
using Machines = ::testing::Types<Native<BuildConfig{}>, Tracing>;
TYPED_TEST_SUITE(PageCounterTest, Machines, MachineNames);

using Usage = std::array<int64_t, 3>;

// Nothing is limited.
// Expect a charge and an uncharge of the leaf to reach every level, and those of the middle to
// leave the leaf alone.
TYPED_TEST(PageCounterTest, ChargesItselfAndEveryParent) {
  Tree<PageCounter<TypeParam>> tree;
  PageCounter<TypeParam>* fail = nullptr;
  EXPECT_TRUE(tree.leaf.page_counter_try_charge(Pages(32), &fail));
  EXPECT_TRUE(tree.mid.page_counter_try_charge(Pages(3), &fail));
  EXPECT_EQ(tree.usage(), (Usage{35, 35, 32}));
  tree.leaf.page_counter_uncharge(Pages(31));
  EXPECT_EQ(tree.usage(), (Usage{4, 4, 1}));
  EXPECT_EQ(fail, nullptr);
}

// Limit only at the root. The charge of the leaf is the one that does not fit:
//
//   root  max=64   60 used
//    '- mid        60
//        '- leaf   48   <- 8 more
//
// Expect the root as the failing counter, the usage of all three levels unchanged, and one refusal
// counted at the root alone.
TYPED_TEST(PageCounterTest, FailureAtRootRollsBackEveryLevel) {
  Tree<PageCounter<TypeParam>> tree;
  PageCounter<TypeParam>* fail = nullptr;
  ASSERT_TRUE(tree.leaf.page_counter_try_charge(Pages(48), &fail));
  ASSERT_TRUE(tree.mid.page_counter_try_charge(Pages(12), &fail));
  tree.root.limit.store(64);
  EXPECT_FALSE(tree.leaf.page_counter_try_charge(Pages(8), &fail));
  EXPECT_EQ(fail, &tree.root);
  EXPECT_EQ(tree.usage(), (Usage{60, 60, 48}));
  EXPECT_EQ(tree.root.failcnt.load(), 1);
  EXPECT_EQ(tree.mid.failcnt.load(), 0);
  EXPECT_EQ(tree.leaf.failcnt.load(), 0);
}

// Limit at the middle.
// Expect the levels above not to be touched by the attempt: their watermark stays.
TYPED_TEST(PageCounterTest, FailureInTheMiddleStopsThere) {
  Tree<PageCounter<TypeParam>> tree;
  PageCounter<TypeParam>* fail = nullptr;
  tree.mid.limit.store(10);
  EXPECT_FALSE(tree.leaf.page_counter_try_charge(Pages(11), &fail));
  EXPECT_EQ(fail, &tree.mid);
  EXPECT_EQ(tree.usage(), (Usage{0, 0, 0}));
  EXPECT_EQ(tree.root.watermark.load(), 0);
  EXPECT_EQ(tree.leaf.watermark.load(), 11) << "the leaf had the pages for a moment";
}

// Exactly as many pages as the limit allows, then one more.
// Expect the limit itself to be allowed, and a limit of zero to refuse the first page.
TYPED_TEST(PageCounterTest, LimitIsInclusive) {
  Tree<PageCounter<TypeParam>> tree;
  PageCounter<TypeParam>* fail = nullptr;
  tree.leaf.limit.store(2);
  EXPECT_TRUE(tree.leaf.page_counter_try_charge(Pages(2), &fail));
  EXPECT_FALSE(tree.leaf.page_counter_try_charge(Pages(1), &fail));
  tree.leaf.page_counter_uncharge(Pages(2));
  tree.leaf.limit.store(0);
  EXPECT_FALSE(tree.leaf.page_counter_try_charge(Pages(1), &fail));
  EXPECT_EQ(tree.leaf.failcnt.load(), 2);
}

// Usage goes up, down, and up again, but not as high as before.
// Expect the watermark to keep the highest usage of each level.
TYPED_TEST(PageCounterTest, WatermarkIsTheHighestUsage) {
  Tree<PageCounter<TypeParam>> tree;
  PageCounter<TypeParam>* fail = nullptr;
  ASSERT_TRUE(tree.mid.page_counter_try_charge(Pages(5), &fail));
  ASSERT_TRUE(tree.leaf.page_counter_try_charge(Pages(40), &fail));
  tree.leaf.page_counter_uncharge(Pages(40));
  ASSERT_TRUE(tree.leaf.page_counter_try_charge(Pages(39), &fail));
  EXPECT_EQ(tree.root.watermark.load(), 45);
  EXPECT_EQ(tree.mid.watermark.load(), 45);
  EXPECT_EQ(tree.leaf.watermark.load(), 40);
}

// page_counter_cancel() is the part of an uncharge that concerns one level.
// Expect it to leave the parents alone.
TYPED_TEST(PageCounterTest, CancelTakesPagesOffOneLevel) {
  Tree<PageCounter<TypeParam>> tree;
  PageCounter<TypeParam>* fail = nullptr;
  ASSERT_TRUE(tree.leaf.page_counter_try_charge(Pages(7), &fail));
  tree.leaf.page_counter_cancel(Pages(7));
  EXPECT_EQ(tree.usage(), (Usage{7, 7, 0}));
}

// One page more is uncharged than was charged.
// Expect the program to end and to say which invariant broke.
TYPED_TEST(PageCounterTest, UnchargeBelowZeroIsABrokenInvariant) {
  Tree<PageCounter<TypeParam>> tree;
  PageCounter<TypeParam>* fail = nullptr;
  ASSERT_TRUE(tree.leaf.page_counter_try_charge(Pages(7), &fail));
  EXPECT_DEATH(tree.leaf.page_counter_uncharge(Pages(8)), "no more pages are uncharged");
}

class PageCounterCostTest : public support::TracedTest {
 protected:
  using Counter = PageCounter<Tracing>;
  PageCounterCostTest()
      : root_(*arena_.New<Counter>("root", 1, 64)), leaf_(*arena_.New<Counter>("leaf", 1, 64)) {
    root_.Init(nullptr);
    leaf_.Init(&root_);
  }
  Counter& root_;
  Counter& leaf_;
};

// Two levels, below the watermark.
// Expect per level: one LOCK instruction (load and store), and loads of limit, watermark and
// parent. No store: a line that nobody writes stays shared.
TEST_F(PageCounterCostTest, ChargeIsOneLockedInstructionPerLevel) {
  Counter* fail = nullptr;
  leaf_.watermark.store(100);
  root_.watermark.store(100);
  const Counts counts = Count([&] { EXPECT_TRUE(leaf_.page_counter_try_charge(Pages(1), &fail)); });
  EXPECT_EQ(counts.rmw, 2u);
  EXPECT_EQ(counts.loads, 2u * 4);
  EXPECT_EQ(counts.stores, 2u);
}

// Two levels, limit at the root.
// Expect four LOCK instructions: charge leaf and root, take back at the root, cancel the leaf.
TEST_F(PageCounterCostTest, RollBackIsOneMoreLockedInstructionPerLevel) {
  Counter* fail = nullptr;
  root_.limit.store(0);
  const Counts counts =
      Count([&] { EXPECT_FALSE(leaf_.page_counter_try_charge(Pages(1), &fail)); });
  EXPECT_EQ(counts.rmw, 4u);
}

}  // namespace
}  // namespace memsim
