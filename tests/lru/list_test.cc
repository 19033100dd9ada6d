// Lists and trees over modelled fields: what they cost, and that they are right.
#include "memsim/lru/list.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "memsim/machine/native.h"
#include "memsim/workload/random.h"
#include "tests/support/traced.h"

namespace memsim {
namespace {

class ListCostTest : public support::TracedTest {
 protected:
  using Head = ListHead<Tracing>;
  ListCostTest()
      : nodes_(reinterpret_cast<Head*>(arena_.base() + arena_.Reserve(4 * sizeof(Head), 64))) {
    list_init(nodes_[0]);
  }
  Head& head() { return nodes_[0]; }
  Head& node(int i) { return nodes_[i]; }

 private:
  Head* nodes_;
};

// Expect one load (who is first now) and four stores (two links of the node, two of its
// neighbours).
TEST_F(ListCostTest, AddIsOneLoadAndFourStores) {
  for (int i = 1; i <= 3; ++i) {
    const Counts counts = Count([&] { list_add(node(i), head()); });
    EXPECT_EQ(counts.loads, 1u);
    EXPECT_EQ(counts.stores, 4u);
    EXPECT_EQ(counts.instructions, 5u);
  }
}

// Expect two loads (the neighbours) and two stores (their links); the node itself is not written.
TEST_F(ListCostTest, DelIsTwoLoadsAndTwoStores) {
  for (int i = 1; i <= 3; ++i) list_add(node(i), head());
  for (const int i : {2, 3, 1}) {
    const Counts counts = Count([&] { list_del(node(i)); });
    EXPECT_EQ(counts.loads, 2u);
    EXPECT_EQ(counts.stores, 2u);
    EXPECT_EQ(counts.instructions, 4u);
  }
}

// Expect one load, whether the list is empty or not, and two stores to make a list.
TEST_F(ListCostTest, EmptyIsOneLoadAndInitTwoStores) {
  EXPECT_EQ(Count([&] { EXPECT_TRUE(list_empty(head())); }).loads, 1u);
  list_add(node(1), head());
  EXPECT_EQ(Count([&] { EXPECT_FALSE(list_empty(head())); }).loads, 1u);
  const Counts init = Count([&] { list_init(head()); });
  EXPECT_EQ(init.loads, 0u);
  EXPECT_EQ(init.stores, 2u);
}

// Nodes are put right behind the head.
// Expect the last one added to be first, and both directions to agree.
TEST_F(ListCostTest, AddPutsBehindTheHead) {
  for (int i = 1; i <= 3; ++i) list_add(node(i), head());
  list_del(node(2));
  EXPECT_EQ(head().next.load(), &node(3));
  EXPECT_EQ(node(3).next.load(), &node(1));
  EXPECT_EQ(node(1).next.load(), &head());
  EXPECT_EQ(head().prev.load(), &node(1));
  EXPECT_EQ(node(1).prev.load(), &node(3));
}

// A tree of keyed nodes, ordered as the soft-limit tree is.
template <class M>
struct KeyedTree {
  struct Node : RbNode<M> {
    uint64_t key = 0;
  };
  struct Less {
    bool operator()(const RbNode<M>* a, const RbNode<M>* b) const {
      return static_cast<const Node*>(a)->key < static_cast<const Node*>(b)->key;
    }
  };
  using Algorithms = RbAlgorithms<M>;

  RbNode<M> root{};
  KeyedTree() { Algorithms::init_header(&root); }
  void Insert(Node* node) { Algorithms::insert_equal_upper_bound(&root, node, Less()); }
  void Erase(Node* node) { Algorithms::erase(&root, node); }
  std::vector<uint64_t> Keys() {
    std::vector<uint64_t> keys;
    for (RbNode<M>* n = Algorithms::begin_node(&root); n != &root; n = Algorithms::next_node(n)) {
      keys.push_back(static_cast<Node*>(n)->key);
    }
    return keys;
  }
};

template <class M>
class TreeTest : public ::testing::Test {};
struct MachineNames {
  template <class M>
  static std::string GetName(int) {
    return std::string(M::kName);
  }
};
using Machines = ::testing::Types<Native<BuildConfig{}>, Tracing>;
TYPED_TEST_SUITE(TreeTest, Machines, MachineNames);

// 4000 seeded steps; each inserts a random node under a random key, equal ones included, or takes
// one out that is in the tree. Expect the keys in order to be those of a std::multiset after every
// step.
TYPED_TEST(TreeTest, InsertAndEraseEqualAMultiset) {
  using Tree = KeyedTree<TypeParam>;
  Tree tree;
  std::vector<typename Tree::Node> nodes(64);
  std::vector<bool> inside(nodes.size(), false);
  std::multiset<uint64_t> expected;  // ascending
  Random random(2015);
  for (int step = 0; step < 4000; ++step) {
    const size_t i = random.Below(nodes.size());
    auto& node = nodes[i];
    if (inside[i]) {
      tree.Erase(&node);
      expected.erase(expected.find(node.key));
    } else {
      node.key = random.Below(24);
      tree.Insert(&node);
      expected.insert(node.key);
    }
    inside[i] = !inside[i];
    ASSERT_EQ(tree.Keys(), std::vector<uint64_t>(expected.begin(), expected.end())) << step;
  }
}

// Three nodes with the same key.
// Expect the order of their insertion: upper bound puts an equal one behind the others.
TYPED_TEST(TreeTest, EqualKeysKeepTheOrderOfInsertion) {
  using Tree = KeyedTree<TypeParam>;
  Tree tree;
  std::vector<typename Tree::Node> nodes(3);
  for (auto& node : nodes) tree.Insert(&node);
  RbNode<TypeParam>* at = Tree::Algorithms::begin_node(&tree.root);
  for (auto& node : nodes) {
    EXPECT_EQ(at, &node);
    at = Tree::Algorithms::next_node(at);
  }
}

class TreeCostTest : public support::TracedTest {};

// One node enters an empty tree and leaves it again, as the first memcg over its soft limit does.
// Expect these very counts: the functions are on the path, so their accesses are part of the model.
// (The root is a full node that knows leftmost and rightmost; that is more than the kernel's
// rb_root.)
TEST_F(TreeCostTest, OneNodeInAndOut) {
  using Tree = KeyedTree<Tracing>;
  auto* tree = new (arena_.base() + arena_.Reserve(sizeof(Tree), 64)) Tree;
  auto* node = new (arena_.base() + arena_.Reserve(sizeof(Tree::Node), 64)) Tree::Node;
  const Counts in = Count([&] { tree->Insert(node); });
  const Counts out = Count([&] { tree->Erase(node); });
  EXPECT_EQ(in.loads, 8u);
  EXPECT_EQ(in.stores, 8u);
  EXPECT_EQ(out.loads, 8u);
  EXPECT_EQ(out.stores, 3u);
  EXPECT_EQ(in.rmw + out.rmw, 0u);
}

}  // namespace
}  // namespace memsim
