// Checks of our own invariants. A wrong input is an absl::Status; a broken invariant ends the program.
#ifndef MEMSIM_INTERNAL_CHECK_H_
#define MEMSIM_INTERNAL_CHECK_H_

namespace memsim::internal {

[[noreturn]] __attribute__((cold, noinline)) void CheckFailed(const char* file, int line,
                                                              const char* condition,
                                                              const char* why);

}  // namespace memsim::internal

// Always on. `why` says what the invariant protects.
#define MEMSIM_CHECK(condition, why)                                               \
  do {                                                                             \
    if (!(condition)) [[unlikely]] {                                               \
      ::memsim::internal::CheckFailed(__FILE__, __LINE__, #condition, why);        \
    }                                                                              \
  } while (false)

// On the hot path: only in builds without NDEBUG.
#ifdef NDEBUG
#define MEMSIM_DCHECK(condition, why) static_cast<void>(0)
#else
#define MEMSIM_DCHECK(condition, why) MEMSIM_CHECK(condition, why)
#endif

#endif  // MEMSIM_INTERNAL_CHECK_H_
