// How the values of a report are written as JSON: one place for the field names.
#ifndef MEMSIM_LIB_REPORT_JSON_H_
#define MEMSIM_LIB_REPORT_JSON_H_

#include <string>

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "memsim/measure/environment.h"
#include "memsim/report/comparison.h"
#include "memsim/report/pft.h"
#include "memsim/report/profile.h"

namespace memsim {

nlohmann::ordered_json ToJson(const Interval& interval);
nlohmann::ordered_json ToJson(const Configuration& configuration);
nlohmann::ordered_json ToJson(const Environment& environment);
nlohmann::ordered_json ToJson(const PerPage& counts);
nlohmann::ordered_json ToJson(const ExactCounts& counts);
nlohmann::ordered_json ToJson(const Profile& profile);
nlohmann::ordered_json ToJson(const Comparison2015& comparison);
nlohmann::ordered_json ToJson(const PublishedThroughput& published);
nlohmann::ordered_json ToJson(const PftTable& table);

// Indented, with its end of line. A path or a name from outside may not be UTF-8.
std::string JsonText(const nlohmann::ordered_json& json);

// What every measured result is wrapped in, as text.
std::string JsonDocument(absl::string_view schema, bool partial, nlohmann::ordered_json result,
                         const Environment& environment);

}  // namespace memsim

#endif  // MEMSIM_LIB_REPORT_JSON_H_
