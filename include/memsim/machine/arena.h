// The arena: where all objects of one world live, at addresses that are the same in every run.
//
// A simulated address is an offset into the arena. Objects are placed in the order in which the world
// creates them, so the same configuration always gives the same addresses, whatever the host's
// allocator or address randomisation does. The arena remembers what it placed: that is how an access
// is named after (object, field) without the field itself carrying a name.
//
// Units     bytes
// Threads   placement is part of setup and single threaded; look-ups are const
// Errors    the arena is sized by the world; running out of it is a broken invariant and is checked
#ifndef MEMSIM_MACHINE_ARENA_H_
#define MEMSIM_MACHINE_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "memsim/internal/check.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/field_table.h"

namespace memsim {

namespace internal {

// Zeroed memory on huge pages where the host has them: the kernel reaches struct page and the pages it
// clears through mappings of that size, and where a small page happens to lie is noise.
class HugeMapping {
 public:
  explicit HugeMapping(size_t bytes);
  ~HugeMapping();
  HugeMapping(const HugeMapping&) = delete;
  HugeMapping& operator=(const HugeMapping&) = delete;
  // Null when the host gave none.
  std::byte* base() const { return base_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  size_t mapped_ = 0;
  void* start_ = nullptr;
  std::byte* base_ = nullptr;
};

}  // namespace internal

class Arena {
 public:
  // A run of `count` equal objects, `stride` bytes apart.
  struct Region {
    uint64_t begin;
    uint64_t stride;
    uint64_t count;
    std::string name;
    absl::string_view type;
    absl::Span<const FieldInfo> fields;
    uint64_t end() const { return begin + stride * count; }
  };

  // What lies at an offset.
  struct Location {
    const Region* region = nullptr;
    uint64_t index = 0;                // which object of the region
    uint64_t object_offset = 0;        // byte offset inside the object
    const FieldInfo* field = nullptr;  // null when between fields
    uint64_t element = 0;              // which array element of the field
  };

  explicit Arena(size_t bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Places `count` zero-initialised objects and names them. Zero bytes are a valid state of every
  // modelled structure, so a large array costs no host memory until it is touched.
  template <class T>
  T* New(std::string name, uint64_t count = 1, size_t align = alignof(T)) {
    static_assert(std::is_trivially_destructible_v<T>);
    static_assert(std::is_trivially_default_constructible_v<T>);
    const uint64_t at = Reserve(sizeof(T) * count, align);
    Name<T>(at, std::move(name), count, sizeof(T));
    return std::launder(reinterpret_cast<T*>(base() + at));
  }

  // Reserves raw bytes that Name() describes later (the per-CPU areas).
  uint64_t Reserve(uint64_t bytes, size_t align);

  template <class T>
  MEMSIM_COLD void Name(uint64_t at, std::string name, uint64_t count, uint64_t stride) {
    static constexpr auto kFields = T::Fields();
    static_assert(Covers(kFields, sizeof(T), alignof(T)), "a field is missing or out of order");
    AddRegion({at, stride, count, std::move(name), T::kTypeName, kFields});
  }

  std::byte* base() const { return mapping_.base(); }
  uint64_t used() const { return used_; }
  bool Contains(const void* p) const {
    return static_cast<const std::byte*>(p) >= base() &&
           static_cast<const std::byte*>(p) < base() + mapping_.size();
  }
  uint64_t OffsetOf(const void* p) const {
    MEMSIM_DCHECK(Contains(p), "a modelled object lives in its world's arena");
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - base());
  }

  Location Find(uint64_t offset) const;
  // "memcg child.memory.count", "page[17].mem_cgroup"
  std::string Describe(uint64_t offset) const;
  // The object a pointer value refers to: "memcg child", "page[17]"; "NULL" for 0.
  std::string DescribeObject(uint64_t offset) const;

 private:
  void AddRegion(Region region);

  internal::HugeMapping mapping_;
  uint64_t used_ = 0;
  std::vector<Region> regions_;  // ascending by begin
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_ARENA_H_
