// The reference count of a memcg, and the way from a task to it.
#include "memsim/memcg/css.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/session.h"
#include "tests/support/traced.h"

namespace memsim {
namespace {

class CssTest : public support::TracedTest {
 protected:
  static constexpr uint64_t kCount = 512;  // where the per-CPU count is

  Css<Tracing>& Make(bool root) {
    auto& css = *arena_.New<Css<Tracing>>(root ? "root" : "child", 1, 64);
    css.ref_ptr.store(kCount);
    css.flags.store(root ? kCssNoRef : 0);
    return css;
  }
  int64_t references() { return InCpuArea<Css<Tracing>::PerCpuCount>(kCount).load(); }
};

// Expect a child to be counted in the per-CPU count of the current CPU: flags, pointer, one add.
TEST_F(CssTest, ChildIsCountedPerCpu) {
  Css<Tracing>& child = Make(false);
  const Counts get = Count([&] { EXPECT_TRUE(child.css_tryget_online()); });
  EXPECT_EQ(references(), 1);
  EXPECT_EQ(get.loads, 3u);
  EXPECT_EQ(get.stores, 1u);
  EXPECT_EQ(get.percpu_incs, 1u);
  EXPECT_EQ(get.rmw, 0u);
  Count([&] { child.css_get_many(32); });
  EXPECT_EQ(references(), 33);
  Count([&] { child.css_put(); });
  Count([&] { child.css_put_many(32); });
  EXPECT_EQ(references(), 0);
}

// Root has CSS_NO_REF.
// Expect a load of the flags, and no count, whatever is asked.
TEST_F(CssTest, RootIsNotCounted) {
  Css<Tracing>& root = Make(true);
  const Counts counts = Count([&] {
    EXPECT_TRUE(root.css_tryget_online());
    root.css_put();
    root.css_get_many(32);
    root.css_put_many(7);
  });
  EXPECT_EQ(references(), 0);
  EXPECT_EQ(counts.loads, 4u);
  EXPECT_EQ(counts.stores, 0u);
  EXPECT_EQ(counts.percpu_incs, 0u);
}

class CssSessionTest : public ::testing::TestWithParam<const Kernel*> {};
INSTANTIATE_TEST_SUITE_P(Kernels, CssSessionTest,
                         ::testing::ValuesIn(AllKernels().begin(), AllKernels().end()),
                         [](const auto& param) { return support::TestName(param.param->name); });

// 40 pages are faulted in by a child two levels down.
// Expect one reference per charged page, those in stock included, on the memcg that was charged
// alone: two batches of 32. After drain and unmap none is left.
TEST_P(CssSessionTest, EveryChargedPageHoldsAReferenceOfItsMemcg) {
  auto session = support::Open(*GetParam(), MachineKind::kTracing,
                               support::ConfigOf(*GetParam(), support::ChainPlan(2)));
  support::Execute(*session, {support::Fault(0, 40)});
  EXPECT_EQ(session->ReadLedger().memcgs[2].references, 64);
  EXPECT_EQ(session->ReadLedger().memcgs[1].references, 0);
  EXPECT_EQ(session->ReadLedger().memcgs[0].references, 0);
  session->Drain();
  EXPECT_EQ(session->ReadLedger().memcgs[2].references, 40);
  support::Execute(*session, {support::Unmap(0, 40)});
  EXPECT_EQ(session->ReadLedger().memcgs[2].references, 0);
}

// A fault of a child.
// Expect the way to its memcg to be a chain of dependent loads over five objects, in this order,
// and walked twice: for the event and for the charge.
TEST_P(CssSessionTest, TaskLeadsToTheMemcgOverFiveLines) {
  auto session = support::Open(*GetParam(), MachineKind::kTracing,
                               support::ConfigOf(*GetParam(), support::ChainPlan(1)));
  support::Execute(*session, {support::Fault(0, 2)});
  std::vector<std::string> chain;
  for (const TraceEvent& e : support::EventsOf(*session, {support::Fault(2, 1)})) {
    if (e.type != TraceEvent::Type::kAccess || e.access.kind != AccessKind::kLoad) continue;
    const std::string field = session->arena().Describe(e.offset);
    for (const char* link : {"mm 0.owner", "task 0.cgroups", "level1.css_set.subsys_memory"}) {
      if (field == link) chain.push_back(field);
    }
  }
  const std::vector<std::string> expected = {
      "mm 0.owner", "task 0.cgroups", "level1.css_set.subsys_memory",
      "mm 0.owner", "task 0.cgroups", "level1.css_set.subsys_memory"};
  EXPECT_EQ(chain, expected);
}

}  // namespace
}  // namespace memsim
