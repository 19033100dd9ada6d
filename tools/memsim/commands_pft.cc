// memsim pft.
#include <utility>

#include "memsim/internal/range.h"
#include "memsim/machine/machine_model.h"
#include "memsim/report/render.h"
#include "tools/memsim/commands.h"
#include "tools/memsim/finish.h"
#include "tools/memsim/format.h"
#include "tools/memsim/output.h"

namespace memsim {

namespace {

// Everything that is checked before anything is simulated.
absl::StatusOr<PftOptions> PreparePft(const Options& options) {
  for (const absl::Status& status :
       {internal::CheckRange("--pages", options.pages, 1, kMaxRegion),
        internal::CheckRange("--seeds", options.seeds, 1, kMaxPftSeeds)}) {
    if (!status.ok()) return status;
  }
  PftOptions pft;
  auto columns = ParsePftColumns(options.columns, options.configuration);
  if (!columns.ok()) return columns.status();
  pft.columns = *std::move(columns);
  const auto machine = LoadMachineModel(options.machine);
  if (!machine.ok()) return machine.status();
  auto published = LoadPublishedThroughput("pft-throughput-2015");
  if (!published.ok()) return published.status();
  pft.published = *std::move(published);
  pft.machine = {machine->name, machine->given, FindCalibratedCells(machine->calibrated, pft.published)};
  pft.clients = DefaultPftClients(machine->cpus());
  if (!options.clients.empty()) {
    auto clients = ParsePftClients(options.clients, machine->cpus());
    if (!clients.ok()) return clients.status();
    pft.clients = *std::move(clients);
  }
  pft.pages = options.pages;
  pft.seeds = static_cast<int>(options.seeds);
  pft.seed = pft.columns.front().seed;
  return pft;
}

}  // namespace

int Pft(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  auto pft = PreparePft(options);
  if (!pft.ok()) return Refuse(pft.status());
  pft->stop = InstallInterrupt();
  const auto source = SimulatedPftSource(options.machine, options.pages, pft->stop);
  if (!source.ok()) return Refuse(source.status());
  absl::StatusOr<PftTable> table;
  {
    Progress progress;
    pft->progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    table = MakePftTable(*pft, *source);
  }
  if (!table.ok()) return Refuse(table.status());
  return Finish(
      options, table->partial, *format, [&] { return PftText(*table); },
      [&] { return PftJson(*table, ReadEnvironment()); }, [&] { return PftCsv(*table); });
}

}  // namespace memsim
