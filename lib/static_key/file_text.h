// What a stretch of text would hold if nobody had ever written to it: the file's own pages.
//
// A flip of many pages lets threads run on in those (text.h, MoveAway), so they must be the same code but for
// our sites. They are not where text was relocated, copied to huge pages, or patched by somebody else.
#ifndef MEMSIM_LIB_STATIC_KEY_FILE_TEXT_H_
#define MEMSIM_LIB_STATIC_KEY_FILE_TEXT_H_

#include <cstdint>
#include <vector>

namespace memsim::static_key::internal {

// Whether [begin, end), whole pages, lies in one private, executable mapping of a file that holds the same
// bytes as memory, except in the sites that start at `sites`. False also when that cannot be found out.
bool SameAsFile(uintptr_t begin, uintptr_t end, const std::vector<uintptr_t>& sites);

}  // namespace memsim::static_key::internal

#endif  // MEMSIM_LIB_STATIC_KEY_FILE_TEXT_H_
