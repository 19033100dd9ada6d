#include "memsim/page/rest_of_fault.h"

#include <sys/mman.h>

#include "absl/status/status.h"

namespace memsim {

namespace {
constexpr size_t kClearBytes = size_t{16} << 20;
constexpr size_t kFaultBytes = size_t{128} << 20;
}  // namespace

absl::StatusOr<std::unique_ptr<RestOfFault>> RestOfFault::Create(RestKind kind) {
  if (kind == RestKind::kNone) return nullptr;
  const size_t bytes = kind == RestKind::kClear ? kClearBytes : kFaultBytes;
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError("the host has no memory for --rest; try --rest none");
  }
  // Base pages: one real fault for each modelled one.
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  if (kind == RestKind::kClear) {
    for (size_t at = 0; at < bytes; at += kPageSize) static_cast<volatile char*>(memory)[at] = 1;
  }
  return std::unique_ptr<RestOfFault>(new RestOfFault(kind, static_cast<char*>(memory), bytes));
}

RestOfFault::~RestOfFault() { munmap(memory_, bytes_); }

void RestOfFault::Recycle() {
  if (kind_ != RestKind::kFault || next_ == 0) return;
  madvise(memory_, next_, MADV_DONTNEED);
  next_ = 0;
}

void RestOfFault::TouchPage(char* page) { *static_cast<volatile char*>(page) = 1; }

void RestOfFault::ZeroPage(char* page) {
#if defined(__x86_64__)
  // The kernel's clear_page_erms.
  size_t count = kPageSize;
  void* to = page;
  asm volatile("rep stosb" : "+c"(count), "+D"(to) : "a"(0) : "memory");
#else
  __builtin_memset(page, 0, kPageSize);
  asm volatile("" ::: "memory");
#endif
}

void RestOfFault::Wrap() {
  if (kind_ == RestKind::kFault) {
    Recycle();
  } else {
    next_ = 0;
  }
}

}  // namespace memsim
