// Another program, run to its end. Nothing is left in the file system, however this process ends.
//
// Input     `input` as standard input, else that of this process
// Output    standard output, standard error and file descriptor kExtraFile are files in memory: a program
//           that writes to a file by name is given kExtraPath
// Threads   blocks; looks at `stop` all the time and kills the program when it is set
// Errors    NotFound when $PATH has no such program; Cancelled after `stop`. A program that fails is no error
#ifndef MEMSIM_LIB_MEASURE_PROGRAM_H_
#define MEMSIM_LIB_MEASURE_PROGRAM_H_

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memsim {

inline constexpr int kExtraFile = 3;
inline constexpr const char* kExtraPath = "/proc/self/fd/3";

struct ProgramResult {
  int status = 0;  // exit status, or minus the signal that ended it
  std::string out, err, extra;
};

// `words` are the program and its arguments.
absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& words,
                                         const std::atomic<bool>* stop,
                                         const std::string* input = nullptr);

}  // namespace memsim

#endif  // MEMSIM_LIB_MEASURE_PROGRAM_H_
