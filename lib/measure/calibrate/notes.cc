// What a reader of the numbers should know, from the numbers.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "lib/measure/calibrate/rounds.h"

namespace memsim::calibrate {

std::vector<std::string> Notes(const Plan& plan, const Rounds& rounds) {
  std::vector<std::string> notes;
  const auto centre = [&](Quantity quantity) { return Median(rounds.values[quantity]); };
  const double l3 = centre(kL3), half = centre(kHalfL3), memory = centre(kDram);
  if (l3 > 0 && half > 2 * l3) {
    notes.push_back(absl::StrFormat(
        "A buffer of half the L3 takes %.3g ns a load, not %.3g: neighbours use the rest, or translating "
        "addresses adds to it. l3.bytes is what the host says all the same.",
        half, l3));
  }
  if (const Interval hit = MedianInterval(rounds.values[kL3]); hit.high > 2 * hit.low) {
    notes.push_back(absl::StrFormat(
        "An L3 hit is not resolved (%.3g…%.3g ns): others take the L3 while it is measured. Measure again "
        "on a quieter host.",
        hit.low, hit.high));
  }
  const double last = l3 > 0 ? l3 : centre(kL2);
  if (memory > 0 && memory < 1.5 * last) {
    notes.push_back(absl::StrFormat(
        "Memory takes less than 1.5 times the last cache: a cache that this host does not show may hold the "
        "%d MiB used.",
        plan.sizes.dram >> 20));
  }
  if (memory > 0 && centre(kTransferCore) > memory) {
    notes.push_back(absl::StrFormat(
        "A line comes from another core in %.3g ns, later than from memory: the two hardly share an L3, "
        "whatever the host says. A hypervisor may move them at any time; measure again.",
        centre(kTransferCore)));
  }
  if (!HasHugePages()) {
    notes.push_back(
        "The host gives no huge pages: latencies beyond the L1 contain TLB misses that a kernel, whose own "
        "mapping is of huge pages, does not have.");
  }
  notes.push_back(absl::StrFormat(
      "memory.bandwidth is what %d CPU%s could write: too long where that does not fill the socket's memory.",
      plan.memory_cpus.size(), plan.memory_cpus.size() == 1 ? "" : "s"));
  notes.push_back(
      "stages.exception is all of a fault but the zeroing: exception, VMA, page tables, allocation, rmap, "
      "and the charge of this host's own controller if it has one. The model executes a charge of its own "
      "on top.");
  return notes;
}

}  // namespace memsim::calibrate
