#include <algorithm>
#include <utility>

#include "memsim/machine/native.h"
#include "memsim/report/profile.h"

namespace memsim {

namespace {

// Enough for every rate-limited tail to have its turn, few enough to take no time.
constexpr int64_t kCountedFaults = 65536;

}  // namespace

PerPage::PerPage(const Counts& counts, double pages) {
  const auto per = [pages](uint64_t n) { return pages == 0 ? 0 : static_cast<double>(n) / pages; };
  calls = per(counts.calls);
  instructions = per(counts.instructions);
  loads = per(counts.loads);
  stores = per(counts.stores);
  rmw = per(counts.rmw);
  percpu_incs = per(counts.percpu_incs);
  irq_off = per(counts.irq_off);
  locks = per(counts.locks);
  gates = per(counts.gates);
}

PerPage& PerPage::operator+=(const PerPage& other) {
  for (const PerPageField& field : kPerPageFields) this->*field.value += other.*field.value;
  return *this;
}

Configuration CountedPart(const Configuration& configuration) {
  Configuration small = configuration;
  small.workload.faults = std::min(small.workload.faults, Pages(kCountedFaults));
  small.workload.region = std::min(small.workload.region, small.workload.faults);
  small.workload.burst = std::min(small.workload.burst, small.workload.region);
  return small;
}

absl::StatusOr<ExactCounts> CountExactly(const Configuration& configuration,
                                         const std::atomic<bool>* stop) {
  auto runner = Runner::Open(CountedPart(configuration), MachineKind::kTracing, {.stop = stop});
  if (!runner.ok()) return runner.status();
  // The first pass pays for what happens once: unused pages, the first event checks.
  (*runner)->Execute();
  TraceContext& trace = *(*runner)->session().trace();
  trace.ResetCounts();
  const ExecResult result = (*runner)->Execute();
  if (!result.status.ok()) return result.status;
  if (result.interrupted) return absl::CancelledError("interrupted");

  ExactCounts exact;
  const CpuResult total = result.Total();
  const TraceCounts& counts = trace.counts();
  exact.pages = static_cast<double>(counts.of(Part::kCharge, Fn::kHandleMmFault).calls) -
                static_cast<double>(total.already_mapped + total.oom + total.no_memory);
  if (exact.pages <= 0) {
    return absl::FailedPreconditionError("the workload faulted no page: every charge was refused");
  }
  Counts all, memcg;
  for (size_t f = 0; f < kFnCount; ++f) {
    Counts function;
    for (size_t p = 0; p < kPartCount; ++p) function.Add(counts.by_function[p][f]);
    exact.by_function[f] = PerPage(function, exact.pages);
    all.Add(function);
    if (IsMemcg(static_cast<Fn>(f))) memcg.Add(function);
  }
  exact.all = PerPage(all, exact.pages);
  exact.memcg_total = PerPage(memcg, exact.pages);
  for (size_t p = 0; p < kPartCount; ++p) {
    exact.memcg[p] = PerPage(counts.Memcg(static_cast<Part>(p)), exact.pages);
    exact.memcg_lines[p] = static_cast<double>(counts.lines[p]) / exact.pages;
  }
  return exact;
}

Interval MeasureIrqStandIn(IrqStandIn irq) {
  constexpr int kPairs = 200000;
  constexpr int kRepetitions = 15;
  alignas(64) native::CpuHead head[2] = {};
  const auto time = [&](IrqStandIn kind) {
    head[0].irq = kind;
    const native::Binding binding(reinterpret_cast<std::byte*>(head));
    const uint64_t begin = native::ThreadCpuNs();
    for (int i = 0; i < kPairs; ++i) {
      if (kind == IrqStandIn::kNone) {
        MEMSIM_BARRIER();  // the empty loop
      } else {
        const native::IrqGuard guard(IrqKind::kDisableEnable);
      }
    }
    return static_cast<double>(native::ThreadCpuNs() - begin) / kPairs;
  };
  std::vector<double> differences;
  for (int r = 0; r < kRepetitions; ++r) {
    const double empty = time(IrqStandIn::kNone);
    differences.push_back(time(irq) - empty);
  }
  return MedianInterval(std::move(differences));
}

absl::StatusOr<Interval> MeasureRealFault(const std::atomic<bool>* stop) {
  constexpr int kFaults = 4096;
  constexpr int kRepetitions = 15;
  auto rest = RestOfFault::Create(RestKind::kFault);
  if (!rest.ok()) return rest.status();
  std::vector<double> values;
  for (int r = 0; r < kRepetitions; ++r) {
    if (stop != nullptr && stop->load()) break;
    (*rest)->Recycle();
    const uint64_t begin = native::ThreadCpuNs();
    for (int i = 0; i < kFaults; ++i) (*rest)->Enter();
    values.push_back(static_cast<double>(native::ThreadCpuNs() - begin) / kFaults);
  }
  return MedianInterval(std::move(values));
}

absl::StatusOr<SampledArm> SampledArm::Open(const Configuration& configuration,
                                            const ProfileOptions& options, RestObjects rest) {
  auto sampler = std::make_unique<Sampler>(options.hz);
  auto runner = Runner::Open(
      configuration, MachineKind::kNative,
      {.stop = options.stop, .observer = sampler.get(), .rest = std::move(rest)});
  if (!runner.ok()) return runner.status();
  return SampledArm(std::move(sampler), *std::move(runner));
}

void SampledArm::Report(Profile* profile) const {
  const SampleCounts counts = sampler_->Symbolise();
  profile->samples = counts.total;
  profile->mechanism = std::string(sampler_->mechanism());
  profile->mechanism_why = std::string(sampler_->why());
  const auto add = [&](absl::string_view name, Fn fn, int64_t samples) {
    profile->rows.push_back({std::string(name), fn, samples, ShareInterval(samples, counts.total)});
  };
  for (size_t f = 0; f < kFnCount; ++f) {
    const Fn fn = static_cast<Fn>(f);
    const bool called = profile->counts.by_function[f].calls > 0;
    if (counts.by_function[f] > 0 || called) add(Info(fn).name, fn, counts.by_function[f]);
  }
  for (const auto& [name, samples] : counts.Outside()) {
    if (samples > 0) add(name, Fn::kCount, samples);
  }
  std::stable_sort(profile->rows.begin(), profile->rows.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.samples > b.samples; });
}

