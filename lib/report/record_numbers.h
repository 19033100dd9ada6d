// Which numbers of a report are followed over time.
#ifndef MEMSIM_LIB_REPORT_RECORD_NUMBERS_H_
#define MEMSIM_LIB_REPORT_RECORD_NUMBERS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "memsim/report/records.h"

namespace memsim {

// `schema` and `result` of a report. What a report lacks is left out: it may be of another version.
std::vector<RecordedNumber> NumbersOf(absl::string_view schema, const nlohmann::json& result, bool timed);

// What has to be equal when the report is made again: all of it when nothing was timed, else the
// configurations and the exact counts.
nlohmann::json ExactPart(const nlohmann::json& result, bool timed);

}  // namespace memsim

#endif  // MEMSIM_LIB_REPORT_RECORD_NUMBERS_H_
