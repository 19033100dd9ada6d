// The instructions a site can be, by architecture.
//
// Shape     x86-64: NOP5 (0f 1f 44 00 00), JMP rel32, INT3 in front of a stale tail; a static call's
//           trampoline is JMP *slot(%rip) in the file and JMP rel32 when patched
//           AArch64: NOP, B, BRK, each one aligned word, which the architecture lets us exchange
#ifndef MEMSIM_LIB_STATIC_KEY_SITE_CODE_H_
#define MEMSIM_LIB_STATIC_KEY_SITE_CODE_H_

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memsim::static_key::internal {

#if defined(__x86_64__)
inline constexpr bool kKnownArchitecture = true;
inline constexpr size_t kSiteBytes = 5;
inline constexpr size_t kHeadBytes = 1;  // what a breakpoint replaces
inline constexpr uint8_t kBreakpoint[kHeadBytes] = {0xcc};
inline constexpr const char* kForms = "5-byte NOP or JMP";
inline constexpr bool kMayMove = true;  // pages of code: tried on x86-64 only

struct Code {
  uint8_t bytes[kSiteBytes];
};
inline Code Nop() { return {{0x0f, 0x1f, 0x44, 0x00, 0x00}}; }
inline bool CanJump(uintptr_t from, uintptr_t to) {
  const auto distance = static_cast<int64_t>(to - (from + kSiteBytes));
  return distance == static_cast<int32_t>(distance);
}
inline Code Jump(uintptr_t from, uintptr_t to) {
  Code code{{0xe9}};
  const auto distance = static_cast<int32_t>(to - (from + kSiteBytes));
  std::memcpy(code.bytes + 1, &distance, sizeof(distance));
  return code;
}
// Where the breakpoint is that stopped this thread.
inline uintptr_t TrapAddress(const ucontext_t& context) {
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]) - 1;
}
inline void ContinueAt(ucontext_t& context, uintptr_t at) {
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(at);
}
#elif defined(__aarch64__)
inline constexpr bool kKnownArchitecture = true;
inline constexpr size_t kSiteBytes = 4;
inline constexpr size_t kHeadBytes = 4;
inline constexpr uint8_t kBreakpoint[kHeadBytes] = {0x00, 0x00, 0x20, 0xd4};
inline constexpr const char* kForms = "4-byte NOP or B";
inline constexpr bool kMayMove = false;

struct Code {
  uint8_t bytes[kSiteBytes];
};
inline Code Nop() { return {{0x1f, 0x20, 0x03, 0xd5}}; }
inline bool CanJump(uintptr_t from, uintptr_t to) {
  const auto distance = static_cast<int64_t>(to - from);
  return distance >= -(int64_t{1} << 27) && distance < int64_t{1} << 27;
}
inline Code Jump(uintptr_t from, uintptr_t to) {
  const uint32_t word = 0x14000000U | (static_cast<uint32_t>((to - from) >> 2) & 0x03ffffffU);
  Code code;
  std::memcpy(code.bytes, &word, sizeof(word));
  return code;
}
inline uintptr_t TrapAddress(const ucontext_t& context) { return context.uc_mcontext.pc; }
inline void ContinueAt(ucontext_t& context, uintptr_t at) { context.uc_mcontext.pc = at; }
#else
inline constexpr bool kKnownArchitecture = false;
inline constexpr size_t kSiteBytes = 4;
inline constexpr size_t kHeadBytes = 4;
inline constexpr uint8_t kBreakpoint[kHeadBytes] = {};
inline constexpr const char* kForms = "none";
inline constexpr bool kMayMove = false;
struct Code {
  uint8_t bytes[kSiteBytes];
};
inline Code Nop() { return {}; }
inline bool CanJump(uintptr_t, uintptr_t) { return false; }
inline Code Jump(uintptr_t, uintptr_t) { return {}; }
inline uintptr_t TrapAddress(const ucontext_t&) { return 0; }
inline void ContinueAt(ucontext_t&, uintptr_t) {}
#endif

inline bool operator==(const Code& a, const Code& b) {
  return std::memcmp(a.bytes, b.bytes, kSiteBytes) == 0;
}
inline Code CodeAt(uintptr_t at) {
  Code code;
  std::memcpy(code.bytes, reinterpret_cast<const void*>(at), kSiteBytes);
  return code;
}
inline bool IsBreakpoint(const Code& code) {
  return std::memcmp(code.bytes, kBreakpoint, kHeadBytes) == 0;
}

}  // namespace memsim::static_key::internal

#endif  // MEMSIM_LIB_STATIC_KEY_SITE_CODE_H_
