#include "lib/report/jobs.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "memsim/session/threads.h"

namespace memsim {

absl::Status RunJobs(size_t n, const JobOptions& options, const std::function<absl::Status(size_t)>& job) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::vector<absl::Status> statuses(n);
  std::mutex reporting;
  size_t done = 0;
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  const auto work = [&] {
    for (size_t i; !stopped() && !failed && (i = next++) < n;) {
      statuses[i] = job(i);
      if (!statuses[i].ok()) failed = true;
      const std::lock_guard lock(reporting);
      ++done;
      if (options.progress) {
        options.progress("simulating", static_cast<double>(done) / static_cast<double>(n));
      }
    }
  };
  const size_t wanted = static_cast<size_t>(options.host_threads > 0 ? options.host_threads : HostCpus());
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(wanted, n); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  // All before the first error in order were begun.
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace memsim
