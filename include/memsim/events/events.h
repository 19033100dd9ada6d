// Names of the memcg statistics, events and rate-limit targets.
//
// Mirrors   enum mem_cgroup_stat_index, mem_cgroup_events_index, mem_cgroup_events_target; linux v4.0
#ifndef MEMSIM_EVENTS_EVENTS_H_
#define MEMSIM_EVENTS_EVENTS_H_

#include "absl/strings/string_view.h"

namespace memsim {

enum MemcgStat : int { kStatCache = 0, kStatRss = 1, kStatRssHuge = 2 };

enum MemcgEvent : int {
  kPgpgin, kPgpgout, kPgfault, kPgmajfault, kMemcgLow, kMemcgHigh, kMemcgMax, kMemcgOom,
  kMemcgEvents,
};

enum EventTarget : int { kTargetThresh, kTargetSoftlimit, kTargetNumainfo, kTargets };

// By value of the enums above, for printing.
inline constexpr absl::string_view kMemcgStatNames[] = {"CACHE", "RSS", "RSS_HUGE"};
inline constexpr absl::string_view kMemcgEventNames[kMemcgEvents] = {
    "PGPGIN", "PGPGOUT", "PGFAULT", "PGMAJFAULT", "LOW", "HIGH", "MAX", "OOM"};
inline constexpr absl::string_view kEventTargetNames[kTargets] = {"THRESH", "SOFTLIMIT", "NUMAINFO"};

}  // namespace memsim

#endif  // MEMSIM_EVENTS_EVENTS_H_
