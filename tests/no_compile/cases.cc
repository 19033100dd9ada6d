// One translation unit, one case at a time: -DCASE_<NAME> switches a line on that must not compile.
#include "memsim/machine/tracing.h"
#include "memsim/memcg/world.h"
#include "models/kernels/v4_0.h"

namespace memsim {

using M = Native<V4_0::kConfig>;
using T = DataBundle<V4_0, M>;

void Control(T::Memcg& memcg, T::Page& page, World<T>& world) {
  const int64_t usage = memcg.memory.count.load();
  Pages pages(3);
#if defined(CASE_COPY_FIELD)  // a copy of a field would slip past the machine
  const M::Cell<uint64_t> copy = memcg.stat;
#elif defined(CASE_AUTO_FIELD)
  auto copy = memcg.soft_limit;
#elif defined(CASE_CONVERT_FIELD)  // so would a conversion
  const int64_t value = memcg.high;
#elif defined(CASE_ASSIGN_FIELD)
  memcg.high = 3;
#elif defined(CASE_BARE_PAGES)  // a bare integer is not a number of pages
  pages = 3;
#elif defined(CASE_COPY_PAGE)  // linked objects stay where they are
  const T::Page copy = page;
#elif defined(CASE_COPY_LIST)
  ListHead<M> copy = page.lru;
#elif defined(CASE_COPY_WORLD)
  World<T> copy = world;
#endif
  static_cast<void>(usage);
  static_cast<void>(pages);
  static_cast<void>(page);
  static_cast<void>(world);
}

}  // namespace memsim
