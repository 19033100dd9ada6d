// memsim calibrate.
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "memsim/internal/range.h"
#include "memsim/machine/machine_model.h"
#include "memsim/report/render.h"
#include "tools/memsim/commands.h"
#include "tools/memsim/format.h"
#include "tools/memsim/output.h"
#include "tools/memsim/output_file.h"

namespace memsim {

namespace {

// How a machine file is named to `memsim run`: a bare name would be looked up among the models.
std::string MachineArgument(const std::string& path) {
  const bool is_path = absl::StrContains(path, "/") || absl::EndsWith(path, ".json");
  return is_path ? path : "./" + path;
}

}  // namespace

int CalibrateCommand(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const int64_t seed = options.configuration.seed.value_or(1);
  for (const absl::Status& status : {internal::CheckRange("--rounds", options.rounds, 1, 1000),
                                     internal::CheckRange("--seed", seed, 0, INT64_MAX / 1000)}) {
    if (!status.ok()) return Refuse(status);
  }
  std::optional<OutputFile> file;
  CalibrateOptions calibrate;
  if (options.has_output) {
    auto checked = OutputFile::Check(options.output);
    if (!checked.ok()) return Refuse(checked.status());
    file = *std::move(checked);
    calibrate.name = std::filesystem::path(options.output).stem().string();
  }
  calibrate.repetitions = static_cast<int>(options.rounds);
  calibrate.seed = static_cast<uint64_t>(seed);
  calibrate.stop = InstallInterrupt();
  Calibration calibration;
  const EnvironmentWatch watch;
  {
    Progress progress;
    calibrate.progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    auto result = Calibrate(calibrate);
    if (!result.ok()) return Refuse(result.status());
    calibration = *std::move(result);
  }
  const Environment environment = watch.Finish();
  if (file.has_value() && !calibration.partial) {
    const absl::Status written = file->Write(MachineModelJson(calibration.model, calibration.sources));
    if (!written.ok()) return Refuse(written);
  }
  const auto text = [&] {
    std::string usage;
    if (!file.has_value()) {
      usage = "no file was written; valid: memsim calibrate --output host.json\n"
              "and then: memsim run --machine host.json\n";
    } else if (calibration.partial) {
      usage = absl::StrCat(file->path(), ": not written: interrupted\n");
    } else {
      usage = absl::StrCat(file->path(), ": written; it is used by: memsim run --machine ",
                           MachineArgument(file->path()), "\n");
    }
    return absl::StrCat(CalibrationText(calibration, environment), "\n", usage);
  };
  const int status = PrintAs(
      *format, text, [&] { return CalibrationJson(calibration, environment); },
      [&] { return CalibrationCsv(calibration); });
  return status == kOk && calibration.partial ? kInterrupted : status;
}

}  // namespace memsim
