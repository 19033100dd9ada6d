// Names of the memcg statistics, events and rate-limit targets.
//
// Mirrors   enum mem_cgroup_stat_index, mem_cgroup_events_index, mem_cgroup_events_target; linux v4.0
#ifndef MEMSIM_EVENTS_EVENTS_H_
#define MEMSIM_EVENTS_EVENTS_H_

namespace memsim {

enum MemcgStat : int { kStatCache = 0, kStatRss = 1, kStatRssHuge = 2 };

enum MemcgEvent : int {
  kPgpgin, kPgpgout, kPgfault, kPgmajfault, kMemcgLow, kMemcgHigh, kMemcgMax, kMemcgOom,
  kMemcgEvents,
};

enum EventTarget : int { kTargetThresh, kTargetSoftlimit, kTargetNumainfo, kTargets };

}  // namespace memsim

#endif  // MEMSIM_EVENTS_EVENTS_H_
