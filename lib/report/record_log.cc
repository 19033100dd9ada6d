// Records put in series, one for each number that they share.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "memsim/report/records.h"

namespace memsim {

namespace {

std::string KeyOf(const RecordedNumber& number) {
  return absl::StrCat(number.series, "\n", number.what, "\n", number.unit);
}

// A row of a series and the record it is from.
struct Member {
  const Record* record;
  const RecordedNumber* number;
};

// The last of `before` that `now` can be compared with.
std::string Beside(const std::vector<Member>& before, const Member& now) {
  for (auto one = before.rbegin(); one != before.rend(); ++one) {
    const Agreement agreement = Agree(*one->record, *one->number, *now.record, now.number);
    if (agreement == Agreement::kNotCompared) continue;
    const bool agrees = agreement == Agreement::kAgrees;
    if (!now.record->timed()) {
      return absl::StrCat(agrees ? "the same as " : "another than ", one->record->number);
    }
    return absl::StrCat(AgreementName(agreement), agrees ? " with " : " from ", one->record->number);
  }
  return before.empty() ? "" : "not compared";
}

}  // namespace

absl::StatusOr<std::vector<LogSeries>> MakeLog(const Records& records, std::optional<int64_t> only) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<Member>> series;
  std::set<std::string> wanted;
  bool found = false;
  for (const Record& record : records.records) {
    found = found || record.number == only;
    for (const RecordedNumber& number : record.numbers) {
      const std::string key = KeyOf(number);
      if (record.number == only) wanted.insert(key);
      auto& members = series[key];
      if (members.empty()) order.push_back(key);
      members.push_back({&record, &number});
    }
  }
  if (only.has_value() && !found) {
    return absl::NotFoundError(absl::StrCat("there is no record ", *only, "; valid: one of ",
                                            records.records.front().number, " to ",
                                            records.records.back().number));
  }
  std::vector<LogSeries> log;
  for (const std::string& key : order) {
    if (only.has_value() && wanted.count(key) == 0) continue;
    LogSeries one;
    std::vector<Member> before;
    for (const Member& member : series[key]) {
      LogSeries::Row row = {member.record->number,
                            member.record->environment.time,
                            member.record->partial,
                            *member.number,
                            {},
                            Beside(before, member),
                            {}};
      if (member.record->timed()) row.load = member.record->environment.load;
      if (!before.empty() && member.record->timed()) {
        for (const EnvironmentChange& change :
             EnvironmentChanges(before.back().record->environment, member.record->environment)) {
          row.changed.push_back(change.what);
        }
      }
      one.rows.push_back(std::move(row));
      before.push_back(member);
    }
    one.first = one.rows.front().number;
    log.push_back(std::move(one));
  }
  return log;
}

}  // namespace memsim
