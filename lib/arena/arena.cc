#include "memsim/machine/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "memsim/units.h"

namespace memsim {

namespace internal {
void CheckFailed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "memsim: broken invariant at %s:%d: %s (%s)\n", file, line, condition, why);
  std::abort();
}
}  // namespace internal

namespace {
constexpr size_t kHugePage = size_t{2} << 20;
}  // namespace

namespace internal {

HugeMapping::HugeMapping(size_t bytes) : size_((bytes + kHugePage - 1) / kHugePage * kHugePage) {
  mapped_ = size_ + kHugePage;
  void* p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return;
  start_ = p;
  const uintptr_t at = reinterpret_cast<uintptr_t>(p);
  base_ = static_cast<std::byte*>(p) + (kHugePage - at % kHugePage) % kHugePage;
  madvise(base_, size_, MADV_HUGEPAGE);  // a refusal costs precision, not correctness
}

HugeMapping::~HugeMapping() {
  if (start_ != nullptr) munmap(start_, mapped_);
}

}  // namespace internal

Arena::Arena(size_t bytes) : mapping_(bytes) {
  MEMSIM_CHECK(mapping_.base() != nullptr, "address space for the world");
}

uint64_t Arena::Reserve(uint64_t bytes, size_t align) {
  const uint64_t at = (used_ + align - 1) / align * align;
  MEMSIM_CHECK(at + bytes <= mapping_.size(), "the world computes the size of its arena beforehand");
  used_ = at + bytes;
  return at;
}

void Arena::AddRegion(Region region) {
  const auto after = std::upper_bound(
      regions_.begin(), regions_.end(), region.begin,
      [](uint64_t at, const Region& other) { return at < other.begin; });
  regions_.insert(after, std::move(region));
}

Arena::Location Arena::Find(uint64_t offset) const {
  Location location;
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), offset,
                       [](uint64_t at, const Region& other) { return at < other.begin; });
  if (after == regions_.begin()) return location;
  const Region& region = *(after - 1);
  if (offset >= region.end()) return location;
  location.region = &region;
  location.index = (offset - region.begin) / region.stride;
  location.object_offset = (offset - region.begin) % region.stride;
  for (const FieldInfo& field : region.fields) {
    if (location.object_offset < field.offset) break;
    if (location.object_offset >= field.offset + field.size) continue;
    location.field = &field;
    if (field.element != 0) location.element = (location.object_offset - field.offset) / field.element;
    break;
  }
  return location;
}

std::string Arena::DescribeObject(uint64_t offset) const {
  const Location at = Find(offset);
  if (at.region == nullptr) return absl::StrCat("+", absl::Hex(offset));
  if (at.region->count == 1) return at.region->name;
  return absl::StrCat(at.region->name, "[", at.index, "]");
}

std::string Arena::Describe(uint64_t offset) const {
  const Location at = Find(offset);
  if (at.field == nullptr) return DescribeObject(offset);
  std::string text = absl::StrCat(DescribeObject(offset), ".", at.field->name);
  if (at.field->element != 0) absl::StrAppend(&text, "[", at.element, "]");
  return text;
}

}  // namespace memsim
