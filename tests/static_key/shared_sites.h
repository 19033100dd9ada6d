// Sites in headers: inline functions and templates that several translation units compile.
#ifndef MEMSIM_TESTS_STATIC_KEY_SHARED_SITES_H_
#define MEMSIM_TESTS_STATIC_KEY_SHARED_SITES_H_

#include "memsim/static_key/static_key.h"

namespace shared_sites {

inline DEFINE_STATIC_KEY_FALSE(header_key);

struct Holder {
  static inline DEFINE_STATIC_KEY_TRUE(class_key);
};

inline bool Inlined() { return static_branch_unlikely(&header_key); }

template <class T>
__attribute__((noinline)) bool Instantiated(T) {
  return static_branch_likely(&Holder::class_key);
}

// What the other translation unit sees.
bool InlinedElsewhere();
bool InstantiatedElsewhere();

}  // namespace shared_sites

#endif  // MEMSIM_TESTS_STATIC_KEY_SHARED_SITES_H_
