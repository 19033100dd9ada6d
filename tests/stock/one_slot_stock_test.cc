#include "memsim/stock/one_slot_stock.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "memsim/machine/native.h"
#include "tests/support/traced.h"

namespace memsim {
namespace {

// The stock looks at nothing inside a memcg, so names will do.
struct Memcg {};
constexpr Pages kBatch(32);

// What a drain gave back: whose pages, how many.
using Given = std::vector<std::pair<Memcg*, int64_t>>;

template <class M>
class OneSlotStockTest : public ::testing::Test {
 protected:
  auto Give() {
    return [this](Memcg* memcg, Pages n) { given_.emplace_back(memcg, n.n); };
  }
  bool Consume(Memcg* memcg, int64_t n) { return stock_.consume_stock(memcg, Pages(n), kBatch); }
  void Refill(Memcg* memcg, int64_t n) { stock_.refill_stock(memcg, Pages(n), Give()); }
  int64_t held() const { return stock_.nr_pages.load(); }

  OneSlotStock<M, Memcg> stock_{};
  Given given_;
  Memcg a_;
  Memcg b_;
};
struct MachineNames {
  template <class M>
  static std::string GetName(int) {
    return std::string(M::kName);
  }
};
using Machines = ::testing::Types<Native<BuildConfig{}>, Tracing>;
TYPED_TEST_SUITE(OneSlotStockTest, Machines, MachineNames);

// Three pages are in stock.
// Expect a request for four to get none and leave all three; a request for three to get all.
TYPED_TEST(OneSlotStockTest, ConsumesAllOrNone) {
  this->Refill(&this->a_, 3);
  EXPECT_FALSE(this->Consume(&this->a_, 4));
  EXPECT_EQ(this->held(), 3);
  EXPECT_TRUE(this->Consume(&this->a_, 3));
  EXPECT_EQ(this->held(), 0);
  EXPECT_FALSE(this->Consume(&this->a_, 1));
}

// Pages of memcg a are in stock.
// Expect memcg b to get none of them, and an empty stock to serve nobody.
TYPED_TEST(OneSlotStockTest, ServesItsOwnerOnly) {
  EXPECT_FALSE(this->Consume(&this->a_, 1));
  this->Refill(&this->a_, 5);
  EXPECT_FALSE(this->Consume(&this->b_, 1));
  EXPECT_EQ(this->held(), 5);
  EXPECT_TRUE(this->given_.empty());
}

// More pages are asked for than a batch holds.
// Expect a miss even when the stock could serve it: the kernel does not look.
TYPED_TEST(OneSlotStockTest, NeverServesMoreThanABatch) {
  this->Refill(&this->a_, 40);
  EXPECT_FALSE(this->Consume(&this->a_, 33));
  EXPECT_TRUE(this->Consume(&this->a_, 32));
}

// Pages of memcg a are in stock when memcg b's batch arrives.
// Expect a's pages to be given back, all of them and once, and b's to be in stock.
TYPED_TEST(OneSlotStockTest, RefillForAnotherMemcgDrains) {
  this->Refill(&this->a_, 31);
  EXPECT_TRUE(this->Consume(&this->a_, 1));
  this->Refill(&this->b_, 31);
  EXPECT_EQ(this->given_, (Given{{&this->a_, 30}}));
  EXPECT_TRUE(this->Consume(&this->b_, 31));
}

// The stock changes hands when it is empty.
// Expect nothing to be given back.
TYPED_TEST(OneSlotStockTest, EmptyStockGivesNothingBack) {
  this->Refill(&this->a_, 1);
  EXPECT_TRUE(this->Consume(&this->a_, 1));
  this->Refill(&this->b_, 2);
  EXPECT_TRUE(this->given_.empty());
  EXPECT_EQ(this->held(), 2);
}

// The same memcg refills again and again.
// Expect no upper cap, as in 4.0: nothing is given back.
TYPED_TEST(OneSlotStockTest, RefillsOfTheSameMemcgHaveNoCap) {
  for (int i = 0; i < 10; ++i) this->Refill(&this->a_, 31);
  EXPECT_EQ(this->held(), 310);
  EXPECT_TRUE(this->given_.empty());
}

// A stock with pages, and one without, is drained.
// Expect the pages to go back once, and the slot to be free afterwards.
TYPED_TEST(OneSlotStockTest, DrainGivesEverythingBackAndFreesTheSlot) {
  this->Refill(&this->a_, 7);
  this->stock_.drain_stock(this->Give());
  this->stock_.drain_stock(this->Give());
  EXPECT_EQ(this->given_, (Given{{&this->a_, 7}}));
  EXPECT_EQ(this->held(), 0);
  EXPECT_EQ(this->stock_.cached.load(), nullptr);
}

// A draining CPU asks whose pages the stock holds: never used, empty, and with pages.
// Expect one visit with memcg and pages when there are any, none otherwise, and the visitor's
// answer.
TYPED_TEST(OneSlotStockTest, AnySlotTellsWhosePagesItHolds) {
  Given seen;
  const auto visit = [&seen](Memcg* memcg, Pages n) {
    seen.emplace_back(memcg, n.n);
    return true;
  };
  EXPECT_FALSE(this->stock_.AnySlot(visit));
  this->Refill(&this->a_, 3);
  EXPECT_TRUE(this->stock_.AnySlot(visit));
  EXPECT_FALSE(this->stock_.AnySlot([](Memcg*, Pages) { return false; }));
  EXPECT_TRUE(this->Consume(&this->a_, 3));
  EXPECT_FALSE(this->stock_.AnySlot(visit));
  EXPECT_EQ(seen, (Given{{&this->a_, 3}}));
}

class OneSlotStockCostTest : public support::TracedTest {};

// A hit, and the two misses: another memcg's stock, an empty one.
// Expect a hit to read owner and pages and to subtract in place; misses to write nothing; no LOCK
// instruction anywhere.
TEST_F(OneSlotStockCostTest, HitIsTwoLoadsAndOneSubtraction) {
  using Stock = OneSlotStock<Tracing, Memcg>;
  Stock& stock = InCpuArea<Stock>(256);
  Memcg a;
  Memcg b;
  stock.refill_stock(&a, Pages(1), [](Memcg*, Pages) {});
  const auto consume = [&](Memcg* memcg) {
    return Count([&] { static_cast<void>(stock.consume_stock(memcg, Pages(1), kBatch)); });
  };
  const Counts other = consume(&b);
  EXPECT_EQ(other.loads, 1u);
  EXPECT_EQ(other.stores, 0u);
  const Counts hit = consume(&a);
  EXPECT_EQ(hit.loads, 3u);
  EXPECT_EQ(hit.stores, 1u);
  EXPECT_EQ(hit.percpu_incs, 1u);
  const Counts empty = consume(&a);
  EXPECT_EQ(empty.loads, 2u);
  EXPECT_EQ(empty.stores, 0u);
  EXPECT_EQ(other.rmw + hit.rmw + empty.rmw, 0u);
}

// FLUSHING_CACHED_CHARGE belongs to the drain of all stocks.
// Expect it where other CPUs can set it by a LOCK instruction, and the stock itself never to touch
// it.
TEST_F(OneSlotStockCostTest, FlushFlagIsLeftToTheDrain) {
  using Stock = OneSlotStock<Tracing, Memcg>;
  Stock& stock = InCpuArea<Stock>(256);
  Memcg a;
  stock.flags.store(Stock::kFlushingCachedCharge);
  stock.refill_stock(&a, Pages(2), [](Memcg*, Pages) {});
  EXPECT_TRUE(stock.consume_stock(&a, Pages(1), kBatch));
  stock.drain_stock([](Memcg*, Pages) {});
  EXPECT_TRUE(stock.flags.test_and_clear(Stock::kFlushingCachedCharge));
  EXPECT_FALSE(stock.flags.test_and_set(Stock::kFlushingCachedCharge));
}

}  // namespace
}  // namespace memsim
