// The profile of one configuration: time per page with its interval, self time by kernel function from
// samples, and exact counts from the tracing machine.
//
// Marks     time: interval over repetitions. Shares: 95 % interval of the sampling. Counts: exact
// Units     nanoseconds per page (one fault and its unmap); counts per page
#ifndef MEMSIM_REPORT_PROFILE_H_
#define MEMSIM_REPORT_PROFILE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/measure/configuration.h"
#include "memsim/measure/paired.h"
#include "memsim/measure/sampler.h"
#include "memsim/measure/statistics.h"

namespace memsim {

// Fewer samples than this are labelled: a share of 1 % is then known to less than a third of itself.
inline constexpr int64_t kEnoughSamples = 5000;

// Counts of the tracing machine, divided by the pages charged.
struct PerPage {
  double calls = 0, instructions = 0, loads = 0, stores = 0;
  double rmw = 0, percpu_incs = 0, irq_off = 0, locks = 0, gates = 0;

  PerPage() = default;
  PerPage(const Counts& counts, double pages);
  PerPage& operator+=(const PerPage& other);
};

struct PerPageField {
  double PerPage::* value;
  absl::string_view name;     // in JSON
  absl::string_view heading;  // in tables
};
inline constexpr std::array<PerPageField, 9> kPerPageFields = {{
    {&PerPage::calls, "calls", "calls"},
    {&PerPage::instructions, "instructions", "instructions"},
    {&PerPage::loads, "loads", "loads"},
    {&PerPage::stores, "stores", "stores"},
    {&PerPage::rmw, "rmw", "read-modify-writes (LOCK)"},
    {&PerPage::percpu_incs, "percpu_incs", "per-CPU increments"},
    {&PerPage::irq_off, "irq_off", "interrupts off and on"},
    {&PerPage::locks, "locks", "locks"},
    {&PerPage::gates, "gates", "gates"},
}};

// Exact counts of a whole configuration.
struct ExactCounts {
  double pages = 0;                                  // pages charged while counting
  std::array<PerPage, kFnCount> by_function{};       // all parts of a page's life together
  std::array<PerPage, kPartCount> memcg{};           // the controller's functions, by part
  PerPage memcg_total;
  PerPage all;                                       // the controller and the fault around it
  std::array<double, kPartCount> memcg_lines{};      // distinct lines per page, page array excluded
};

struct ProfileRow {
  std::string name;    // the kernel's function, or "(real fault, host kernel)"
  Fn fn = Fn::kCount;  // kCount: not a modelled function
  int64_t samples = 0;
  Interval share;      // of all samples, 0..1
};

struct Profile {
  Configuration configuration;
  Interval charge;    // ns per page
  Interval uncharge;  // ns per page; all zero when the unmap is inside the rate
  Interval total;
  std::vector<ProfileRow> rows;  // by samples, most first; the controller's functions always present
  int64_t samples = 0;
  std::string mechanism;  // how it was sampled
  std::string mechanism_why;
  ExactCounts counts;
  Interval irq_cost;  // ns of one pair of the chosen stand-in
  bool partial = false;

  bool enough_samples() const { return samples >= kEnoughSamples; }
  // Self time of a row: its share of the median time per page.
  double SelfNs(const ProfileRow& row) const { return row.share.centre * total.centre; }
};

struct ProfileOptions {
  int repetitions = 21;
  int64_t samples = 20000;     // wanted
  double sample_seconds = 4;   // at most
  int hz = 10000;
  const std::atomic<bool>* stop = nullptr;
  // Called with what is going on and how far it is, 0..1.
  std::function<void(absl::string_view what, double done)> progress;
};

// Errors    what Kernel::Open() refuses; FailedPrecondition when nothing could be faulted
absl::StatusOr<Profile> MakeProfile(const Configuration& configuration, const ProfileOptions& options);

// Samples one configuration, a repetition at a time, so that several can take turns.
class SampledArm {
 public:
  static absl::StatusOr<SampledArm> Open(const Configuration& configuration,
                                         const ProfileOptions& options, RestObjects rest = {});
  void Run() { runner_->Execute(); }
  int64_t samples() const { return sampler_->samples(); }
  // Fills rows, samples and mechanism.
  void Report(Profile* profile) const;

 private:
  SampledArm(std::unique_ptr<Sampler> sampler, std::unique_ptr<Runner> runner)
      : sampler_(std::move(sampler)), runner_(std::move(runner)) {}
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Runner> runner_;
};

// The configuration with few enough faults to be counted: what CountExactly() runs twice, counting the
// second time.
Configuration CountedPart(const Configuration& configuration);

absl::StatusOr<ExactCounts> CountExactly(const Configuration& configuration,
                                         const std::atomic<bool>* stop);

// What a real page fault of this host takes, in ns: one write to a fresh anonymous 4 KiB page. The unmap
// is not in it.
absl::StatusOr<Interval> MeasureRealFault(const std::atomic<bool>* stop);

// What one pair of the stand-in for masking interrupts takes on this host.
Interval MeasureIrqStandIn(IrqStandIn irq);

}  // namespace memsim

#endif  // MEMSIM_REPORT_PROFILE_H_
