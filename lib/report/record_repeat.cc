// What two records say of one thing.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/input/model_file.h"
#include "lib/report/record_numbers.h"
#include "memsim/report/records.h"

namespace memsim {

namespace {

using Json = nlohmann::json;

const RecordedNumber* Find(const Record& record, const RecordedNumber& wanted) {
  const auto found =
      std::find_if(record.numbers.begin(), record.numbers.end(), [&](const RecordedNumber& one) {
        return one.series == wanted.series && one.what == wanted.what && one.unit == wanted.unit;
      });
  return found == record.numbers.end() ? nullptr : &*found;
}

Json ExactPartOf(const Record& record) {
  const Json report = Json::parse(record.report, nullptr, /*allow_exceptions=*/false);
  return report.contains("result") ? ExactPart(report["result"], record.timed()) : Json();
}

std::vector<std::string> Differences(const Json& then, const Json& now) {
  std::vector<std::string> different;
  for (const Json& step : Json::diff(then, now)) {
    const std::string path = step["path"].get<std::string>();
    const Json::json_pointer at(path);
    const auto value = [&](const Json& json) {
      return json.contains(at) ? Brief(json.at(at)) : std::string("nothing");
    };
    different.push_back(absl::StrCat(path, ": ", value(then), " then, ", value(now), " now"));
  }
  return different;
}

}  // namespace

std::vector<EnvironmentChange> EnvironmentChanges(const Environment& then, const Environment& now) {
  const auto kind = [](const Environment& e) { return e.virtual_machine ? "virtual" : "bare metal"; };
  std::vector<EnvironmentChange> changes;
  for (EnvironmentChange& one :
       std::vector<EnvironmentChange>{{"CPU", then.cpu, now.cpu},
                                      {"CPUs", absl::StrCat(then.cpus), absl::StrCat(now.cpus)},
                                      {"machine", kind(then), kind(now)},
                                      {"host kernel", then.os, now.os},
                                      {"compiler", then.compiler, now.compiler},
                                      {"build", then.build, now.build},
                                      {"program", then.program, now.program},
                                      {"static keys", then.static_keys, now.static_keys}}) {
    if (one.then != one.now) changes.push_back(std::move(one));
  }
  return changes;
}

absl::string_view AgreementName(Agreement agreement) {
  switch (agreement) {
    case Agreement::kAgrees:
      return "agrees";
    case Agreement::kDiffers:
      return "differs";
    case Agreement::kNotCompared:
      return "not compared";
  }
  return "";
}

Agreement Agree(const Record& then, const RecordedNumber& number, const Record& now,
                const RecordedNumber* again) {
  if (again == nullptr || then.timed() != now.timed()) return Agreement::kNotCompared;
  const auto name = [](bool agrees) { return agrees ? Agreement::kAgrees : Agreement::kDiffers; };
  if (!then.timed()) {
    return name(number.value == again->value && number.low == again->low && number.high == again->high);
  }
  if (!EnvironmentChanges(then.environment, now.environment).empty()) return Agreement::kNotCompared;
  return name(number.low <= again->high && again->low <= number.high);
}

Repetition Repeat(std::string reference, Record then, Record now) {
  Repetition r;
  r.reference = std::move(reference);
  if (then.timed() || now.timed()) r.changes = EnvironmentChanges(then.environment, now.environment);
  r.different = Differences(ExactPartOf(then), ExactPartOf(now));
  for (const RecordedNumber& number : then.numbers) {
    const RecordedNumber* again = Find(now, number);
    r.pairs.push_back(
        {number, again == nullptr ? std::nullopt : std::optional(*again), Agree(then, number, now, again)});
  }
  r.then = std::move(then);
  r.now = std::move(now);
  return r;
}

}  // namespace memsim
