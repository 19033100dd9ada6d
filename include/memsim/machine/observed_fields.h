// The four kinds of field for machines that watch every access (tracing, simulated).
//
// Shape     fields have the size and alignment of T and add no state: the observer finds out from the
//           address which object and field it is
// Threads   all modelled CPUs run on one host thread; the value itself is accessed plainly
// Errors    an access through an observer without a current CPU is setup and is free
//
// Contract of an observer: Before() may let other CPUs run first, so the value is read after it;
// After() sees the value before and after the access.
#ifndef MEMSIM_MACHINE_OBSERVED_FIELDS_H_
#define MEMSIM_MACHINE_OBSERVED_FIELDS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "memsim/machine/machine.h"

namespace memsim {

enum class AccessKind : uint8_t {
  kLoad,
  kStore,
  kAdd,   // read-modify-write without LOCK
  kRmw,   // LOCK instruction
};

enum class FieldKind : uint8_t { kCell, kRacy, kAtomic, kPerCpu, kLock };

// One modelled access, as an observer sees it.
struct Access {
  const void* address;
  uint8_t size;
  AccessKind kind;
  FieldKind field;
  bool pointer;  // the value is a pointer into the arena
};

namespace observed {

template <class T>
constexpr bool IsFunctionPointer() {
  return std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>;
}

// The value as a number. The address of a host function differs from run to run, so it counts as 0.
template <class T>
uint64_t Raw(T value) {
  uint64_t raw = 0;
  if constexpr (!IsFunctionPointer<T>()) std::memcpy(&raw, &value, sizeof(T));
  return raw;
}

template <class Obs, class T, FieldKind kField>
class Field {
 public:
  Field() = default;
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  T load() const {
    const Access access = Describe(AccessKind::kLoad);
    Obs::Before(access);
    const T value = value_;
    Obs::After(access, Raw(value), Raw(value));
    return value;
  }
  void store(T value) {
    const Access access = Describe(AccessKind::kStore);
    Obs::Before(access);
    const T before = value_;
    value_ = value;
    Obs::After(access, Raw(before), Raw(value));
  }

 protected:
  Access Describe(AccessKind kind, uint8_t size = sizeof(T)) const {
    return {&value_, size, kind, kField,
            std::is_pointer_v<T> && !IsFunctionPointer<T>()};
  }
  // Applies `change` to the value as one access; the value before it.
  template <class Change>
  T Modify(AccessKind kind, Change change, uint8_t size = sizeof(T)) {
    const Access access = Describe(kind, size);
    Obs::Before(access);
    const T before = value_;
    value_ = change(before);
    Obs::After(access, Raw(before), Raw(value_));
    return before;
  }

  T value_;
};

// Cell, Racy and PerCpu differ in who may access them, not in what they can do.
template <class Obs, class T, FieldKind kField>
class Plain : public Field<Obs, T, kField> {
 public:
  void add(T n) {
    this->Modify(AccessKind::kAdd, [n](T v) { return static_cast<T>(v + n); });
  }
};

template <class Obs, class T>
class Atomic : public Field<Obs, T, FieldKind::kAtomic> {
 public:
  T add_return(T n) { return static_cast<T>(Rmw([n](T v) { return static_cast<T>(v + n); }) + n); }
  void add(T n) { Rmw([n](T v) { return static_cast<T>(v + n); }); }
  bool cmpxchg(T& expected, T desired) {
    const T want = expected;
    expected = Rmw([&](T v) { return v == want ? desired : v; });
    return expected == want;
  }
  bool test_and_set(T bits) {
    return (Rmw([bits](T v) { return static_cast<T>(v | bits); }) & bits) != 0;
  }
  bool test_and_clear(T bits) {
    return (Rmw([bits](T v) { return static_cast<T>(v & ~bits); }) & bits) != 0;
  }
  void set(T bits) { Rmw([bits](T v) { return static_cast<T>(v | bits); }); }
  void clear(T bits) { Rmw([bits](T v) { return static_cast<T>(v & ~bits); }); }
  void SetBit32(int bit) {
    this->Modify(
        AccessKind::kAdd, [bit](T v) { return static_cast<T>(v | (T{1} << bit)); }, 4);
  }

 private:
  template <class Change>
  T Rmw(Change change) {
    return this->Modify(AccessKind::kRmw, change);
  }
};

}  // namespace observed
}  // namespace memsim

#endif  // MEMSIM_MACHINE_OBSERVED_FIELDS_H_