absl::StatusOr<Profile> MakeProfile(const Configuration& configuration,
                                    const ProfileOptions& options) {
  const auto progress = [&](absl::string_view what, double done) {
    if (options.progress) options.progress(what, done);
  };
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  Profile profile;
  profile.configuration = configuration;
  progress("counting", 0);
  auto counts = CountExactly(configuration, options.stop);
  if (!counts.ok()) return counts.status();
  profile.counts = *counts;
  profile.irq_cost = MeasureIrqStandIn(configuration.irq);

  auto runner = Runner::Open(configuration, MachineKind::kNative, {.stop = options.stop});
  if (!runner.ok()) return runner.status();
  Paired alone({runner->get()}, configuration.seed);
  for (int r = 0; r <= options.repetitions && !stopped(); ++r) {
    progress("timing", static_cast<double>(r) / options.repetitions);
    const absl::Status status = alone.Round();
    if (absl::IsCancelled(status)) break;
    if (!status.ok()) return status;
  }
  profile.charge = alone.Charge(0);
  profile.uncharge = alone.Uncharge(0);
  profile.total = alone.Total(0);
  runner->reset();

  auto arm = SampledArm::Open(configuration, options);
  if (!arm.ok()) return arm.status();
  const uint64_t begin = native::NowNs();
  const auto seconds = [&] { return static_cast<double>(native::NowNs() - begin) * 1e-9; };
  while (!stopped() && arm->samples() < options.samples && seconds() < options.sample_seconds) {
    progress("sampling", static_cast<double>(arm->samples()) / static_cast<double>(options.samples));
    arm->Run();
  }
  arm->Report(&profile);
  profile.partial = stopped();
  return profile;
}

}  // namespace memsim
