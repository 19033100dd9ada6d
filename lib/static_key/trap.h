// The SIGTRAP handler: a thread that meets a breakpoint of a flip goes where the key says now.
//
// Threads   the handler runs on any thread at any time; it reads one immutable table and counts itself,
//           so that a table is freed only when no handler can hold it
// Chains    a SIGTRAP that is not ours goes to the action that was there before, SIG_DFL and SIG_IGN
//           included
#ifndef MEMSIM_LIB_STATIC_KEY_TRAP_H_
#define MEMSIM_LIB_STATIC_KEY_TRAP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memsim/static_key/static_key.h"

namespace memsim::static_key::internal {

// Where a thread goes that was stopped at `address`.
struct TrapEntry {
  uintptr_t address;
  uintptr_t jump;
  const Key* key;                         // a branch; null for a static call
  const std::atomic<uintptr_t>* target;   // a static call
  bool likely;
};
using TrapTable = std::vector<TrapEntry>;  // by address

// Errors    sigaction
bool InstallTrapHandler();
// Puts back what was there before; for a self-test that failed.
void RemoveTrapHandler();
// The new table is in force when it returns, and no handler uses the old one any more.
void SetTrapTable(std::unique_ptr<const TrapTable> table);
// Why a breakpoint could not be answered: the action is not ours, or a thread blocks SIGTRAP. Empty: fine.
std::string TrapObstacle();
// Threads that block SIGTRAP now belong to an emulator, which is where we are, and run none of our code.
void ExemptThreadsOfTheEmulator();
long TrapsTaken();
// In a fork's child: handlers of threads that are not there any more do not count.
void ForgetHandlersOfOtherThreads();

}  // namespace memsim::static_key::internal

#endif  // MEMSIM_LIB_STATIC_KEY_TRAP_H_
