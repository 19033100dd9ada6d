// Static keys: branches decided by patching the code, flipped while other threads run through them.
//
//   DEFINE_STATIC_KEY_FALSE(tracing);
//   if (static_branch_unlikely(&tracing)) Trace();    // one NOP while the key is false
//   static_branch_enable(&tracing);                   // now one JMP, in all threads
//
// Mirrors   include/linux/jump_label.h (names and meaning, linux v4.4 to v6.12); on x86 the protocol of
//           text_poke_bp_batch(), arch/x86/kernel/alternative.c
// Shape     a site is 5 bytes on x86-64 (NOP or JMP rel32), 4 on AArch64 (NOP or B), and a record of 20.
//           In the file a site is a jump to an out-of-line test of the key, so it works before it is
//           armed and where patching is refused; a start-up self-test decides (mechanism())
// Threads   sites: any. Flips: any, one at a time in the process. When static_branch_enable() returned,
//           every execution of a site that begins later takes the new side; a thread that has decided
//           before may still be inside the old block
// Cost      a site: one NOP, or one JMP. A flip: six microseconds and up, see docs/static-keys.md
// Errors    the kernel's functions return void and warn. These return a Result; an error that nobody
//           looks at is printed on stderr. After an error the key and all its sites are as before
// Left out  deferred (rate limited) keys; sites in code that another process maps; SIGTRAP must not be
//           blocked while a flip runs (a flip that finds it blocked is refused)
// Assumed   one copy of this library in a process: programs that have sites in shared libraries link
//           the shared one
#ifndef MEMSIM_STATIC_KEY_STATIC_KEY_H_
#define MEMSIM_STATIC_KEY_STATIC_KEY_H_

#include <atomic>
#include <cstddef>
#include <string>

namespace memsim::static_key {

// What both kinds of key have in common. The count is positive while the key is enabled.
struct Key {
  std::atomic<int> enabled;
};

// Differ by the initial value only.
struct static_key_true {
  Key key{{1}};
};
struct static_key_false {
  Key key{{0}};
};

// Of static storage: at namespace scope (also `static` or `inline`), `static` in a function, or `static
// inline` in a class.
#define DEFINE_STATIC_KEY_TRUE(name) constinit ::memsim::static_key::static_key_true name {}
#define DEFINE_STATIC_KEY_FALSE(name) constinit ::memsim::static_key::static_key_false name {}
#define DECLARE_STATIC_KEY_TRUE(name) extern ::memsim::static_key::static_key_true name
#define DECLARE_STATIC_KEY_FALSE(name) extern ::memsim::static_key::static_key_false name
#define DEFINE_STATIC_KEY_ARRAY_TRUE(name, count) \
  constinit ::memsim::static_key::static_key_true name[count] {}
#define DEFINE_STATIC_KEY_ARRAY_FALSE(name, count) \
  constinit ::memsim::static_key::static_key_false name[count] {}

// Whether the key is enabled. `key` must be a constant: the address of a key of static storage. clang++ 14
// takes no array element there; for one write static_branch_unlikely_at(keys, 2).
#define static_branch_likely(key) \
  (__builtin_expect(::memsim::static_key::internal::Branch<*(key), true>(), true) != 0)
#define static_branch_unlikely(key) \
  (__builtin_expect(::memsim::static_key::internal::Branch<*(key), false>(), false) != 0)
#define static_branch_likely_at(keys, index) \
  (__builtin_expect(::memsim::static_key::internal::BranchAt<keys, index, true>(), true) != 0)
#define static_branch_unlikely_at(keys, index) \
  (__builtin_expect(::memsim::static_key::internal::BranchAt<keys, index, false>(), false) != 0)

// What became of a flip. Printed on stderr when it is an error and was never looked at, which is what the
// kernel's WARN_ON does.
class Result {
 public:
  Result() = default;
  static Result Error(std::string message);
  Result(Result&& other) noexcept;
  Result& operator=(Result&& other) noexcept;
  ~Result();

  bool ok() const;
  const std::string& message() const;  // names the call that failed, and why

 private:
  void Report() const;
  std::string message_;
  mutable bool seen_ = true;
};

// Errors    the number of users would pass 2^31 - 1, or fall below zero; patching failed
Result Inc(Key* key);
Result Dec(Key* key);
// For keys that are on or off, not counted. Errors    the key has more than one user; patching failed
Result Enable(Key* key);
Result Disable(Key* key);

#define MEMSIM_STATIC_KEY_FUNCTIONS(type)                                                    \
  inline Result static_branch_inc(type* x) { return Inc(&x->key); }                          \
  inline Result static_branch_dec(type* x) { return Dec(&x->key); }                          \
  inline Result static_branch_enable(type* x) { return Enable(&x->key); }                    \
  inline Result static_branch_disable(type* x) { return Disable(&x->key); }                  \
  inline int static_key_count(const type* x) {                                               \
    return x->key.enabled.load(std::memory_order_relaxed);                                   \
  }                                                                                          \
  inline bool static_key_enabled(const type* x) { return static_key_count(x) > 0; }
MEMSIM_STATIC_KEY_FUNCTIONS(static_key_true)
MEMSIM_STATIC_KEY_FUNCTIONS(static_key_false)
#undef MEMSIM_STATIC_KEY_FUNCTIONS

// How keys work in this process, decided once at start-up. MEMSIM_STATIC_KEY=atomic in the environment
// asks for the fallback.
struct Mechanism {
  bool patched = false;  // false: a relaxed atomic load at every site
  std::string text;      // "patched: 5-byte NOP or JMP, written through /proc/self/mem", or the reason
};
const Mechanism& mechanism();

// Since the process started.
struct Counters {
  long flips = 0;           // transactions that changed code
  long barriers = 0;        // membarrier calls
  long traps = 0;           // threads that met a breakpoint of ours
  long sites = 0;           // registered now
  long armed = 0;           // of these: patched, not testing the key
  long rejected = 0;        // records whose site is not what the file should hold; left alone
  long stuck = 0;           // of the sites: left at a breakpoint by a failed undo; they follow the key
};
Counters counters();

}  // namespace memsim::static_key

#include "memsim/static_key/internal/site.h"

#endif  // MEMSIM_STATIC_KEY_STATIC_KEY_H_
