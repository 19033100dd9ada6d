#include "lib/simulated/fiber.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

#include "memsim/internal/compiler.h"

#if defined(__has_feature)
#define MEMSIM_HAS_FEATURE(x) __has_feature(x)
#else
#define MEMSIM_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || MEMSIM_HAS_FEATURE(address_sanitizer)
#define MEMSIM_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define MEMSIM_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || MEMSIM_HAS_FEATURE(thread_sanitizer)
#define MEMSIM_TSAN 1
#include <sanitizer/tsan_interface.h>
#else
#define MEMSIM_TSAN 0
#endif

namespace memsim {

namespace {

constexpr size_t kStackBytes = size_t{256} << 10;

// Hands out a guarded stack and remembers where it is, for the sanitizers.
class RecordingAllocator {
 public:
  RecordingAllocator(void** bottom, size_t* size) : inner_(kStackBytes), bottom_(bottom), size_(size) {}
  boost::context::stack_context allocate() {
    boost::context::stack_context stack = inner_.allocate();
    *bottom_ = static_cast<char*>(stack.sp) - stack.size;
    *size_ = stack.size;
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) {
#if MEMSIM_ASAN
    // The frames that were left last are still marked; whatever is mapped here next would inherit the marks.
    __asan_unpoison_memory_region(static_cast<char*>(stack.sp) - stack.size, stack.size);
#endif
    inner_.deallocate(stack);
  }

 private:
  boost::context::protected_fixedsize_stack inner_;
  void** bottom_;
  size_t* size_;
};

}  // namespace

SimFiber::SimFiber(std::function<void()> body)
    : body_(std::move(body)),
      fiber_(std::allocator_arg, RecordingAllocator(&stack_bottom_, &stack_size_),
             [this](boost::context::fiber&& scheduler) {
               scheduler_ = std::move(scheduler);
               AnnounceBackInFiber();
               try {
                 body_();
               } catch (const boost::context::detail::forced_unwind&) {
                 AnnounceSwitchToScheduler(true);  // the destructor waits there
                 throw;
               }
               finished_ = true;
               AnnounceSwitchToScheduler(true);
               return std::move(scheduler_);
             }) {
#if MEMSIM_TSAN
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
}

SimFiber::~SimFiber() {
  if (fiber_ && started_) {
    // A fiber that will never go on (a deadlock): its stack is unwound, so it runs once more.
    AnnounceSwitchToFiber();
    fiber_ = boost::context::fiber();
    AnnounceBackInScheduler();
  }
#if MEMSIM_TSAN
  __tsan_destroy_fiber(tsan_fiber_);
#endif
}

void SimFiber::Resume() {
  started_ = true;
  AnnounceSwitchToFiber();
  fiber_ = std::move(fiber_).resume();
  AnnounceBackInScheduler();
}

void SimFiber::Yield() {
  struct Back {
    explicit Back(SimFiber* fiber_in) : fiber(fiber_in) {}
    ~Back() { fiber->AnnounceBackInFiber(); }  // by return or, when the fiber is unwound, by exception
    SimFiber* fiber;
  };
  AnnounceSwitchToScheduler(false);
  const Back back(this);
  scheduler_ = std::move(scheduler_).resume();
}

void SimFiber::AnnounceSwitchToFiber() {
#if MEMSIM_ASAN
  __sanitizer_start_switch_fiber(&scheduler_fake_stack_, stack_bottom_, stack_size_);
#endif
#if MEMSIM_TSAN
  tsan_scheduler_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_fiber_, 0);
#endif
}

void SimFiber::AnnounceBackInScheduler() {
#if MEMSIM_ASAN
  __sanitizer_finish_switch_fiber(scheduler_fake_stack_, nullptr, nullptr);
#endif
}

void SimFiber::AnnounceSwitchToScheduler([[maybe_unused]] bool last) {
#if MEMSIM_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack_, scheduler_bottom_, scheduler_size_);
#endif
#if MEMSIM_TSAN
  __tsan_switch_to_fiber(tsan_scheduler_, 0);
#endif
}

void SimFiber::AnnounceBackInFiber() {
#if MEMSIM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &scheduler_bottom_, &scheduler_size_);
#endif
}

}  // namespace memsim
