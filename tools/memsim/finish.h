// What happens with a finished report: it is added to --out, printed, and set beside the record it repeats.
#ifndef MEMSIM_TOOLS_MEMSIM_FINISH_H_
#define MEMSIM_TOOLS_MEMSIM_FINISH_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "tools/memsim/commands.h"
#include "tools/memsim/format.h"

namespace memsim {

// Before anything is measured: whether --out could be written.
absl::Status CheckOut(const Options& options);

// `shown` is the report in the format asked for, `json` the report as JSON. Returns the exit status.
int Finish(const Options& options, bool partial, const std::function<std::string()>& shown,
           const std::function<std::string()>& json);

template <class Text, class Json, class Csv>
int Finish(const Options& options, bool partial, Format format, Text text, Json json, Csv csv) {
  return Finish(
      options, partial, [&] { return RenderAs(format, text, json, csv); }, json);
}

}  // namespace memsim

#endif  // MEMSIM_TOOLS_MEMSIM_FINISH_H_
