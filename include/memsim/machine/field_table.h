// The field table: what a modelled structure looks like, said once.
//
// Each modelled structure has a static constexpr function Fields() that lists every field with its
// offset, size, writer and purpose. The table names accesses in tracing, prints `memsim layout`, and
// is checked at compile time to cover sizeof: a forgotten field or a shifted offset does not build.
#ifndef MEMSIM_MACHINE_FIELD_TABLE_H_
#define MEMSIM_MACHINE_FIELD_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"

namespace memsim {

// Who may write a field while the system runs.
enum class Writer : uint8_t {
  kSetup,   // written when the object is set up, then only read
  kOwnCpu,  // its own CPU, without a lock or LOCK prefix
  kLock,    // whoever holds the lock named in the purpose
  kAnyCpu,  // any CPU, with a LOCK instruction
  kRacy,    // any CPU, without a lock, on purpose
  kNone,    // not modelled: present so that offsets and lines are the kernel's
};

constexpr absl::string_view WriterName(Writer writer) {
  switch (writer) {
    case Writer::kSetup: return "setup";
    case Writer::kOwnCpu: return "own-cpu";
    case Writer::kLock: return "locked";
    case Writer::kAnyCpu: return "atomic";
    case Writer::kRacy: return "racy";
    case Writer::kNone: return "-";
  }
  return "?";
}

struct FieldInfo {
  absl::string_view name;
  uint32_t offset;
  uint32_t size;
  Writer writer;
  absl::string_view purpose;
  uint32_t element = 0;  // size of one element when the field is an array, else 0
};

// The fields lie one after the other; a gap of less than 8 bytes is alignment padding, and so is the
// tail up to the structure's own alignment.
template <size_t N>
constexpr bool Covers(const std::array<FieldInfo, N>& fields, size_t size, size_t align) {
  uint32_t at = 0;
  for (const FieldInfo& f : fields) {
    if (f.offset < at || f.offset - at >= 8) return false;
    at = f.offset + f.size;
  }
  return at <= size && size - at < (align > 8 ? align : 8);
}

// Bytes of the kernel's structure that the charge path never touches.
template <size_t N>
struct Unmodelled {
  unsigned char bytes[N];
};

}  // namespace memsim

// One row of a field table; `Self` is the structure.
#define MEMSIM_FIELD(Self, member, writer, purpose)                                         \
  ::memsim::FieldInfo {                                                                     \
    #member, static_cast<uint32_t>(offsetof(Self, member)),                                 \
        static_cast<uint32_t>(sizeof(std::declval<Self&>().member)), ::memsim::Writer::writer, purpose, 0   \
  }
#define MEMSIM_FIELD_ARRAY(Self, member, writer, purpose)                                   \
  ::memsim::FieldInfo {                                                                     \
    #member, static_cast<uint32_t>(offsetof(Self, member)),                                 \
        static_cast<uint32_t>(sizeof(std::declval<Self&>().member)), ::memsim::Writer::writer, purpose,     \
        static_cast<uint32_t>(sizeof(std::declval<Self&>().member[0]))                                      \
  }

#endif  // MEMSIM_MACHINE_FIELD_TABLE_H_
