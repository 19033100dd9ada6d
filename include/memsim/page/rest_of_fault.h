// What precedes a charge in a real fault, on the native machine: nothing, a cleared page, or a real
// page fault of this host.
//
// Units     bytes of host memory per modelled CPU
// Threads   one object per CPU, used by its thread alone
// Cost      none: one test. clear: an ordered entry, then zeroing 4 KiB, ordered too. fault: exception,
//           kernel fault path and page clear
// Errors    Create() fails when the host gives no memory
// Assumed   clear: the pages zeroed are taken round robin from 256 KiB, which a core's L2 holds, as it
//           holds a page just freed: memory's own time, which neighbours share, stays out of the numbers
// Ordered   a fault's entry waits for every earlier instruction, as an exception's does; so does the
//           zeroing, which a real fault reaches after thousands of instructions. Without the two a path's
//           tail hides behind the next zeroing, and what a path costs depends on where its code lies
//           (seen: disabled at -6 to 38 % of enabled without, at 13 to 23 % with them)
#ifndef MEMSIM_PAGE_REST_OF_FAULT_H_
#define MEMSIM_PAGE_REST_OF_FAULT_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/status/statusor.h"
#include "memsim/internal/compiler.h"
#include "memsim/machine/arena.h"
#include "memsim/units.h"

namespace memsim {

enum class RestKind : uint8_t { kNone, kClear, kFault };

class RestOfFault {
 public:
  // Null for kNone.
  static absl::StatusOr<std::unique_ptr<RestOfFault>> Create(RestKind kind);
  ~RestOfFault();
  RestOfFault(const RestOfFault&) = delete;
  RestOfFault& operator=(const RestOfFault&) = delete;

  // At the start of a modelled fault: kFault takes a real one.
  void Enter() {
    if (kind_ == RestKind::kFault) {
      TouchPage(memory_ + next_);
      Advance();
    } else {
      internal::WaitForEarlierInstructions();
    }
  }
  // Where the kernel zeroes the page.
  void ClearPage() {
    if (kind_ != RestKind::kClear) return;
    internal::WaitForEarlierInstructions();
    ZeroPage(memory_ + next_);
    Advance();
  }
  // Outside the timed part: makes every page of the real region fault again.
  void Recycle();
  // Zeroes one page as the kernel does. Out of line, so that a profile can tell it from the modelled path.
  static void ZeroPage(char* page);

 private:
  explicit RestOfFault(RestKind kind);
  void Advance() {
    next_ += kPageSize;
    if (next_ == bytes_) [[unlikely]] Wrap();
  }
  void Wrap();
  static void TouchPage(char* page);  // out of line for the same reason as ZeroPage()

  RestKind kind_;
  std::unique_ptr<internal::HugeMapping> clear_;  // kClear
  char* memory_ = nullptr;                        // what clear_ holds, or a mapping of our own
  size_t bytes_ = 0;
  size_t next_ = 0;
};

}  // namespace memsim

#endif  // MEMSIM_PAGE_REST_OF_FAULT_H_
