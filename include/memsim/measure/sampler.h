// A sampling profiler for the threads of a native session, as `perf record` does it.
//
// Mechanism  perf_event_open() with the task clock of each thread; where that is not allowed, a timer on
//            the thread's CPU time (about 250 samples a second on common kernels, whatever is asked)
// Units      counts of samples; nanoseconds of CPU time
// Threads    OnCpuStart/OnCpuEnd run on the sampled threads; results are read after they have ended
// Slices     what runs for less time than a period has no sample, unless the clock of the samples goes on
//            from one run to the next: SamplerThreads::kCallers
// Errors     a host that allows neither gives mechanism() "none" and why()
#ifndef MEMSIM_MEASURE_SAMPLER_H_
#define MEMSIM_MEASURE_SAMPLER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "memsim/machine/functions.h"
#include "memsim/session.h"

namespace memsim {

class Symbols;

enum class SamplerThreads : uint8_t {
  kAny,      // a clock of its own for every run
  kCallers,  // all runs are of one worker, on the thread that asks for them
};

// Samples by where they fell.
struct SampleCounts {
  std::vector<int64_t> by_function = std::vector<int64_t>(kFnCount);
  int64_t clear_page = 0;  // zeroing the page (--rest clear)
  int64_t real_fault = 0;  // the real fault, user part (--rest fault)
  int64_t kernel = 0;      // this host's kernel; user-only sampling infers it from the CPU time
  int64_t driver = 0;      // memsim's own loop
  int64_t other = 0;       // elsewhere: libc, unknown
  int64_t total = 0;
  std::map<std::string, int64_t> unknown;  // symbols counted as other

  // What is not a modelled function, as reports name it.
  std::array<std::pair<absl::string_view, int64_t>, 5> Outside() const;
};

class Sampler : public CpuObserver {
 public:
  // Samples `hz` times per second of CPU time.
  explicit Sampler(int hz, SamplerThreads threads = SamplerThreads::kAny);
  ~Sampler() override;

  void OnCpuStart(CpuId cpu) override;
  void OnCpuEnd(CpuId cpu) override;

  // "perf task-clock", "perf task-clock, user only", "cpu-time timer" or "none".
  absl::string_view mechanism() const { return mechanism_; }
  absl::string_view why() const { return why_; }
  int64_t samples() const { return static_cast<int64_t>(addresses_.size()); }
  // Forgets what was sampled so far.
  void Clear();
  // Looks every sample up in the symbols of this program; `symbols` remembers what it looked up.
  SampleCounts Symbolise() const;
  SampleCounts Symbolise(Symbols& symbols) const;

 private:
  class PerThread;
  class Perf;
  class Timer;

  std::unique_ptr<PerThread> Start();

  int hz_;
  SamplerThreads threads_;
  std::mutex mutex_;
  std::string mechanism_ = "none";
  std::string why_;
  std::vector<std::unique_ptr<PerThread>> running_;
  std::vector<uint64_t> addresses_;
  std::vector<uint64_t> started_;  // by CPU: its CPU time at the start, ns
  uint64_t cpu_ns_ = 0;            // sampled CPU time of all threads
};

}  // namespace memsim

#endif  // MEMSIM_MEASURE_SAMPLER_H_
