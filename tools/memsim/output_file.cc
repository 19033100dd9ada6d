#include "tools/memsim/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace memsim {

namespace {

absl::Status Wrong(const char* option, const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " '", path, "': ", why, "; valid: a file in a directory that can be written"));
}

std::string Beside(const std::string& target) { return absl::StrCat(target, ".", getpid(), ".tmp"); }

// -1 with errno set.
int CreateBeside(const std::string& target) {
  return open(Beside(target).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
}

// 0, or what went wrong.
int WriteAll(int file, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? ENOSPC : errno;
    written += static_cast<size_t>(n);
  }
  return fsync(file) == 0 ? 0 : errno;
}

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Check(const std::string& path, const char* option) {
  namespace fs = std::filesystem;
  if (path.empty()) return Wrong(option, path, "is empty");
  if (path.back() == '/') return Wrong(option, path, "is a directory");
  std::error_code error;
  std::string target = path;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return Wrong(option, path, "is a directory");
  // Renaming over a device would replace it.
  if (fs::exists(status) && !fs::is_regular_file(status)) return Wrong(option, path, "is not a regular file");
  if (fs::exists(status)) {
    target = fs::canonical(path, error).string();
    if (error) return Wrong(option, path, error.message());
    if (access(target.c_str(), W_OK) != 0) return Wrong(option, path, strerror(errno));
  }
  const int file = CreateBeside(target);
  if (file < 0) return Wrong(option, path, strerror(errno));
  close(file);
  unlink(Beside(target).c_str());
  return OutputFile(path, std::move(target), option);
}

absl::Status OutputFile::Write(const std::string& text) const {
  const int file = CreateBeside(target_);
  if (file < 0) return Wrong(option_, path_, strerror(errno));
  int error = WriteAll(file, text);
  close(file);
  if (error == 0 && std::rename(Beside(target_).c_str(), target_.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  unlink(Beside(target_).c_str());
  return Wrong(option_, path_, strerror(error));
}

}  // namespace memsim
