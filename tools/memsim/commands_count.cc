// memsim count.
#include <filesystem>
#include <system_error>
#include <utility>

#include "memsim/internal/range.h"
#include "memsim/report/count.h"
#include "memsim/report/render.h"
#include "tools/memsim/commands.h"
#include "tools/memsim/format.h"
#include "tools/memsim/output.h"

namespace memsim {

int CountCommand(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const absl::Status repetitions = internal::CheckRange("--repetitions", options.repetitions, 1, 10000);
  if (!repetitions.ok()) return Refuse(repetitions);
  const auto configuration = Resolve(options.configuration);
  if (!configuration.ok()) return Refuse(configuration.status());
  if (options.inside_valgrind) {
    const auto said = ExecuteCounted(*configuration);
    return said.ok() ? Print(*said) : Refuse(said.status());
  }
  CountOptions count;
  std::error_code error;
  count.inside = {std::filesystem::read_symlink("/proc/self/exe", error).string()};
  count.inside.insert(count.inside.end(), options.arguments.begin(), options.arguments.end());
  count.inside.push_back("--inside-valgrind");
  count.repetitions = static_cast<int>(options.repetitions);
  count.stop = InstallInterrupt();
  absl::StatusOr<CountResult> result;
  {
    Progress progress;
    count.progress = [&](absl::string_view what, double done) { progress.Show(what, done); };
    result = CountInstructions(*configuration, count);
  }
  if (absl::IsCancelled(result.status())) {
    Print("PARTIAL: interrupted before anything had been counted\n");
    return kInterrupted;
  }
  if (!result.ok()) return Refuse(result.status());
  const Environment environment = ReadEnvironment();
  const int status = PrintAs(
      *format, [&] { return CountText(*result, environment); },
      [&] { return CountJson(*result, environment); }, [&] { return CountCsv(*result); });
  return status == kOk && result->partial ? kInterrupted : status;
}

}  // namespace memsim
