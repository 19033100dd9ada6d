#include "lib/measure/calibrate/host.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/measure/environment_notes.h"

namespace memsim::calibrate {

namespace {

// The first line; empty when the file cannot be read.
std::string LineOf(const std::string& path) { return FirstLine(path).value_or(""); }

std::optional<uint64_t> Number(absl::string_view text) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) return std::nullopt;
  return value;
}

// "48K", "32M"
uint64_t Size(absl::string_view text) {
  const uint64_t unit = absl::ConsumeSuffix(&text, "K")   ? uint64_t{1} << 10
                        : absl::ConsumeSuffix(&text, "M") ? uint64_t{1} << 20
                                                          : 1;
  return Number(text).value_or(0) * unit;
}

// What the C library asks the CPU for; 0 when it does not know.
CacheInfo FromLibrary(int size, int ways) {
  CacheInfo cache;
  const int64_t bytes = sysconf(size);
  const int64_t associativity = sysconf(ways);
  if (bytes <= 0) return cache;
  cache.bytes = static_cast<uint64_t>(bytes);
  cache.ways = static_cast<int>(std::max<int64_t>(0, associativity));
  cache.source = "measured: read from the CPU's identification";
  return cache;
}

}  // namespace

Topology ReadTopology(absl::string_view root, const std::vector<int>& allowed) {
  Topology topology;
  bool known = true;
  for (const int cpu : allowed) {
    const std::string folder = absl::StrCat(root, "/cpu", cpu, "/topology/");
    const auto core = Number(LineOf(folder + "core_id"));
    const auto package = Number(LineOf(folder + "physical_package_id"));
    known = known && core.has_value() && package.has_value();
    topology.cpus.push_back(
        {cpu, static_cast<int>(core.value_or(0)), static_cast<int>(package.value_or(0))});
  }
  if (!known) {
    for (HostCpu& cpu : topology.cpus) cpu = {cpu.cpu, cpu.cpu, 0};
  } else {
    topology.source = "measured: read from the kernel's CPU topology, CPUs the process may use";
  }
  std::map<int, std::map<int, int>> threads;  // package -> core -> CPUs
  for (const HostCpu& cpu : topology.cpus) ++threads[cpu.package][cpu.core];
  topology.sockets = std::max(1, static_cast<int>(threads.size()));
  for (const auto& [package, cores] : threads) {
    topology.cores_per_socket = std::max(topology.cores_per_socket, static_cast<int>(cores.size()));
    for (const auto& [core, count] : cores) {
      topology.threads_per_core = std::max(topology.threads_per_core, count);
    }
  }
  return topology;
}

Caches ReadCaches(absl::string_view root, int cpu) {
  Caches caches;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = absl::StrCat(root, "/cpu", cpu, "/cache/index", index, "/");
    const std::string type = LineOf(folder + "type");
    if (type != "Data" && type != "Unified") continue;
    const uint64_t level = Number(LineOf(folder + "level")).value_or(0);
    if (level < 1 || level > 3) continue;
    CacheInfo& cache = level == 1 ? caches.l1 : level == 2 ? caches.l2 : caches.l3;
    cache.bytes = Size(LineOf(folder + "size"));
    cache.ways = static_cast<int>(Number(LineOf(folder + "ways_of_associativity")).value_or(0));
    cache.source = "measured: read from the kernel's cache information";
  }
  if (caches.l1.bytes == 0) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    caches.l1 = FromLibrary(_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC);
    caches.l2 = FromLibrary(_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC);
    caches.l3 = FromLibrary(_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_ASSOC);
#endif
  }
  // A CPU has an L1 and memory behind it; that it has an L2 and an L3 is assumed of who says nothing.
  if (caches.l1.bytes == 0) {
    caches.l1 = {uint64_t{32} << 10, 8, ""};
    caches.l2 = {uint64_t{256} << 10, 8, ""};
    caches.l3 = {uint64_t{8} << 20, 16, ""};
  }
  // 0 is how the kernel says "any": that is not a number a model can hold.
  for (CacheInfo* cache : {&caches.l1, &caches.l2, &caches.l3}) {
    if (cache->bytes != 0 && cache->ways <= 0) cache->ways = 16;
  }
  return caches;
}

uint64_t FreeMemory() {
  uint64_t bytes = std::numeric_limits<uint64_t>::max();
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() >= 2 && words[0] == "MemAvailable:") bytes = Number(words[1]).value_or(0) << 10;
  }
  // A container's own limit; it sees itself as the root of the hierarchy.
  for (const auto& [limit, used] :
       {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        std::pair{"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                  "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
    const auto most = Number(LineOf(limit));
    const uint64_t now = Number(LineOf(used)).value_or(0);
    if (most.has_value()) bytes = std::min(bytes, *most - std::min(*most, now));
  }
  return bytes;
}

bool HasHugePages() {
  const std::string line = LineOf("/sys/kernel/mm/transparent_hugepage/enabled");
  return absl::StrContains(line, "[always]") || absl::StrContains(line, "[madvise]");
}

}  // namespace memsim::calibrate
