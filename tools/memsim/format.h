// --format: one report in the form that was asked for.
#ifndef MEMSIM_TOOLS_MEMSIM_FORMAT_H_
#define MEMSIM_TOOLS_MEMSIM_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tools/memsim/output.h"

namespace memsim {

enum class Format : uint8_t { kText, kJson, kCsv };

inline absl::StatusOr<Format> FindFormat(const std::string& name) {
  if (name == "text") return Format::kText;
  if (name == "json") return Format::kJson;
  if (name == "csv") return Format::kCsv;
  return absl::InvalidArgumentError(
      absl::StrCat("--format '", name, "'; valid: text, json, csv"));
}

template <class Text, class Json, class Csv>
std::string RenderAs(Format format, Text text, Json json, Csv csv) {
  switch (format) {
    case Format::kText: return text();
    case Format::kJson: return json();
    case Format::kCsv: return csv();
  }
  return "";
}

template <class Text, class Json, class Csv>
int PrintAs(Format format, Text text, Json json, Csv csv) {
  return Print(RenderAs(format, text, json, csv));
}

}  // namespace memsim

#endif  // MEMSIM_TOOLS_MEMSIM_FORMAT_H_
