// All sites of the process and the lock that serialises whoever writes code.
#ifndef MEMSIM_LIB_STATIC_KEY_REGISTRY_H_
#define MEMSIM_LIB_STATIC_KEY_REGISTRY_H_

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/static_key/site_code.h"
#include "lib/static_key/text.h"
#include "lib/static_key/transaction.h"
#include "lib/static_key/trap.h"
#include "memsim/static_key/static_call.h"
#include "memsim/static_key/static_key.h"

namespace memsim::static_key::internal {

struct Site {
  uintptr_t at;
  uintptr_t jump;
  uintptr_t test;
  Key* key;      // a branch; null for a static call
  CallKey* call;
  bool likely;
  bool armed;    // patched: no longer the jump to the test that is in the file
  bool stuck;    // at a breakpoint
};

class Registry {
 public:
  static Registry& Get();

  void Add(const Record* begin, const Record* end);
  void Remove(const Record* begin);

  // Sets the number of users; patches when it becomes or stops being zero.
  // `next(count)` gives the new count, or an error text.
  Result Update(Key* key, const std::function<int(int count, std::string* error)>& next);
  Result Retarget(CallKey* call, uintptr_t target);

  const Mechanism& GetMechanism();
  Counters GetCounters();

 private:
  struct ImageSites {
    const Record* begin;
    int users;
    std::list<Site> sites;
  };

  Registry();
  void Start();            // self-test, once
  void Reindex();
  void Arm(std::list<Site>& sites);
  // Of a key or a static call, by address; the others test the key and need no patching.
  std::vector<Site*> ArmedSites(const void* owner) const;
  Result Flip(const std::vector<Site*>& sites, const std::function<void(bool)>& publish,
              const std::function<Code(const Site&, bool after)>& code);
  // Whether threads can do with the file's code there while a flip has these pages away.
  bool MayMove(const Stretch& stretch);
  // Sites there test the key from now on.
  void Disarm(const Stretch& stretch);
  static void BeforeFork();
  static void InParent();
  static void InChild();

  std::mutex mutex_;
  bool started_ = false;
  Mechanism mechanism_;
  Text text_;
  Transaction transaction_{text_};
  std::vector<Change> changes_;  // of the flip under way
  struct Movable {
    uintptr_t begin, end;
    bool may;
  };
  std::vector<Movable> movable_;  // what MayMove found, until sites come or go
  std::list<ImageSites> images_;
  std::unordered_map<const void*, std::vector<Site*>> by_key_;  // by address
  long flips_ = 0;
  long rejected_ = 0;
};

// Flips a site of its own, both ways and through a breakpoint, and looks at what executes. Empty: it works.
// Leaves the handler installed and `text` open when it does.
std::string SelfTest(Text& text);

// The code of a branch.
inline Code BranchCode(uintptr_t at, uintptr_t jump, bool likely, bool enabled) {
  return enabled == likely ? Nop() : Jump(at, jump);
}

template <class T>
const T* At(const int32_t& distance) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(&distance) + distance);
}
inline uintptr_t AddressAt(const int32_t& distance) {
  return reinterpret_cast<uintptr_t>(&distance) + static_cast<uintptr_t>(static_cast<intptr_t>(distance));
}

}  // namespace memsim::static_key::internal

#endif  // MEMSIM_LIB_STATIC_KEY_REGISTRY_H_
