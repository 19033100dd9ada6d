// What callgrind found out about a program: instructions and calls of every function, apart for every chain
// of callers (--separate-callers).
//
// Format    callgrind's own profile format, version 1, one event (Ir), without compressed names or positions
// Errors    DataLoss for what is no such profile, or one whose parts do not add up to its total
#ifndef MEMSIM_LIB_MEASURE_CALLGRIND_H_
#define MEMSIM_LIB_MEASURE_CALLGRIND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace memsim {

struct CallgrindFunction {
  std::vector<std::string> chain;  // its symbol, that of its caller, and so on
  uint64_t instructions = 0;       // of itself, not of what it calls
  uint64_t calls = 0;
};

absl::StatusOr<std::vector<CallgrindFunction>> ParseCallgrind(absl::string_view text);

// The words in front of a program's own that make callgrind count while control is in the function of that
// name, which must not call itself, and write `profile` in the format above.
std::vector<std::string> CallgrindWords(absl::string_view function, absl::string_view profile);

}  // namespace memsim

#endif  // MEMSIM_LIB_MEASURE_CALLGRIND_H_
