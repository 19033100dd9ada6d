// Reads a file line by line without trusting it: it may be short, huge, or no text at all.
#ifndef MEMSIM_LIB_REPORT_RECORD_LINES_H_
#define MEMSIM_LIB_REPORT_RECORD_LINES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace memsim {

inline constexpr absl::string_view kValidRecords = "valid: a file that `memsim compare ... --out FILE` wrote";

struct RecordLine {
  int64_t number = 0;      // from 1
  absl::string_view text;  // without its end; of one that is too long, the beginning
  bool too_long = false;   // more than kMostRecordBytes
  bool torn = false;       // the file ends before the line does
};

// Calls take(line) for each line until it says false. Holds a shared lock, where the file system has locks.
// Errors    NotFound or InvalidArgument with `path` when it is no regular file that can be read
absl::Status ForEachLine(const std::string& path, const std::function<bool(const RecordLine&)>& take);

// Locks an open file, `operation` as in flock(), for at most ten seconds. 0 or errno.
int LockFile(int file, int operation);

}  // namespace memsim

#endif  // MEMSIM_LIB_REPORT_RECORD_LINES_H_
