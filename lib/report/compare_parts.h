// How each machine fills a comparison in, and what they share.
#ifndef MEMSIM_LIB_REPORT_COMPARE_PARTS_H_
#define MEMSIM_LIB_REPORT_COMPARE_PARTS_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "memsim/measure/environment.h"
#include "memsim/measure/paired.h"
#include "memsim/report/compare.h"

namespace memsim {

struct CompareGroupInfo {
  CompareGroup group;
  absl::string_view name;
};
inline constexpr std::array<CompareGroupInfo, 3> kCompareGroups = {{
    {CompareGroup::kController, "the controller"},
    {CompareGroup::kAround, "the fault around it"},
    {CompareGroup::kOutside, "outside the model"},
}};
constexpr CompareGroup GroupOf(Fn fn) {
  return Info(fn).group == FnGroup::kRest ? CompareGroup::kAround : CompareGroup::kController;
}

// "A" for the first arm, and so on: a configuration is too long for a sentence.
std::string ArmLetter(size_t arm);
// The line that gives this comparison again.
std::string CompareCommand(const CompareResult& result);
// What heads a text: the command, the host.
std::string CompareHeading(const CompareResult& result, const Environment& environment);
// What the arms are, what the run says of their difference, what was published of it: a line or more each.
std::string ArmLines(const CompareResult& result);
std::string VerdictLines(const CompareResult& result);
// The difference of an arm with layout excluded.
std::string InPlaceLine(const Compared& compared, size_t arm);
std::string PublishedLines(const CompareResult& result);
inline bool Timed(const CompareResult& result) { return result.machine != MachineKind::kTracing; }
// Its functions, too?
inline bool TimedByFunction(const CompareResult& result) {
  return result.machine == MachineKind::kSimulated || result.sampling.samples > 0;
}
// Pages a second, from the ns of each placement or seed.
std::vector<double> Rates(const std::vector<double>& ns);
// Of what there are many values.
const char* Repeated(const CompareResult& result);

// "native", "tracing", or the machine file as it was given.
std::string MachineOf(const CompareArm& arm);
// Errors    InvalidArgument
absl::Status CheckArms(const std::vector<CompareArm>& arms);

// Finds what was published of arms like these.
absl::Status AddPublished(CompareResult& result);

// Counts every arm on the tracing machine, with its verdict to the first, and makes a row of each function
// that an arm calls.
absl::Status CountArms(CompareResult& result);

// Adds cells for what has time but no counts.
CompareFunction& FunctionNamed(CompareResult& result, absl::string_view name, CompareGroup group);
// Group by group, the sum first, then the functions with the most of what the machine measures.
void SortFunctions(CompareResult& result);

// Samples the arms, the control last, in rounds like those of `paired`, whose times they share out.
absl::Status SampleArms(const std::vector<const Configuration*>& arms, const Paired& paired, double seconds,
                        CompareResult& result);

// Every arm with every seed.
absl::Status SimulateArms(CompareResult& result);

}  // namespace memsim

#endif  // MEMSIM_LIB_REPORT_COMPARE_PARTS_H_
