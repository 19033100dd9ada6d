// All sites of a key or none: one change of many places in running code.
//
// Mirrors   text_poke_bp_batch(), arch/x86/kernel/alternative.c
// Steps     verify what is there; publish the new state; breakpoints, barrier, tails, barrier, heads,
//           barrier. From the first breakpoint on a trapped thread goes to the published state
// Cost      three barriers however many sites there are; three writes per window. A window is a run of
//           sites less than a page apart, 1 MiB at most: writing a page in a large window takes a quarter
//           of what one byte in a write of its own takes (0.4 against 1.6 us)
// Errors    any failure: the old state is published again, then the old code is written back. A site
//           whose undo is refused stays at a breakpoint and follows the key; one whose head was new
//           already gets a private copy of its page
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

struct Outcome {
  std::string error;  // empty: all is changed; otherwise nothing is
  int lost = 0;       // sites that could not be undone by any means
};

class Transaction {
 public:
  explicit Transaction(Text& text) : text_(text) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // `changes` by address. `publish(true)` makes the new state the one trapped threads go to,
  // `publish(false)` the old one.
  Outcome Run(std::vector<Change>& changes, const std::function<void(bool)>& publish);

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

  Text& text_;
  // Kept from one run to the next: fresh memory would cost a page fault for every 4 KiB of code.
  std::vector<Window> windows_;
  std::vector<uint8_t> bytes_;
  std::vector<Change*> all_;
};

}  // namespace memsim::static_key::internal

#endif  // MEMSIM_LIB_STATIC_KEY_TRANSACTION_H_
