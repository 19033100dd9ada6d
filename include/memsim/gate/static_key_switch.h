// The keys behind the native static_key gate, and whose turn it is to set them.
//
// Mirrors   memory_cgrp_subsys_enabled_key, linux v4.4, kernel/cgroup.c (DEFINE_STATIC_KEY_TRUE in
//           SUBSYS()); the sticky key is ours, see gate.h
// Replicas  each copy of a kernel's code has keys of its own, or a flip would patch them all: the linker
//           gives another name to what the code calls the keys (memsim/session/replicas.h). So a switch is
//           told its keys by the code that it switches
// Threads   a kernel has one controller, a process here has many worlds: code is patched for one of them
//           at a time. A world takes its turn before anything of it executes; the others wait
// Cost      a turn whose state differs from the last one's flips up to two keys: some 0.1 ms
// Errors    a flip that fails: the state is as before, the status names the call
#ifndef MEMSIM_GATE_STATIC_KEY_SWITCH_H_
#define MEMSIM_GATE_STATIC_KEY_SWITCH_H_

#include "absl/status/status.h"
#include "memsim/static_key/static_key.h"

namespace memsim {

namespace internal {
DECLARE_STATIC_KEY_TRUE(memory_cgrp_subsys_enabled_key);
DECLARE_STATIC_KEY_TRUE(memcg_ever_enabled_key);
}  // namespace internal

// What the code of a world calls its keys.
struct MemcgKeys {
  static_key::static_key_true* enabled = &internal::memory_cgrp_subsys_enabled_key;
  static_key::static_key_true* ever = &internal::memcg_ever_enabled_key;
};

// One world's switch.
class StaticKeySwitch {
 public:
  // The default is made where this is called.
  explicit StaticKeySwitch(bool on, MemcgKeys keys = MemcgKeys()) : keys_(keys), on_(on), ever_(on) {}
  StaticKeySwitch(const StaticKeySwitch&) = delete;
  StaticKeySwitch& operator=(const StaticKeySwitch&) = delete;

  // From any thread, also while the world executes: then the code is patched before it returns.
  absl::Status Set(bool on);

  // While it lives the keys say what this switch says.
  class Turn {
   public:
    explicit Turn(StaticKeySwitch& owner);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    const absl::Status& status() const { return status_; }

   private:
    absl::Status status_;
  };

 private:
  absl::Status Apply() const;

  MemcgKeys keys_;
  bool on_;
  bool ever_;
};

}  // namespace memsim

#endif  // MEMSIM_GATE_STATIC_KEY_SWITCH_H_
