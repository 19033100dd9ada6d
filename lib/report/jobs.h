// Simulations that do not need each other, on the CPUs of the host.
#ifndef MEMSIM_LIB_REPORT_JOBS_H_
#define MEMSIM_LIB_REPORT_JOBS_H_

#include <atomic>
#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace memsim {

struct JobOptions {
  int host_threads = 0;  // 0: the CPUs this process may use
  const std::atomic<bool>* stop = nullptr;
  std::function<void(absl::string_view what, double done)> progress;
};

// Calls job(0) … job(n - 1), each once, begun in this order and from several threads; none is begun any more
// after a stop or an error.
// Errors    the first in the order of the jobs, so that it does not depend on who was quickest
absl::Status RunJobs(size_t n, const JobOptions& options, const std::function<absl::Status(size_t)>& job);

}  // namespace memsim

#endif  // MEMSIM_LIB_REPORT_JOBS_H_
