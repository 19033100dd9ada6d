// pft on a simulated machine: one cell, one seed.
#include <algorithm>
#include <memory>
#include <utility>

#include "memsim/report/pft.h"

namespace memsim {

namespace {

// What pft's own clocks would say: CPU time of every client, and the time from the first start to the last
// end, of the faults alone; and of the whole run with its exit.
PftRun Clocks(const ExecResult& result) {
  PftRun run;
  const size_t timed = static_cast<size_t>(Phase::kCharge);
  run.pages = result.Total().phase[timed].pages;
  uint64_t begin = UINT64_MAX, last = 0;
  uint64_t user = 0, time = 0, all_user = 0, all_time = 0;
  for (const SimCpuTimes& cpu : result.sim->cpus) {
    const SimCpuTimes::PerPhase& faults = cpu.phase[timed];
    begin = std::min(begin, faults.begin);
    user += faults.user;
    time += faults.time;
    for (const SimCpuTimes::PerPhase& phase : cpu.phase) {
      all_user += phase.user;
      all_time += phase.time;
      last = std::max(last, phase.end);
    }
  }
  run.user_ps = static_cast<int64_t>(user);
  run.system_ps = static_cast<int64_t>(time - user);
  run.wall_ps = static_cast<int64_t>(result.sim->Wall(timed));
  run.total_user_ps = static_cast<int64_t>(all_user);
  run.total_system_ps = static_cast<int64_t>(all_time - all_user);
  run.elapsed_ps = static_cast<int64_t>(last - begin);
  return run;
}

}  // namespace

absl::StatusOr<PftSource> SimulatedPftSource(absl::string_view machine, int64_t pages,
                                             const std::atomic<bool>* stop) {
  auto loaded = LoadMachineModel(machine);
  if (!loaded.ok()) return loaded.status();
  const auto model = std::make_shared<const MachineModel>(*std::move(loaded));
  return PftSource([model, pages, stop](const Configuration& column, int clients,
                                        uint64_t seed) -> absl::StatusOr<PftRun> {
    Configuration cell = column;
    cell.machine = model;
    cell.rest = RestKind::kFault;
    cell.threads = clients;
    cell.seed = seed;
    cell.workload.region = Pages(pages);
    cell.workload.faults = Pages(pages * clients);
    auto runner = Runner::Open(cell, MachineKind::kSimulated, {.stop = stop});
    if (!runner.ok()) return runner.status();
    const ExecResult result = (*runner)->Execute();
    if (!result.status.ok()) return result.status;
    if (result.interrupted) return absl::CancelledError("interrupted");
    return Clocks(result);
  });
}

}  // namespace memsim
