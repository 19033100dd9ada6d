// A file that is there whole or not at all.
#ifndef MEMSIM_TOOLS_MEMSIM_OUTPUT_FILE_H_
#define MEMSIM_TOOLS_MEMSIM_OUTPUT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memsim {

class OutputFile {
 public:
  // Whether `path`, the value of `option`, could be written now; leaves nothing behind.
  // Errors    InvalidArgument, one line with the path and what would be valid
  static absl::StatusOr<OutputFile> Check(const std::string& path, const char* option = "--output");
  // Writes beside it and renames, so that nobody ever sees a part.
  absl::Status Write(const std::string& text) const;
  const std::string& path() const { return path_; }

 private:
  OutputFile(std::string path, std::string target, const char* option)
      : path_(std::move(path)), target_(std::move(target)), option_(option) {}

  std::string path_;    // as given
  std::string target_;  // what a link leads to
  const char* option_;
};

}  // namespace memsim

#endif  // MEMSIM_TOOLS_MEMSIM_OUTPUT_FILE_H_
