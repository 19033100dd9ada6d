// Writing code that runs, and telling every CPU about it. The only place that does either.
//
// Mirrors   text_poke() and text_poke_sync() (the kernel writes through a second mapping; a process has
//           /proc/self/mem, which may write to private read-only pages)
// Moving    pages of code can be taken out from under the threads that run there (MREMAP_DONTUNMAP): these
//           go on in the file's own pages. What was taken away is nobody's code until it is back, and is
//           made writable for that time, and not executable
// Never     a mapping that is writable and executable at once; mprotect of code where it runs
// Errors    errno of the call that failed, which TextError names
#ifndef MEMSIM_LIB_STATIC_KEY_TEXT_H_
#define MEMSIM_LIB_STATIC_KEY_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace memsim::static_key::internal {

// What a test may make fail: called before each operation, a non-zero answer is the errno it fails with.
enum class TextOp { kWrite, kBarrier, kMove, kUndoWrite, kUndoBarrier };
using TextFault = int (*)(TextOp op);
void SetTextFault(TextFault fault);

struct TextError {
  const char* call = nullptr;  // null: no error
  int error = 0;
  bool ok() const { return call == nullptr; }
  std::string Text() const;
};

// How bytes reach the code. `kReplace` maps a private copy of the page over it: for emulators that keep
// translations of the old page, and for an undo when writing is refused.
enum class TextWay { kProcMem, kReplace };

class Text {
 public:
  // Opens what `way` needs. Errors    open, membarrier (registration)
  TextError Open(TextWay way);
  void Close();
  TextWay way() const { return way_; }
  // Replaces `size` bytes at `at`; threads that execute there see old or new bytes of each instruction's
  // head, which is why callers put a breakpoint there first.
  TextError Write(uintptr_t at, const uint8_t* bytes, size_t size, bool undo);
  TextError Replace(uintptr_t at, const uint8_t* bytes, size_t size);
  // Whole pages, of which threads find the file's code from now on.
  // Errors    mremap: nothing has moved
  TextError MoveAway(uintptr_t begin, size_t size, uintptr_t* place);
  // Of what is away: rw-, or r-x again. Errors    mprotect: as it was
  TextError SetWritable(uintptr_t place, size_t size, bool writable);
  // Errors    mremap: still away
  TextError MoveBack(uintptr_t place, uintptr_t begin, size_t size);
  // Gives up what is away.
  void Drop(uintptr_t place, size_t size);
  // After it every thread of the process executes what was written before it.
  TextError Barrier(bool undo);
  // An inherited descriptor means the parent's memory. Errors    open
  TextError Reopen();
  long barriers() const { return barriers_; }

 private:
  TextWay way_ = TextWay::kProcMem;
  int fd_ = -1;
  int pid_ = 0;
  long barriers_ = 0;
};

}  // namespace memsim::static_key::internal

#endif  // MEMSIM_LIB_STATIC_KEY_TEXT_H_
