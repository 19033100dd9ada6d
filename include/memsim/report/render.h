// Renderers: one value, many forms. Text is at most 100 columns wide.
//
// JSON      docs/json.md describes the fields; `result` holds configuration and numbers, `environment`
//           host and compiler
#ifndef MEMSIM_REPORT_RENDER_H_
#define MEMSIM_REPORT_RENDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/measure/calibrate.h"
#include "memsim/measure/environment.h"
#include "memsim/report/compare.h"
#include "memsim/report/comparison.h"
#include "memsim/report/count.h"
#include "memsim/report/explain.h"
#include "memsim/report/pft.h"
#include "memsim/report/profile.h"
#include "memsim/report/sim_profile.h"
#include "memsim/session.h"

namespace memsim {

std::string ProfileText(const Profile& profile, const Environment& environment);
std::string ProfileJson(const Profile& profile, const Environment& environment);
std::string ProfileCsv(const Profile& profile);

std::string SimProfileText(const SimProfile& profile, const Environment& environment);
std::string SimProfileJson(const SimProfile& profile, const Environment& environment);
std::string SimProfileCsv(const SimProfile& profile);

// The cache lines of a profile made with line detail.
std::string SimLinesText(const SimProfile& profile, const Environment& environment);
std::string SimLinesJson(const SimProfile& profile, const Environment& environment);
std::string SimLinesCsv(const SimProfile& profile);

std::string ComparisonText(const Comparison2015& comparison, const Environment& environment);
std::string ComparisonJson(const Comparison2015& comparison, const Environment& environment);
std::string ComparisonCsv(const Comparison2015& comparison);

std::string CompareText(const CompareResult& result, const Environment& environment);
std::string CompareJson(const CompareResult& result, const Environment& environment);
std::string CompareCsv(const CompareResult& result);
// As mmtests' compare-kernels.sh and lkp-tests' `lkp ncompare` print. Lines of lkp may be longer.
std::string CompareMmtests(const CompareResult& result, const Environment& environment);
std::string CompareLkp(const CompareResult& result, const Environment& environment);
using CompareRenderer = std::string (*)(const CompareResult&, const Environment&);
// text, mmtests, lkp, json, csv
absl::StatusOr<CompareRenderer> FindCompareFormat(absl::string_view name);

std::string CountText(const CountResult& result, const Environment& environment);
std::string CountJson(const CountResult& result, const Environment& environment);
std::string CountCsv(const CountResult& result);

// The text has no line about the host: nothing in it depends on where it was simulated.
std::string PftText(const PftTable& table);
std::string PftJson(const PftTable& table, const Environment& environment);
std::string PftCsv(const PftTable& table);

std::string ExplanationText(const Explanation& explanation, bool brief);
std::string ExplanationJson(const Explanation& explanation);
std::string ExplanationCsv(const Explanation& explanation);

std::string LayoutText(absl::string_view kernel, const std::vector<StructInfo>& structs);
std::string LayoutJson(absl::string_view kernel, const std::vector<StructInfo>& structs);
std::string LayoutCsv(const std::vector<StructInfo>& structs);

std::string CalibrationText(const Calibration& calibration, const Environment& environment);
std::string CalibrationJson(const Calibration& calibration, const Environment& environment);
std::string CalibrationCsv(const Calibration& calibration);

}  // namespace memsim

#endif  // MEMSIM_REPORT_RENDER_H_
