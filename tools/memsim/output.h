// What the program does with standard output, standard error and Ctrl-C.
#ifndef MEMSIM_TOOLS_MEMSIM_OUTPUT_H_
#define MEMSIM_TOOLS_MEMSIM_OUTPUT_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace memsim {

inline constexpr int kOk = 0;
inline constexpr int kWrong = 2;          // wrong input, or output that cannot be written
inline constexpr int kInterrupted = 130;  // Ctrl-C: what was printed is marked partial

// Before anything opens a file: refuses a closed standard output, whose number the next file would get.
int CheckStandardOutput();
// Writes all of it; kOk or, after one line on standard error, kWrong.
int Print(const std::string& text);
// One line on standard error; kWrong.
int Refuse(const absl::Status& status);

// Set by Ctrl-C; a second Ctrl-C ends the program at once.
const std::atomic<bool>* InstallInterrupt();

// "timing 40 %" on one line of a terminal, nothing when standard error is something else.
class Progress {
 public:
  ~Progress();
  void Show(absl::string_view what, double done);

 private:
  int last_ = -1;
  std::string what_;
};

}  // namespace memsim

#endif  // MEMSIM_TOOLS_MEMSIM_OUTPUT_H_
