// The contract of a machine: the four kinds of field behave alike on native, tracing and simulated.
#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "memsim/machine/build_config.h"
#include "memsim/machine/machine.h"
#include "memsim/machine/native.h"
#include "memsim/machine/simulated.h"
#include "memsim/machine/tracing.h"

namespace memsim {
namespace {

using NativeMachine = Native<BuildConfig{}>;
static_assert(Machine<NativeMachine>);
static_assert(Machine<Tracing>);
static_assert(Machine<Simulated>);

// A field adds no state, cannot be copied, and does not turn into its value by itself: a copy,
// `auto` or a conversion would bypass the machine.
template <class Field, class T>
constexpr bool kHasFieldShape =
    sizeof(Field) == sizeof(T) && alignof(Field) == alignof(T) &&
    std::is_trivially_default_constructible_v<Field>&& std::is_trivially_destructible_v<Field> &&
    !std::is_copy_constructible_v<Field> && !std::is_copy_assignable_v<Field> &&
    !std::is_convertible_v<Field, T> && !std::is_assignable_v<Field&, T>;
template <class M, class T>
constexpr bool kHasFieldShapes = kHasFieldShape<typename M::template Cell<T>, T>&& kHasFieldShape<
    typename M::template Racy<T>, T>&& kHasFieldShape<typename M::template Atomic<T>, T>&&
    kHasFieldShape<typename M::template PerCpu<T>, T>;
template <class M>
constexpr bool kHasAllFieldShapes = kHasFieldShapes<M, int32_t>&& kHasFieldShapes<M, uint32_t>&&
    kHasFieldShapes<M, int64_t>&& kHasFieldShapes<M, uint64_t>&& kHasFieldShapes<M, void*>;
static_assert(kHasAllFieldShapes<NativeMachine>);
static_assert(kHasAllFieldShapes<Tracing>);
static_assert(kHasAllFieldShapes<Simulated>);

template <class M>
class FieldsTest : public ::testing::Test {};
struct MachineNames {
  template <class M>
  static std::string GetName(int) {
    return std::string(M::kName);
  }
};
using Machines = ::testing::Types<NativeMachine, Tracing, Simulated>;
TYPED_TEST_SUITE(FieldsTest, Machines, MachineNames);

template <class Field>
void ExpectLoadsStoresAndAdds() {
  Field field{};
  EXPECT_EQ(field.load(), 0) << "zero bytes are a valid state";
  field.store(40);
  EXPECT_EQ(field.load(), 40);
  field.add(5);
  field.add(-3);
  EXPECT_EQ(field.load(), 42);
}

// The three kinds that are modified without LOCK, signed, of both sizes.
// Expect load(), store() and add() to be what they say.
TYPED_TEST(FieldsTest, PlainKindsLoadStoreAndAdd) {
  ExpectLoadsStoresAndAdds<typename TypeParam::template Cell<int64_t>>();
  ExpectLoadsStoresAndAdds<typename TypeParam::template Racy<int64_t>>();
  ExpectLoadsStoresAndAdds<typename TypeParam::template PerCpu<int64_t>>();
  ExpectLoadsStoresAndAdds<typename TypeParam::template Cell<int32_t>>();
  ExpectLoadsStoresAndAdds<typename TypeParam::template Racy<int32_t>>();
  ExpectLoadsStoresAndAdds<typename TypeParam::template PerCpu<int32_t>>();
  ExpectLoadsStoresAndAdds<typename TypeParam::template Atomic<int64_t>>();
}

// Unsigned fields are decremented by adding the wrapped-round negative, as the stock does.
// Expect arithmetic modulo the field's own width.
TYPED_TEST(FieldsTest, UnsignedAddWrapsAtTheFieldsWidth) {
  typename TypeParam::template Racy<uint32_t> racy{};
  racy.store(3);
  racy.add(static_cast<uint32_t>(-3));
  EXPECT_EQ(racy.load(), 0u);
  typename TypeParam::template PerCpu<uint64_t> percpu{};
  percpu.store(1);
  percpu.add(static_cast<uint64_t>(-2));
  EXPECT_EQ(percpu.load(), UINT64_MAX);
}

// Expect pointers, NULL included, to come back as they were stored.
TYPED_TEST(FieldsTest, PointersAreLoadedAndStored) {
  int object = 0;
  typename TypeParam::template Cell<int*> cell{};
  typename TypeParam::template Racy<int*> racy{};
  cell.store(&object);
  racy.store(nullptr);
  EXPECT_EQ(cell.load(), &object);
  EXPECT_EQ(racy.load(), nullptr);
}

// Expect the value after the change, as the kernel's atomic_long_add_return() gives it.
TYPED_TEST(FieldsTest, AtomicAddReturnGivesTheNewValue) {
  typename TypeParam::template Atomic<int64_t> atomic{};
  atomic.store(10);
  EXPECT_EQ(atomic.add_return(32), 42);
  EXPECT_EQ(atomic.add_return(-42), 0);
  EXPECT_EQ(atomic.load(), 0);
}

// Expect success to store, and failure to store nothing and to report what was there.
TYPED_TEST(FieldsTest, AtomicCmpxchgReportsWhatItSaw) {
  typename TypeParam::template Atomic<int32_t> atomic{};
  atomic.store(1);
  int32_t expected = 1;
  EXPECT_TRUE(atomic.cmpxchg(expected, 2));
  EXPECT_EQ(atomic.load(), 2);
  expected = 1;
  EXPECT_FALSE(atomic.cmpxchg(expected, 3));
  EXPECT_EQ(expected, 2);
  EXPECT_EQ(atomic.load(), 2);
}

// Expect the test to be of the bits before the change, and other bits untouched.
TYPED_TEST(FieldsTest, AtomicBitOperations) {
  typename TypeParam::template Atomic<uint64_t> atomic{};
  atomic.store(uint64_t{1} << 63);
  EXPECT_FALSE(atomic.test_and_set(6));
  EXPECT_TRUE(atomic.test_and_set(2));
  EXPECT_EQ(atomic.load(), (uint64_t{1} << 63) | 6);
  EXPECT_TRUE(atomic.test_and_clear(4));
  EXPECT_FALSE(atomic.test_and_clear(4));
  atomic.set(8);
  atomic.clear(2);
  EXPECT_EQ(atomic.load(), (uint64_t{1} << 63) | 8);
}

// The kernel's __set_bit() with a constant writes four bytes of an eight-byte word.
// Expect the bit set and the upper half as it was.
TYPED_TEST(FieldsTest, SetBit32LeavesTheUpperHalf) {
  typename TypeParam::template Atomic<uint64_t> atomic{};
  atomic.store(0xc000000000000001u);
  atomic.SetBit32(3);
  EXPECT_EQ(atomic.load(), 0xc000000000000009u);
}

// A lock is taken twice, one block after the other.
// Expect the guard to release it, and the lock to be one word of 32 bits.
TYPED_TEST(FieldsTest, SpinGuardReleasesTheLock) {
  typename TypeParam::SpinLock lock{};
  for (int i = 0; i < 2; ++i) {
    const SpinGuard hold(lock);
  }
  EXPECT_EQ(sizeof(lock), 4u);
}

}  // namespace
}  // namespace memsim
