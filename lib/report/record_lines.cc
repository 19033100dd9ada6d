#include "lib/report/record_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "memsim/report/records.h"

namespace memsim {

namespace {

absl::Status CannotRead(const std::string& path, absl::string_view why) {
  return absl::NotFoundError(absl::StrCat("'", path, "' cannot be read: ", why, "; ", kValidRecords));
}

}  // namespace

int LockFile(int file, int operation) {
  constexpr int kTries = 200;
  for (int tries = 0; flock(file, operation | LOCK_NB) != 0; ++tries) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || tries == kTries) return errno;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return 0;
}

absl::Status ForEachLine(const std::string& path, const std::function<bool(const RecordLine&)>& take) {
  // Opening a pipe without a writer would wait for one.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return CannotRead(path, strerror(errno));
  const auto closer = absl::MakeCleanup([file] { close(file); });
  struct stat status;
  if (fstat(file, &status) != 0) return CannotRead(path, strerror(errno));
  if (!S_ISREG(status.st_mode)) return CannotRead(path, "it is not a regular file");
  LockFile(file, LOCK_SH);  // without it a line that is being written looks torn, which is harmless
  std::vector<char> buffer(size_t{1} << 16);
  std::string line;
  RecordLine now;
  const auto give = [&](bool torn) {
    ++now.number;
    now.text = line;
    now.torn = torn;
    const bool more = take(now);
    line.clear();
    now.too_long = false;
    return more;
  };
  bool begun = false;
  while (true) {
    const ssize_t n = read(file, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return CannotRead(path, strerror(errno));
    if (n == 0) break;
    absl::string_view rest(buffer.data(), static_cast<size_t>(n));
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      const absl::string_view piece = rest.substr(0, end);
      const size_t room = kMostRecordBytes - std::min(kMostRecordBytes, line.size());
      absl::StrAppend(&line, piece.substr(0, room));
      now.too_long = now.too_long || piece.size() > room;
      begun = end == absl::string_view::npos;
      rest.remove_prefix(begun ? rest.size() : end + 1);
      if (!begun && !give(/*torn=*/false)) return absl::OkStatus();
    }
  }
  if (begun) give(/*torn=*/true);
  return absl::OkStatus();
}

}  // namespace memsim
