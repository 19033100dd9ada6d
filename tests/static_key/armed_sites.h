// Functions whose armed text is read. Compiled with -O2, whatever the tests are compiled with.
#ifndef MEMSIM_TESTS_STATIC_KEY_ARMED_SITES_H_
#define MEMSIM_TESTS_STATIC_KEY_ARMED_SITES_H_

#include "memsim/static_key/static_key.h"

namespace armed_sites {

DECLARE_STATIC_KEY_FALSE(off_key);
DECLARE_STATIC_KEY_TRUE(on_key);

// 7 while the key is enabled, 1 otherwise.
int OffUnlikely();
int OnLikely();
int OffLikely();
int OnUnlikely();

}  // namespace armed_sites

#endif  // MEMSIM_TESTS_STATIC_KEY_ARMED_SITES_H_
