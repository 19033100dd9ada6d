// memsim log. `memsim rerun` is another command line: main.cc.
#include <cstdio>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "memsim/report/records_render.h"
#include "tools/memsim/commands.h"
#include "tools/memsim/format.h"
#include "tools/memsim/gnuplot.h"
#include "tools/memsim/output.h"
#include "tools/memsim/output_file.h"

namespace memsim {

namespace {

absl::StatusOr<PlotKind> FindPlotKind(const std::string& path) {
  if (absl::EndsWith(path, ".svg")) return PlotKind::kSvg;
  if (absl::EndsWith(path, ".png")) return PlotKind::kPng;
  return absl::InvalidArgumentError(
      absl::StrCat("--plot '", path, "'; valid: a file that ends in .svg or .png"));
}

absl::Status Plot(const std::string& path, const std::vector<LogSeries>& log) {
  const auto kind = FindPlotKind(path);
  if (!kind.ok()) return kind.status();
  const auto file = OutputFile::Check(path, "--plot");
  if (!file.ok()) return file.status();
  if (log.empty()) {
    return absl::NotFoundError("--plot: no record holds a number to follow; valid: `memsim log` alone");
  }
  const auto picture = Gnuplot(LogPlot(log, *kind));
  return picture.ok() ? file->Write(*picture) : picture.status();
}

std::string Drawn(const std::string& path, size_t series) {
  const std::string left_out = series <= kMostPlots ? ""
                                                    : absl::StrCat(", the first ", kMostPlots, " of ",
                                                                   series, "; FILE#N draws those of one");
  return absl::StrCat("\n", path, ": drawn", left_out, "\n");
}

}  // namespace

int LogCommand(const Options& options) {
  const auto format = FindFormat(options.format);
  if (!format.ok()) return Refuse(format.status());
  const RecordReference wanted = ParseReference(options.reference);
  const auto records = ReadRecords(wanted.path);
  if (!records.ok()) return Refuse(records.status());
  const auto log = MakeLog(*records, wanted.number);
  if (!log.ok()) return Refuse(log.status());
  if (options.plot.has_value()) {
    if (auto status = Plot(*options.plot, *log); !status.ok()) return Refuse(status);
  }
  for (const std::string& warning : records->warnings) std::fprintf(stderr, "memsim: %s\n", warning.c_str());
  return PrintAs(
      *format,
      [&] {
        return absl::StrCat(LogText(options.reference, *records, *log),
                            options.plot.has_value() ? Drawn(*options.plot, log->size()) : "");
      },
      [&] { return LogJson(options.reference, *records, *log); }, [&] { return LogCsv(*log); });
}

}  // namespace memsim
