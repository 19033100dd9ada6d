#include "tests/static_key/shared_sites.h"

namespace shared_sites {

bool InlinedElsewhere() { return Inlined(); }
bool InstantiatedElsewhere() { return Instantiated(1); }

}  // namespace shared_sites
