// A log as a picture: the script that gnuplot makes it from.
#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "memsim/report/records_render.h"

namespace memsim {

namespace {

constexpr int kWidth = 960, kHeight = 300;  // of a panel, pixels
constexpr size_t kTitle = 110;              // bytes

// A text of the file as gnuplot's '…': there neither commands nor escapes are looked at.
std::string Quote(const std::string& text) {
  std::string quoted;
  size_t length = std::min(text.size(), kTitle);
  while (length < text.size() && (text[length] & 0xc0) == 0x80) --length;  // inside a character of UTF-8
  for (const char c : text.substr(0, length)) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) continue;
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return absl::StrCat("'", quoted, text.size() > length ? "…" : "", "'");
}

double Seconds(const std::string& time) {
  absl::Time parsed;
  if (!absl::ParseTime(absl::RFC3339_full, time, &parsed, nullptr)) return 0;
  return static_cast<double>(absl::ToUnixSeconds(parsed));
}

struct Extent {
  double low, high;
  void Pad(double part, double least) {
    const double by = std::max(part * (high - low), least);
    low -= by;
    high += by;
  }
};

// Steps of the axis, in seconds, and how fine its dates are.
struct Dates {
  double step;
  const char* format;
};
Dates DatesOf(const Extent& x) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  constexpr double kMostTicks = 7;
  for (const double step :
       {kMinute, 2 * kMinute, 5 * kMinute, 10 * kMinute, 20 * kMinute, kHour, 2 * kHour, 4 * kHour,
        8 * kHour, kDay, 2 * kDay, 5 * kDay, 10 * kDay, 30 * kDay, 90 * kDay}) {
    if (x.high - x.low > kMostTicks * step) continue;
    return {step, step < kDay ? "%d %b %H:%M" : "%d %b %Y"};
  }
  return {365 * kDay, "%b %Y"};
}

// What the bars of the points are.
std::string Legend(const RecordedNumber& number) {
  if (number.range == "exact") return "UTC; exact";
  return absl::StrCat("UTC; bars: ", number.range);
}

void Panel(const LogSeries& series, size_t panel, std::string* script) {
  Extent x = {Seconds(series.rows.front().time), 0}, y = {series.first.low, series.first.high};
  x.high = x.low;
  std::string data, marks;
  double before = 0;
  for (size_t i = 0; i < series.rows.size(); ++i) {
    const LogSeries::Row& row = series.rows[i];
    const double at = Seconds(row.time);
    if (!row.changed.empty()) {
      const double middle = (before + at) / 2;
      absl::StrAppendFormat(&marks,
                            "set arrow from %.1f, graph 0 to %.1f, graph 1 nohead dt 2 lc rgb '#888888'\n"
                            "set label %s at %.1f, graph 0.95 offset 0.5,0 noenhanced font ',10'\n",
                            middle, middle,
                            Quote(absl::StrCat("another ", absl::StrJoin(row.changed, ", "))), middle);
      data += "\n\n";  // a line is not drawn across
    }
    absl::StrAppendFormat(&data, "%.0f %.9g %.9g %.9g\n", at, row.number.value, row.number.low,
                          row.number.high);
    x = {std::min(x.low, at), std::max(x.high, at)};
    y = {std::min(y.low, row.number.low), std::max(y.high, row.number.high)};
    before = at;
  }
  x.Pad(0.05, 150);
  y.Pad(0.15, std::max(0.001, 0.01 * std::max(std::abs(y.low), std::abs(y.high))));
  const Dates dates = DatesOf(x);
  absl::StrAppendFormat(script,
                        "$series%d << MEMSIM_END\n%sMEMSIM_END\n"
                        "unset arrow\nunset label\n%s"
                        "set title %s noenhanced\n"
                        "set ylabel %s noenhanced\nset xlabel %s noenhanced\n"
                        "set xrange [%.0f:%.0f]\nset yrange [%.9g:%.9g]\n"
                        "set xtics time %.0f format '%s'\n"
                        "plot $series%d using 1:2 with lines lc rgb '#9ab8d6', $series%d using 1:2:3:4 with "
                        "yerrorbars pt 7 ps 0.7 lc rgb '#1f4e79'\n",
                        panel, data, marks, Quote(series.first.title),
                        Quote(absl::StrCat(series.first.what, ", ", series.first.unit)),
                        Quote(Legend(series.first)), x.low, x.high, y.low, y.high, dates.step, dates.format,
                        panel, panel);
}

}  // namespace

std::string LogPlot(const std::vector<LogSeries>& log, PlotKind kind) {
  const size_t panels = std::min(log.size(), kMostPlots);
  const int height = kHeight * static_cast<int>(panels);
  const std::string size = absl::StrFormat("size %d,%d", kWidth, height);
  std::string script =
      kind == PlotKind::kSvg
          ? absl::StrCat("set terminal svg ", size, " font 'sans-serif,13' background rgb 'white'\n")
          : absl::StrCat("if (strstrt(GPVAL_TERMINALS, 'pngcairo')) set terminal pngcairo ", size,
                         " font 'sans,10' background rgb 'white'; else set terminal png ", size, "\n");
  absl::StrAppendFormat(&script,
                        "set encoding utf8\nset multiplot layout %d,1\nunset key\n"
                        "set grid xtics ytics lt 1 lc rgb '#dddddd'\nset rmargin 6\nset xzeroaxis lt 1 lc "
                        "rgb '#888888'\nset tics nomirror\n"
                        "set border 3\n",
                        panels);
  for (size_t i = 0; i < panels; ++i) Panel(log[i], i, &script);
  return script + "unset multiplot\n";
}

}  // namespace memsim
