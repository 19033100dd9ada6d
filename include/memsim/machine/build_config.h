// A kernel's build configuration: what its compiler and .config decided about the charge path.
//
// Each model carries its default; `--config NAME=VALUE` overrides one entry for a run.
// On native the instruction mix is compiled in, so only MEMCG and MEMCG_DEFAULT_ENABLED can be
// overridden there; tracing and simulated take every override.
#ifndef MEMSIM_MACHINE_BUILD_CONFIG_H_
#define MEMSIM_MACHINE_BUILD_CONFIG_H_

#include <cstdint>

#include "memsim/machine/functions.h"

namespace memsim {

enum class RcuFlavour : uint8_t {
  kFree,    // CONFIG_PREEMPT_RCU=n: rcu_read_lock() emits nothing
  kInline,  // nesting count kept inline in current
  kCall,    // CONFIG_PREEMPT_RCU=y: __rcu_read_lock() is a function call
};

struct BuildConfig {
  bool memcg = true;                  // CONFIG_MEMCG
  bool memcg_default_enabled = true;  // the Kconfig of the 2015 proposal
  bool memcg_swap = true;             // CONFIG_MEMCG_SWAP and swapaccount=1: memory + memsw counters
  bool preempt_count = false;         // CONFIG_PREEMPT_COUNT: preempt_disable() is an increment
  RcuFlavour rcu = RcuFlavour::kFree;
  bool ticket_locks = true;  // before CONFIG_QUEUED_SPINLOCKS (x86: since 4.2)
  bool frame_pointer = true;  // CONFIG_FRAME_POINTER: x86's default before the ORC unwinder (4.14)
  bool function_tracer = true;  // CONFIG_FUNCTION_TRACER: a NOP at a function's entry, as distributions build
  bool numa = true;  // CONFIG_NUMA: the numainfo tail of the event check exists
  FnSet inlined;     // source functions that the kernel's compiler folded into their callers

  constexpr bool operator==(const BuildConfig&) const = default;
};

}  // namespace memsim

#endif  // MEMSIM_MACHINE_BUILD_CONFIG_H_
