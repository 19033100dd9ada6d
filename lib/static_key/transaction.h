// All sites of a key or none: one change of many places in running code.
//
// Mirrors   text_poke_bp_batch(), arch/x86/kernel/alternative.c
// Steps     verify what is there; publish the new state; then, on few pages, breakpoints, barrier, tails,
//           barrier, heads, barrier. From the first breakpoint on a trapped thread goes to the published
//           state
//           On many: the pages away, barrier, all of the code, barrier, the pages back, barrier. Meanwhile
//           threads run in the file's pages, whose sites test the key (file_text.h)
// Cost      three barriers however many sites there are; three writes per window. A window is a run of
//           sites less than a page apart, 1 MiB at most: writing a page in a large window takes a quarter
//           of what one byte in a write of its own takes (0.4 against 1.6 us). For 1200 pages that is 3 to
//           5 ms; moving them, both changes of access and 10 000 stores take 0.3 ms
// Errors    any failure: the old state is published again, then the old code is written back. A site
//           whose undo is refused stays at a breakpoint and follows the key; one whose head was new
//           already gets a private copy of its page. Pages that may not be moved are written in place; those
//           that cannot be brought back are given up: their sites are as in the file and test the key
#ifndef MEMSIM_LIB_STATIC_KEY_TRANSACTION_H_
#define MEMSIM_LIB_STATIC_KEY_TRANSACTION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/static_key/site_code.h"
#include "lib/static_key/text.h"

namespace memsim::static_key::internal {

struct Change {
  uintptr_t at;
  Code from;
  Code to;
  bool stuck;   // in: the site is at a breakpoint; out: it is now
};

// Whole pages of code; `place` is where they are while they are away, else 0.
struct Stretch {
  uintptr_t begin, end;
  uintptr_t place;
  size_t size() const { return end - begin; }
};

struct Outcome {
  std::string error;  // empty: all is changed; otherwise nothing is
  int lost = 0;       // sites that could not be undone by any means
  std::vector<Stretch> given_up;  // hold the file's code again, but for changes that were made
};

class Transaction {
 public:
  explicit Transaction(Text& text) : text_(text) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // `changes` by address. `publish(true)` makes the new state the one trapped threads go to,
  // `publish(false)` the old one. `may_move`: whether threads can do with the file's code in these pages.
  Outcome Run(std::vector<Change>& changes, const std::function<void(bool)>& publish,
              const std::function<bool(const Stretch&)>& may_move);

 private:
  enum class Part { kTrap, kTail, kHead };
  std::string Verify(const std::vector<Change>& changes) const;
  // A run of neighbouring sites, [first, end) of the list, and where its code is in `bytes_`.
  struct Window {
    size_t first, end;
    uint8_t* bytes;
  };
  void MakeWindows(const std::vector<Change*>& sites);
  // Writes one part of `code(change)` to every site.
  TextError WritePart(const std::vector<Change*>& sites, Part part, Code Change::*code, bool undo);
  TextError Replace(const std::vector<Change*>& sites, Code Change::*code, bool undo);
  void Undo(std::vector<Change>& changes, Outcome* outcome);

  // Makes `stretches_`. Whether they are to be moved: many pages, and threads can do without.
  bool ManyPages(const std::vector<Change>& changes, const std::function<bool(const Stretch&)>& may_move);
  // True: done, or not, because of `barrier`. False: something was refused, and writing in place may do.
  bool Exchange(std::vector<Change>& changes, TextError* barrier);
  bool StoreAway(const std::vector<Change>& changes, Code Change::*code);
  bool MoveBack();
  // Old code to every page that is away, and back with it, or gives it up.
  void UndoExchange(const std::vector<Change>& changes, Outcome* outcome);

  Text& text_;
  // Kept from one run to the next: fresh memory would cost a page fault for every 4 KiB of code.
  std::vector<Window> windows_;
  std::vector<uint8_t> bytes_;
  std::vector<Change*> all_;
  std::vector<Stretch> stretches_;  // of an exchange under way
  bool refused_ = false;            // pages were given up: not tried again
};

}  // namespace memsim::static_key::internal

#endif  // MEMSIM_LIB_STATIC_KEY_TRANSACTION_H_
