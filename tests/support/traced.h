// Unit tests on the tracing machine: a small arena with one modelled CPU, and the counts of a block
// of code.
#ifndef MEMSIM_TESTS_SUPPORT_TRACED_H_
#define MEMSIM_TESTS_SUPPORT_TRACED_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "memsim/machine/arena.h"
#include "memsim/machine/tracing.h"

namespace memsim::support {

// Objects live in `arena`; the code inside Count() and Record() runs as CPU 0, whose per-CPU area
// starts with its head.
class TracedTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kAreaBytes = 4096;

  TracedTest()
      : arena_(size_t{1} << 20),
        area_(arena_.Reserve(kAreaBytes, 64)),
        binding_(arena_.base() + area_),
        context_(&arena_, BuildConfig{}) {
    native::Head().mailboxes = &mailboxes_;
    context_.SetCpuAreas(area_, area_ + kAreaBytes);
  }
  ~TracedTest() override { tracing::context = nullptr; }

  // All counts of `code`, whatever function they belong to.
  template <class Code>
  Counts Count(Code code) {
    context_.ResetCounts();
    tracing::context = &context_;
    code();
    tracing::context = nullptr;
    Counts sum;
    for (const auto& part : context_.counts().by_function) {
      for (const Counts& function : part) sum.Add(function);
    }
    return sum;
  }

  template <class Code>
  std::vector<TraceEvent> Record(Code code) {
    std::vector<TraceEvent> events;
    context_.Record(&events);
    Count(code);
    context_.Record(nullptr);
    return events;
  }

  // An object at a fixed place of the per-CPU area, behind the head.
  template <class T>
  T& InCpuArea(uint64_t offset) {
    return *reinterpret_cast<T*>(arena_.base() + area_ + offset);
  }

  Arena arena_;
  uint64_t area_;
  native::Binding binding_;
  Mailboxes mailboxes_{1};
  TraceContext context_;
};

}  // namespace memsim::support

#endif  // MEMSIM_TESTS_SUPPORT_TRACED_H_
