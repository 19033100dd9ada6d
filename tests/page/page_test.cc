#include "memsim/page/page.h"

#include <gtest/gtest.h>

#include "tests/support/traced.h"

namespace memsim {
namespace {

struct Memcg {};
using TracedPage = Page<Tracing, Memcg>;

class PageTest : public support::TracedTest {
 protected:
  TracedPage& page_ = *arena_.New<TracedPage>("page", 1, 64);
};

// The kernel's __SetPageUptodate(): a bit set with an immediate operand and no size suffix.
// Expect one read-modify-write of four bytes without LOCK, although the word has eight.
TEST_F(PageTest, SetPageUptodateIsFourBytesWithoutLock) {
  const auto events = Record([&] { page_.SetPageUptodate(); });
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].access.kind, AccessKind::kAdd);
  EXPECT_EQ(events[0].access.size, 4);
  EXPECT_TRUE(page_.Test(kPgUptodate));
}

// The zone's number lies in the top bits of the flags.
// Expect flags below to leave it alone, and it them.
TEST_F(PageTest, ZoneNumberAndFlagsShareAWord) {
  page_.flags.store(uint64_t{2} << kZoneShift);
  page_.SetPageUptodate();
  page_.flags.set(FlagBit(kPgLru));
  EXPECT_EQ(page_.zone_number(), 2);
  EXPECT_TRUE(page_.Test(kPgLru));
  EXPECT_FALSE(page_.Test(kPgLocked));
  EXPECT_FALSE(page_.flags.test_and_set(FlagBit(kPgLocked)));
  EXPECT_TRUE(page_.flags.test_and_set(FlagBit(kPgLocked)));
}

// Bit 0 of mapping says "anonymous".
// Expect the pointer to come back, and a page without a mapping not to be anonymous.
TEST_F(PageTest, AnonymousMappingIsTagged) {
  EXPECT_FALSE(page_.PageAnon());
  alignas(8) char mm[8];
  auto* pointer = reinterpret_cast<MmStruct<Tracing>*>(mm);
  page_.mapping.store(TracedPage::AnonMapping(pointer));
  EXPECT_TRUE(page_.PageAnon());
  EXPECT_EQ(TracedPage::MmOf(page_.mapping.load()), pointer);
}

// Two users; then one; then none.
// Expect the last one to be told, and nobody to get a reference of a page that is on its way out.
TEST_F(PageTest, LastReferenceIsToldAndGoneForGood) {
  page_._refcount.store(1);
  EXPECT_TRUE(page_.get_page_unless_zero());
  EXPECT_FALSE(page_.put_page_testzero());
  EXPECT_TRUE(page_.put_page_testzero());
  EXPECT_FALSE(page_.get_page_unless_zero());
  EXPECT_EQ(page_._refcount.load(), 0);
}

// Expect the list node of a page to lead back to it.
TEST_F(PageTest, LruNodeLeadsBackToThePage) { EXPECT_EQ(TracedPage::FromLru(&page_.lru), &page_); }

}  // namespace
}  // namespace memsim
