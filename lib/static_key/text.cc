#include "lib/static_key/text.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace memsim::static_key::internal {

namespace {

TextFault text_fault = nullptr;

int Fault(TextOp op) { return text_fault == nullptr ? 0 : text_fault(op); }

int MemBarrier(int command) {
  return static_cast<int>(syscall(SYS_membarrier, command, 0, 0)) < 0 ? errno : 0;
}

int WriteAll(int fd, const uint8_t* bytes, size_t size, off_t at) {
  while (size > 0) {
    const ssize_t n = pwrite(fd, bytes, size, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    bytes += n;
    size -= static_cast<size_t>(n);
    at += n;
  }
  return 0;
}

}  // namespace

void SetTextFault(TextFault fault) { text_fault = fault; }

std::string TextError::Text() const { return std::string(call) + ": " + std::strerror(error); }

TextError Text::Open(TextWay way) {
  way_ = way;
  if (const int error = MemBarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE)) {
    return {"membarrier(REGISTER_PRIVATE_EXPEDITED_SYNC_CORE)", error};
  }
  return Reopen();
}

TextError Text::Reopen() {
  const int pid = getpid();
  if (pid == pid_ || way_ != TextWay::kProcMem) return {};
  if (fd_ >= 0) close(fd_);
  fd_ = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (fd_ < 0) return {"open(/proc/self/mem)", errno};
  pid_ = pid;
  return {};
}

void Text::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  pid_ = 0;
}

TextError Text::Write(uintptr_t at, const uint8_t* bytes, size_t size, bool undo) {
  if (const int error = Fault(undo ? TextOp::kUndoWrite : TextOp::kWrite)) {
    return {way_ == TextWay::kProcMem ? "pwrite(/proc/self/mem)" : "mmap", error};
  }
  if (way_ == TextWay::kReplace) return Replace(at, bytes, size);
  if (const int error = WriteAll(fd_, bytes, size, static_cast<off_t>(at))) {
    return {"pwrite(/proc/self/mem)", error};
  }
  return {};
}

TextError Text::Replace(uintptr_t at, const uint8_t* bytes, size_t size) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = at & ~(page - 1);
  const uintptr_t end = (at + size + page - 1) & ~(page - 1);
  const int fd = static_cast<int>(syscall(SYS_memfd_create, "static_key text", 1U /* MFD_CLOEXEC */));
  if (fd < 0) return {"memfd_create", errno};
  TextError result;
  int error = WriteAll(fd, reinterpret_cast<const uint8_t*>(begin), end - begin, 0);
  if (error == 0) error = WriteAll(fd, bytes, size, static_cast<off_t>(at - begin));
  if (error != 0) {
    result = {"pwrite(memfd)", error};
  } else if (syscall(SYS_mmap, begin, end - begin, long{PROT_READ | PROT_EXEC},
                     long{MAP_PRIVATE | MAP_FIXED}, long{fd}, 0L) == -1) {
    // Not mmap(): ThreadSanitizer's keeps a shadow, and has none for text. syscall() takes longs.
    result = {"mmap(MAP_FIXED)", errno};
  }
  close(fd);
  return result;
}

// System calls: the sanitizers' mremap() keeps shadows, and has none for text.
TextError Text::MoveAway(uintptr_t begin, size_t size, uintptr_t* place) {
  constexpr long kFlags = MREMAP_MAYMOVE | 4;  // MREMAP_DONTUNMAP, Linux 5.13 for mappings of files
  int error = Fault(TextOp::kMove);
  const long moved = error != 0 ? -1 : syscall(SYS_mremap, begin, size, size, kFlags, 0L);
  if (error == 0 && moved == -1) error = errno;
  if (error != 0) return {"mremap(MREMAP_DONTUNMAP)", error};
  *place = static_cast<uintptr_t>(moved);
  return {};
}

TextError Text::SetWritable(uintptr_t place, size_t size, bool writable) {
  int error = Fault(TextOp::kMove);
  const long access = PROT_READ | (writable ? PROT_WRITE : PROT_EXEC);
  if (error == 0 && syscall(SYS_mprotect, place, size, access) == -1) error = errno;
  if (error != 0) return {"mprotect", error};
  return {};
}

TextError Text::MoveBack(uintptr_t place, uintptr_t begin, size_t size) {
  constexpr long kFlags = MREMAP_MAYMOVE | MREMAP_FIXED;
  int error = Fault(TextOp::kMove);
  if (error == 0 && syscall(SYS_mremap, place, size, size, kFlags, begin) == -1) error = errno;
  if (error != 0) return {"mremap(MREMAP_FIXED)", error};
  return {};
}

void Text::Drop(uintptr_t place, size_t size) { syscall(SYS_munmap, place, size); }

TextError Text::Barrier(bool undo) {
  int error = Fault(undo ? TextOp::kUndoBarrier : TextOp::kBarrier);
  ++barriers_;
  if (error == 0) error = MemBarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
  if (error != 0) return {"membarrier(PRIVATE_EXPEDITED_SYNC_CORE)", error};
  return {};
}

}  // namespace memsim::static_key::internal
