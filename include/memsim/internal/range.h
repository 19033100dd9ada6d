// The one answer to a number that is out of range.
#ifndef MEMSIM_INTERNAL_RANGE_H_
#define MEMSIM_INTERNAL_RANGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace memsim::internal {

// `what` is the flag or the quantity. Errors    InvalidArgument with the valid range
inline absl::Status CheckRange(absl::string_view what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " ", value, "; valid: ", least, " to ", most));
}

}  // namespace memsim::internal

#endif  // MEMSIM_INTERNAL_RANGE_H_
