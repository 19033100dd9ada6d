// What the host says about itself: CPUs, caches, memory that is free.
//
// Threads   plain reads of /sys and /proc
// Errors    what the host does not say is marked, never guessed silently
#ifndef MEMSIM_LIB_MEASURE_CALIBRATE_HOST_H_
#define MEMSIM_LIB_MEASURE_CALIBRATE_HOST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace memsim::calibrate {

struct HostCpu {
  int cpu = 0;
  int core = 0;     // core_id, unique inside its package
  int package = 0;  // socket
};

// Restricted to the CPUs the process may use.
struct Topology {
  std::vector<HostCpu> cpus;
  int sockets = 1, cores_per_socket = 1, threads_per_core = 1;
  std::string source;  // empty: not said by the host, every CPU taken for a core of one socket
};

// `root` is /sys/devices/system/cpu, or a test's copy of it.
Topology ReadTopology(absl::string_view root, const std::vector<int>& allowed);

struct CacheInfo {
  uint64_t bytes = 0;  // 0: there is none
  int ways = 0;
  std::string source;  // empty: assumed
};

struct Caches {
  CacheInfo l1, l2, l3;
};

// From /sys, else from what the C library knows, else assumed.
Caches ReadCaches(absl::string_view root, int cpu);

// Bytes the process can take without pushing others out, the limits of its container included.
uint64_t FreeMemory();

// Whether the kernel gives huge pages to who asks.
bool HasHugePages();

inline constexpr absl::string_view kSysCpu = "/sys/devices/system/cpu";

}  // namespace memsim::calibrate

#endif  // MEMSIM_LIB_MEASURE_CALIBRATE_HOST_H_
