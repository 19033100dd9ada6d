// Renderers of records.h. Text is at most 100 columns wide.
#ifndef MEMSIM_REPORT_RECORDS_RENDER_H_
#define MEMSIM_REPORT_RECORDS_RENDER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "memsim/report/records.h"

namespace memsim {

// What follows the report of today.
std::string RerunText(const Repetition& repetition);
std::string RerunJson(const Repetition& repetition);
std::string RerunCsv(const Repetition& repetition);

// `path` is the file's name as the user wrote it.
std::string LogText(const std::string& path, const Records& records, const std::vector<LogSeries>& log);
std::string LogJson(const std::string& path, const Records& records, const std::vector<LogSeries>& log);
std::string LogCsv(const std::vector<LogSeries>& log);

enum class PlotKind { kSvg, kPng };
inline constexpr size_t kMostPlots = 8;
// What gnuplot reads to write a picture to its standard output: a panel a series, the first kMostPlots.
std::string LogPlot(const std::vector<LogSeries>& log, PlotKind kind);

}  // namespace memsim

#endif  // MEMSIM_REPORT_RECORDS_RENDER_H_
