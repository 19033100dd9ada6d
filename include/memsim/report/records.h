// Results that last: a file of JSON lines to which `--out` adds one line for each finished report.
//
// Line      memsim.record/1: the command line, and the report as `--format json` prints it
// (docs/records.md).
//           Line N is record N, for good: nothing is ever moved
// Append    one write at the end under flock(), then fsync(). A write that is cut short (a full disk, a
// limit)
//           is taken back
// Crash     a writer that is killed leaves at most a last line without its end. Readers leave it out, and
// the
//           next Append() removes it; both say so
// Errors    InvalidArgument or NotFound, one line with the file and what would be valid
#ifndef MEMSIM_REPORT_RECORDS_H_
#define MEMSIM_REPORT_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/measure/environment.h"

namespace memsim {

// Longer lines are no records and are not read into memory.
inline constexpr size_t kMostRecordBytes = size_t{4} << 20;

// One number of a report, with what makes it the same number in another.
struct RecordedNumber {
  std::string series;  // configuration and number; the seed is no part of it where a clock was read
  std::string title;   // of the series, for people
  std::string what;    // "B minus A"
  std::string unit;    // "ns a page"
  std::string range;   // what low…high is: "95 % interval", "over the seeds", "exact"
  double value = 0, low = 0, high = 0;
  int digits = 2;
  bool sign = false;  // a difference
  std::string verdict;

  std::string ValueText() const;
  std::string RangeText() const;  // nothing when exact
};

struct Record {
  int64_t number = 0;                  // line of the file, from 1
  std::vector<std::string> arguments;  // the command line behind "memsim"
  bool partial = false;
  Environment environment;
  std::vector<RecordedNumber> numbers;  // none where the report has no single ones
  std::string report;                   // JSON

  // Whether a clock had a part in it. Else it is the same on every host.
  bool timed() const { return !environment.notes.empty(); }
};

// One report, as `--format json` prints it, and the command line that made it.
absl::StatusOr<Record> MakeRecord(std::vector<std::string> arguments, absl::string_view report);
// A line of the file.
absl::StatusOr<Record> ParseRecord(absl::string_view line);
// The line, with its end.
std::string RecordLineOf(const Record& record);

// "results.jsonl#3" is the file and record 3; "results.jsonl" the file.
struct RecordReference {
  std::string path;
  std::optional<int64_t> number;
};
RecordReference ParseReference(const std::string& text);

struct Records {
  std::vector<Record> records;        // without `report`
  int64_t lines = 0;                  // whole ones, records or not
  std::vector<std::string> warnings;  // what was left out: one line each, two at most
};
absl::StatusOr<Records> ReadRecords(const std::string& path);
// "FILE#N"
absl::StatusOr<Record> ReadRecord(const std::string& reference);

class RecordFile {
 public:
  // Whether a record could be added to `path` now; leaves nothing behind. A file that is there has to be one
  // of records: nothing is ever appended to somebody's letters.
  static absl::StatusOr<RecordFile> Check(const std::string& path);
  // Returns the record's number. What a killed writer left at the end is removed first: `repaired` says so.
  absl::StatusOr<int64_t> Append(const Record& record, std::string* repaired) const;
  const std::string& path() const { return path_; }

 private:
  explicit RecordFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// What keeps the times of two records from being compared.
struct EnvironmentChange {
  std::string what;  // "compiler"
  std::string then, now;
};
// CPU, its count, kernel, virtualisation, compiler, build, program, how static keys work.
std::vector<EnvironmentChange> EnvironmentChanges(const Environment& then, const Environment& now);

enum class Agreement : uint8_t {
  kAgrees,       // the 95 % intervals overlap; what is exact is equal
  kDiffers,      // they do not; it is not
  kNotCompared,  // timed on different hosts, compilers or builds, or not in both
};
absl::string_view AgreementName(Agreement agreement);
// `number` of `then` and the same number of `now`; null when it has none.
Agreement Agree(const Record& then, const RecordedNumber& number, const Record& now,
                const RecordedNumber* again);

// A record, and the report of its command line today. Renderers in records_render.h.
struct Repetition {
  struct Pair {
    RecordedNumber then;
    std::optional<RecordedNumber> now;
    Agreement agreement;
  };
  std::string reference;
  Record then, now;
  std::vector<EnvironmentChange> changes;
  // Of what has to be equal: all of the result when nothing was timed, else configurations and counts.
  // "/arms/0/counts/pages: 3 then, 4 now"
  std::vector<std::string> different;
  std::vector<Pair> pairs;
};
Repetition Repeat(std::string reference, Record then, Record now);

// A number over time.
struct LogSeries {
  struct Row {
    int64_t record = 0;
    std::string time;  // UTC, ISO 8601
    bool partial = false;
    RecordedNumber number;
    std::optional<double> load;        // of the host, where it was timed
    std::string beside;                // "agrees with 3"
    std::vector<std::string> changed;  // since the row before, where it was timed
  };
  RecordedNumber first;
  std::vector<Row> rows;
};
// Of all records, or of what record `only` holds.
absl::StatusOr<std::vector<LogSeries>> MakeLog(const Records& records, std::optional<int64_t> only);

}  // namespace memsim

#endif  // MEMSIM_REPORT_RECORDS_H_
