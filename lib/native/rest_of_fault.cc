#include "memsim/page/rest_of_fault.h"

#include <sys/mman.h>

#include "absl/status/status.h"

namespace memsim {

namespace {
constexpr size_t kClearBytes = size_t{256} << 10;
constexpr size_t kFaultBytes = size_t{128} << 20;
}  // namespace

absl::StatusOr<std::unique_ptr<RestOfFault>> RestOfFault::Create(RestKind kind) {
  if (kind == RestKind::kNone) return nullptr;
  std::unique_ptr<RestOfFault> rest(new RestOfFault(kind));
  if (rest->memory_ == nullptr) {
    return absl::ResourceExhaustedError("the host has no memory for --rest; try --rest none");
  }
  return rest;
}

RestOfFault::RestOfFault(RestKind kind) : kind_(kind) {
  if (kind == RestKind::kClear) {
    bytes_ = kClearBytes;
    clear_ = std::make_unique<internal::HugeMapping>(bytes_);
    memory_ = reinterpret_cast<char*>(clear_->base());
    if (memory_ == nullptr) return;
    for (size_t at = 0; at < bytes_; at += kPageSize) static_cast<volatile char*>(memory_)[at] = 1;
    return;
  }
  bytes_ = kFaultBytes;
  void* memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<char*>(memory);
  madvise(memory, bytes_, MADV_NOHUGEPAGE);  // base pages: one real fault for each modelled one
}

RestOfFault::~RestOfFault() {
  if (clear_ == nullptr && memory_ != nullptr) munmap(memory_, bytes_);
}

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
