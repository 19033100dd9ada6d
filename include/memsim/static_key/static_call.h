// Static calls: calls through a pointer that changes rarely, made direct by patching.
//
//   int Slow(int);
//   DEFINE_STATIC_CALL(hook, Slow);
//   static_call(hook)(3);                  // call to a trampoline that is one direct jump
//   static_call_update(hook, &Fast);       // all callers, in all threads
//
// Mirrors   include/linux/static_call.h, the out-of-line variant (CONFIG_HAVE_STATIC_CALL without
//           CONFIG_HAVE_STATIC_CALL_INLINE): callers call the trampoline, the trampoline is patched
// Shape     trampoline: JMP *slot(%rip) in the file, JMP rel32 to the target once patched
// Threads   calls: any. Updates: any, one at a time in the process
// Cost      a call and a direct jump; where patching is refused, or the target is over 2 GiB away, a call
//           and an indirect jump. On other architectures than x86-64 an indirect call
// Errors    static_call_update() returns a Result; after an error the old target stays
// Left out  inline call sites; calls without a target (static_call_cond); use across shared libraries
//           by name: a static call belongs to the image that defines it
#ifndef MEMSIM_STATIC_KEY_STATIC_CALL_H_
#define MEMSIM_STATIC_KEY_STATIC_CALL_H_

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "memsim/static_key/static_key.h"

namespace memsim::static_key::internal {

// The slot of a static call, whatever the type of its function.
struct CallKey {
  std::atomic<uintptr_t> target;
};
template <class F>
struct TypedCallKey {
  std::atomic<F*> target;
};
static_assert(sizeof(TypedCallKey<void()>) == sizeof(CallKey));

// The record's `likely` of a trampoline.
inline constexpr int kCallRecord = 2;

Result UpdateCall(CallKey* call, uintptr_t target);

template <auto& kKey>
struct CallAnchor {
  [[gnu::visibility("hidden")]] static inline constinit const void* const key = &kKey;
};

#if defined(__x86_64__)
#if defined(__clang__)
#define MEMSIM_TRAMPOLINE __attribute__((naked, noinline, visibility("hidden")))
#else
#define MEMSIM_TRAMPOLINE __attribute__((naked, noipa, visibility("hidden")))
#endif
#define MEMSIM_TRAMPOLINE_CODE                                                             \
  asm volatile(                                                                            \
      "1:\n\tjmp *%c0(%%rip)\n\t"                                                          \
      ".pushsection memsim_static_key_sites,\"a?R\",%%progbits\n\t"                        \
      ".balign 4\n\t"                                                                      \
      ".long 1b - .\n\t.long 0\n\t.long 0\n\t.long %c1 - .\n\t.long %c2\n\t"              \
      ".popsection"                                                                        \
      :                                                                                    \
      : "i"(&kKey), "i"(&CallAnchor<kKey>::key), "i"(kCallRecord))
// Of the function's own type, so that a call through it is an ordinary call.
template <class F, auto& kKey>
struct Trampoline;
template <class R, class... Args, auto& kKey>
struct Trampoline<R(Args...), kKey> {
  MEMSIM_TRAMPOLINE static R Code(Args...) { MEMSIM_TRAMPOLINE_CODE; }
};
template <class R, class... Args, auto& kKey>
struct Trampoline<R(Args...) noexcept, kKey> {
  MEMSIM_TRAMPOLINE static R Code(Args...) noexcept { MEMSIM_TRAMPOLINE_CODE; }
};
#undef MEMSIM_TRAMPOLINE_CODE
#undef MEMSIM_TRAMPOLINE
#endif

template <class F, auto& kKey>
__attribute__((always_inline)) inline F* Callee() {
#if defined(__x86_64__)
  return &Trampoline<F, kKey>::Code;
#else
  return kKey.target.load(std::memory_order_relaxed);
#endif
}

}  // namespace memsim::static_key::internal

#define DEFINE_STATIC_CALL(name, function)                                                      \
  struct name {                                                                                 \
    using Function = std::remove_pointer_t<std::decay_t<decltype(function)>>;                   \
    [[gnu::visibility("hidden")]] static inline constinit                                       \
        ::memsim::static_key::internal::TypedCallKey<Function> key{{&function}};                \
    static ::memsim::static_key::Result Update(Function* target) {                              \
      return ::memsim::static_key::internal::UpdateCall(                                        \
          reinterpret_cast<::memsim::static_key::internal::CallKey*>(&key),                     \
          reinterpret_cast<uintptr_t>(target));                                                 \
    }                                                                                           \
  }
#define static_call(name) (::memsim::static_key::internal::Callee<name::Function, name::key>())
#define static_call_update(name, function) (name::Update(function))

#endif  // MEMSIM_STATIC_KEY_STATIC_CALL_H_
