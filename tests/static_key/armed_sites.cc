#include "tests/static_key/armed_sites.h"

namespace armed_sites {

DEFINE_STATIC_KEY_FALSE(off_key);
DEFINE_STATIC_KEY_TRUE(on_key);

int OffUnlikely() { return static_branch_unlikely(&off_key) ? 7 : 1; }
int OnLikely() { return static_branch_likely(&on_key) ? 7 : 1; }
int OffLikely() { return static_branch_likely(&off_key) ? 7 : 1; }
int OnUnlikely() { return static_branch_unlikely(&on_key) ? 7 : 1; }

}  // namespace armed_sites
