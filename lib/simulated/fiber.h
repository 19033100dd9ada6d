// One simulated CPU's stack: a Boost.Context fiber behind a small wrapper, with a guard page below the
// stack and the announcements that AddressSanitizer and ThreadSanitizer need to follow a switch.
#ifndef MEMSIM_LIB_SIMULATED_FIBER_H_
#define MEMSIM_LIB_SIMULATED_FIBER_H_

#include <boost/context/fiber.hpp>
#include <functional>

namespace memsim {

class SimFiber {
 public:
  explicit SimFiber(std::function<void()> body);
  ~SimFiber();
  SimFiber(const SimFiber&) = delete;
  SimFiber& operator=(const SimFiber&) = delete;

  // From the scheduler: runs the fiber until it yields or its body returns.
  void Resume();
  // From inside the fiber: back to the scheduler.
  void Yield();
  bool finished() const { return finished_; }

 private:
  void AnnounceSwitchToFiber();
  void AnnounceBackInScheduler();
  void AnnounceSwitchToScheduler(bool last);
  void AnnounceBackInFiber();

  std::function<void()> body_;
  bool started_ = false;
  bool finished_ = false;
  // Before fiber_, whose construction fills them in.
  void* stack_bottom_ = nullptr;
  size_t stack_size_ = 0;
  boost::context::fiber fiber_;
  boost::context::fiber scheduler_;
  // Sanitizer state; each unused in some builds.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] void* scheduler_fake_stack_ = nullptr;
  [[maybe_unused]] const void* scheduler_bottom_ = nullptr;
  [[maybe_unused]] size_t scheduler_size_ = 0;
  [[maybe_unused]] void* tsan_fiber_ = nullptr;
  [[maybe_unused]] void* tsan_scheduler_ = nullptr;
};

}  // namespace memsim

#endif  // MEMSIM_LIB_SIMULATED_FIBER_H_
