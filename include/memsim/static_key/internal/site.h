// A branch site in the code and its record: the part of static keys that the compiler, the assembler and
// the linker have to understand.
//
// Shape     record: five 32-bit distances, each relative to its own address, so that records need no
//           relocation at run time and stay read-only
// Why so    key by template argument: "i"(&key) does not compile with -fPIC for a key others may replace.
//           anchor: a hidden object that points to the key, which every compiler accepts in every mode.
//           "?": the record shares the fate of its function (COMDAT). "R": --gc-sections of lld would
//           drop the records of live sites silently; with it dead functions keep theirs
#ifndef MEMSIM_STATIC_KEY_INTERNAL_SITE_H_
#define MEMSIM_STATIC_KEY_INTERNAL_SITE_H_

#include <cstddef>
#include <cstdint>

#include "memsim/static_key/static_key.h"

namespace memsim::static_key::internal {

struct Record {
  int32_t site;    // the patched instruction
  int32_t jump;    // where it jumps to when it is a jump
  int32_t test;    // the out-of-line test of the key
  int32_t anchor;  // holds the address of the key
  int32_t likely;  // 1: enabled is a NOP; 0: enabled is a jump
};
static_assert(sizeof(Record) == 20);

template <auto& kKey>
struct Anchor {
  [[gnu::visibility("hidden")]] static inline constinit const Key* const key = &kKey.key;
};
template <auto& kKeys, size_t kIndex>
struct AnchorAt {
  static_assert(kIndex < sizeof(kKeys) / sizeof(kKeys[0]), "index beyond the array of keys");
  [[gnu::visibility("hidden")]] static inline constinit const Key* const key = &kKeys[kIndex].key;
};

#if defined(__x86_64__)
#define MEMSIM_SITE_INSN "1:\n\t.byte 0xe9\n\t.long %l[test] - 2f\n2:\n\t"
#define MEMSIM_SITE_CONSTANT "i"
#elif defined(__aarch64__)
#define MEMSIM_SITE_INSN "1:\n\tb %l[test]\n\t"
#define MEMSIM_SITE_CONSTANT "S"
#endif

// clang++ takes every target of an asm goto for unlikely.
#if defined(__clang__)
#define MEMSIM_SITE_COLD
#else
#define MEMSIM_SITE_COLD __attribute__((cold));
#endif

#if defined(MEMSIM_SITE_INSN)
#define MEMSIM_SITE(anchor)                                                       \
  asm goto(MEMSIM_SITE_INSN                                                       \
           ".pushsection memsim_static_key_sites,\"a?R\",%%progbits\n\t"          \
           ".balign 4\n\t"                                                        \
           ".long 1b - .\n\t"                                                     \
           ".long %l[jump] - .\n\t"                                               \
           ".long %l[test] - .\n\t"                                               \
           ".long %c0 - .\n\t"                                                    \
           ".long %c1\n\t"                                                        \
           ".popsection"                                                          \
           :                                                                      \
           : MEMSIM_SITE_CONSTANT(&anchor), "i"(kLikely ? 1 : 0)                  \
           :                                                                      \
           : jump, test);                                                         \
  return kLikely;                                                                 \
test:                                                                             \
  MEMSIM_SITE_COLD                                                                \
  if (anchor->enabled.load(std::memory_order_relaxed) > 0) return true;           \
  return false;                                                                   \
jump:                                                                             \
  return !kLikely;
#else
// An architecture nobody has taught us: the test itself.
#define MEMSIM_SITE(anchor) return anchor->enabled.load(std::memory_order_relaxed) > 0;
#endif

template <auto& kKey, bool kLikely>
__attribute__((always_inline)) inline bool Branch() {
  MEMSIM_SITE(Anchor<kKey>::key)
}
template <auto& kKeys, size_t kIndex, bool kLikely>
__attribute__((always_inline)) inline bool BranchAt() {
  using Element = AnchorAt<kKeys, kIndex>;
  MEMSIM_SITE(Element::key)
}

#undef MEMSIM_SITE
#undef MEMSIM_SITE_INSN
#undef MEMSIM_SITE_CONSTANT
#undef MEMSIM_SITE_COLD

// The records of one image (program or shared library). Every translation unit announces them; the
// registry counts.
void Register(const Record* begin, const Record* end);
void Unregister(const Record* begin);

extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const Record __start_memsim_static_key_sites[];
[[gnu::weak, gnu::visibility("hidden")]] extern const Record __stop_memsim_static_key_sites[];
}

// Hidden: a library's destructor must not be the program's, which would give back the program's sites.
struct [[gnu::visibility("hidden")]] Image {
  Image() { Register(__start_memsim_static_key_sites, __stop_memsim_static_key_sites); }
  ~Image() { Unregister(__start_memsim_static_key_sites); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
};
// Internal linkage on purpose: an inline variable's guard could be another image's.
[[gnu::used]] static const Image this_image;

}  // namespace memsim::static_key::internal

#endif  // MEMSIM_STATIC_KEY_INTERNAL_SITE_H_
