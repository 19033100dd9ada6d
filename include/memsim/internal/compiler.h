// What we ask of the compiler, in one place.
#ifndef MEMSIM_INTERNAL_COMPILER_H_
#define MEMSIM_INTERNAL_COMPILER_H_

// A modelled kernel function that is out of line in the kernel stays out of line here, so that perf
// and callgrind see the kernel's own boundaries. The empty asm keeps the call itself: without it a
// compiler may drop a call whose body turned out to be empty, which no kernel build can do because
// the caller lives in another file. For the same reason g++ must not look into the body when it
// compiles a caller (noipa); clang++ does not for functions with external linkage.
#if defined(__clang__)
#define MEMSIM_OUT_OF_LINE __attribute__((noinline))
#else
#define MEMSIM_OUT_OF_LINE __attribute__((noipa))
#endif
#define MEMSIM_KEEP_CALL() asm volatile("")

// A kernel function that the kernel's compiler inlined into its caller.
#define MEMSIM_INLINED __attribute__((always_inline)) inline

// The rare path of a kernel function (a stock miss, reclaim): out of line and away from the hot text.
#define MEMSIM_COLD __attribute__((noinline, cold))

// Stops the compiler from moving memory accesses across this point; no instruction.
#define MEMSIM_BARRIER() asm volatile("" ::: "memory")

// Other CPUs see the stores before this point no later than those behind it; and loads before it are done
// no later than those behind it. x86 keeps stores in order, and loads, by itself. For loads not even the
// compiler is told: that would forbid it to keep values in registers, and whoever uses this has calls
// that it cannot look into, and a lock, between the two.
#if defined(__x86_64__)
#define MEMSIM_STORES_IN_ORDER() MEMSIM_BARRIER()
#define MEMSIM_LOADS_IN_ORDER() static_cast<void>(0)
#else
#define MEMSIM_STORES_IN_ORDER() __atomic_thread_fence(__ATOMIC_RELEASE)
#define MEMSIM_LOADS_IN_ORDER() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

namespace memsim::internal {

// No later instruction starts before every earlier one is complete, as on entry to an exception.
inline void WaitForEarlierInstructions() {
#if defined(__x86_64__)
  asm volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dsb nsh\n\tisb" ::: "memory");
#else
  __sync_synchronize();
#endif
}

}  // namespace memsim::internal

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMSIM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEMSIM_SANITIZED 1
#endif
#endif
#ifndef MEMSIM_SANITIZED
#define MEMSIM_SANITIZED 0
#endif

#endif  // MEMSIM_INTERNAL_COMPILER_H_
