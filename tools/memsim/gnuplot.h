// Pictures by gnuplot, which need not be installed.
#ifndef MEMSIM_TOOLS_MEMSIM_GNUPLOT_H_
#define MEMSIM_TOOLS_MEMSIM_GNUPLOT_H_

#include <string>

#include "absl/status/statusor.h"

namespace memsim {

// What gnuplot writes to its standard output for a script.
// Errors    NotFound when there is no gnuplot; FailedPrecondition with its first words when it fails
absl::StatusOr<std::string> Gnuplot(const std::string& script);

}  // namespace memsim

#endif  // MEMSIM_TOOLS_MEMSIM_GNUPLOT_H_
