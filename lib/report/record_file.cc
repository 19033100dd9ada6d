// The writing side of records.h.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "lib/report/record_lines.h"
#include "memsim/report/records.h"

namespace memsim {

namespace {

constexpr absl::string_view kValid =
    "; valid: a new file, or one that --out wrote, where there is room to write";

absl::Status Wrong(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("--out '", path, "': ", why, kValid));
}

// What a killed writer left of a first record: its beginning, or the zeros of a block that was never
// written.
bool LooksTorn(absl::string_view text) {
  constexpr absl::string_view kBegin = "{\"schema\":\"memsim.record/";
  const absl::string_view begin = text.substr(0, kBegin.size());
  return begin == kBegin.substr(0, begin.size()) || text.find_first_not_of('\0') == absl::string_view::npos;
}

struct Lines {
  int64_t count = 0;  // whole ones
  off_t end = 0;      // of the last of them
  off_t size = 0;
};

// 0, or what went wrong.
int CountLines(int file, Lines& lines) {
  std::vector<char> buffer(size_t{1} << 16);
  while (true) {
    const ssize_t n = pread(file, buffer.data(), buffer.size(), lines.size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? 0 : errno;
    const absl::string_view text(buffer.data(), static_cast<size_t>(n));
    lines.count += std::count(text.begin(), text.end(), '\n');
    if (const size_t at = text.rfind('\n'); at != absl::string_view::npos) {
      lines.end = lines.size + static_cast<off_t>(at) + 1;
    }
    lines.size += n;
  }
}

// Removes what was written behind `size`, and says whether that worked.
absl::string_view TakeBack(int file, off_t size) {
  return ftruncate(file, size) == 0 ? ", the record is not in it"
                                    : ", and part of the record is left at its end";
}

// Whether what follows `begin` is a record that only lacks its end of line, as an editor leaves it.
bool IsRecord(int file, off_t begin, off_t size) {
  if (size - begin > static_cast<off_t>(kMostRecordBytes)) return false;
  std::string text(static_cast<size_t>(size - begin), '\0');
  const ssize_t n = pread(file, text.data(), text.size(), begin);
  return n == static_cast<ssize_t>(text.size()) && ParseRecord(text).ok();
}

// The name of a new file is on the disk only when its directory is.
void SyncDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int file = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

}  // namespace

absl::StatusOr<RecordFile> RecordFile::Check(const std::string& path) {
  struct stat status;
  if (path.empty()) return Wrong(path, "is empty");
  if (stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT || path.back() == '/') return Wrong(path, strerror(errno));
    // Made and removed under another name: another writer may be making the file itself.
    const std::string beside = absl::StrCat(path, ".", getpid(), ".tmp");
    const int file = open(beside.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0) return Wrong(path, strerror(errno));
    close(file);
    unlink(beside.c_str());
    return RecordFile(path);
  }
  if (S_ISDIR(status.st_mode)) return Wrong(path, "is a directory");
  if (!S_ISREG(status.st_mode)) return Wrong(path, "is not a regular file");
  if (access(path.c_str(), R_OK | W_OK) != 0) return Wrong(path, strerror(errno));
  bool ours = true;  // an empty file
  const absl::Status read = ForEachLine(path, [&ours](const RecordLine& line) {
    ours = ParseRecord(line.text).ok() || (line.torn && line.number == 1 && LooksTorn(line.text));
    return !ours;
  });
  if (!read.ok()) return read;
  if (!ours) return Wrong(path, "is not empty and holds no record");
  return RecordFile(path);
}

absl::StatusOr<int64_t> RecordFile::Append(const Record& record, std::string* repaired) const {
  std::string line = RecordLineOf(record);
  if (line.size() > kMostRecordBytes) {
    return Wrong(path_, absl::StrCat("the record has ", line.size(), " bytes"));
  }
  const int file = open(path_.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return Wrong(path_, strerror(errno));
  const auto closer = absl::MakeCleanup([file] { close(file); });  // unlocks, too
  if (const int error = LockFile(file, LOCK_EX); error != 0) {
    return Wrong(path_, error == EWOULDBLOCK ? "another program keeps it locked" : strerror(error));
  }
  Lines lines;
  if (const int error = CountLines(file, lines); error != 0) return Wrong(path_, strerror(error));
  off_t size = lines.size;
  if (lines.end < size && IsRecord(file, lines.end, size)) {
    line = absl::StrCat("\n", line);
    ++lines.count;
  } else if (lines.end < size) {
    if (ftruncate(file, lines.end) != 0) return Wrong(path_, strerror(errno));
    *repaired = absl::StrCat("'", path_, "' ended in ", size - lines.end,
                             " bytes of a record that a killed writer left: removed");
    size = lines.end;
  }
  ssize_t written;
  do {
    written = write(file, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(line.size())) {
    // A limit or a full disk cuts a write short, and says why only when asked for more.
    int error = written < 0 ? errno : ENOSPC;
    if (written >= 0 && write(file, line.data() + written, line.size() - static_cast<size_t>(written)) < 0) {
      error = errno;
    }
    return Wrong(path_, absl::StrCat(strerror(error), TakeBack(file, size)));
  }
  if (fsync(file) != 0) {
    const std::string why = strerror(errno);
    return Wrong(path_, absl::StrCat(why, TakeBack(file, size)));
  }
  if (size == 0) SyncDirectory(path_);
  return lines.count + 1;
}

}  // namespace memsim
