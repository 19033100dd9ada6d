#include "memsim/report/records.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/input/model_file.h"
#include "lib/report/record_lines.h"
#include "lib/report/record_numbers.h"

namespace memsim {

namespace {

using Json = nlohmann::json;

constexpr const char* kSchema = "memsim.record/1";
constexpr int kDeepest = 32;  // nested deeper it is no record, and costs memory

// Reads fields of a document by JSON pointer and keeps the first that is missing or of another type.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  std::string Text(const std::string& pointer) {
    const Json* found = Find(pointer);
    return found != nullptr && found->is_string() ? found->get<std::string>()
                                                  : Wrong(pointer, "a text", std::string());
  }
  double Number(const std::string& pointer) {
    const Json* found = Find(pointer);
    return found != nullptr && found->is_number() ? found->get<double>() : Wrong(pointer, "a number", 0.0);
  }
  bool Bool(const std::string& pointer) {
    const Json* found = Find(pointer);
    return found != nullptr && found->is_boolean() ? found->get<bool>()
                                                   : Wrong(pointer, "true or false", false);
  }
  // Entries of a list; an absent one has none.
  size_t Length(const std::string& pointer) {
    const Json* found = Find(pointer);
    if (found == nullptr) return 0;
    return found->is_array() ? found->size() : Wrong(pointer, "a list", size_t{0});
  }
  const Json* Find(const std::string& pointer) const {
    const Json::json_pointer at(pointer);
    return json_.contains(at) ? &json_.at(at) : nullptr;
  }
  template <class T>
  T Wrong(const std::string& pointer, absl::string_view valid, T value) {
    const Json* found = Find(pointer);
    if (wrong_.empty()) {
      wrong_ =
          absl::StrCat(pointer, ": ", found == nullptr ? "is missing" : Brief(*found), "; valid: ", valid);
    }
    return value;
  }
  absl::Status status() const {
    return wrong_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(wrong_);
  }

 private:
  const Json& json_;
  std::string wrong_;
};

Environment ReadRecordedEnvironment(Fields& fields) {
  const std::string at = "/report/environment/";
  Environment env;
  env.cpu = fields.Text(at + "cpu");
  env.cpus = static_cast<int>(fields.Number(at + "cpus"));
  env.os = fields.Text(at + "os");
  env.virtual_machine = fields.Bool(at + "virtual_machine");
  env.load = fields.Number(at + "load");
  env.compiler = fields.Text(at + "compiler");
  env.build = fields.Text(at + "build");
  env.program = fields.Text(at + "program");
  env.static_keys = fields.Text(at + "static_keys");
  env.time = fields.Text(at + "time");
  const size_t notes = fields.Length(at + "notes");
  for (size_t i = 0; i < notes; ++i) {
    const std::string note = absl::StrCat(at, "notes/", i);
    env.notes.push_back({fields.Text(note + "/name"), fields.Text(note + "/value"),
                         fields.Text(note + "/effect"), fields.Bool(note + "/harms")});
  }
  return env;
}

absl::StatusOr<Record> RecordOf(const Json& json) {
  Fields fields(json);
  if (fields.Text("/schema") != kSchema) fields.Wrong("/schema", kSchema, 0);
  Record record;
  const size_t arguments = fields.Length("/arguments");
  if (arguments == 0) fields.Wrong("/arguments", "a list of texts", 0);
  for (size_t i = 0; i < arguments; ++i) {
    record.arguments.push_back(fields.Text(absl::StrCat("/arguments/", i)));
  }
  const std::string schema = fields.Text("/report/schema");
  record.partial = fields.Bool("/report/partial");
  record.environment = ReadRecordedEnvironment(fields);
  const Json* result = fields.Find("/report/result");
  if (result == nullptr || !result->is_object()) fields.Wrong("/report/result", "an object", 0);
  if (auto status = fields.status(); !status.ok()) return status;
  record.numbers = NumbersOf(schema, *result, record.timed());
  record.report = json["report"].dump();
  return record;
}

absl::StatusOr<Record> ParseLine(const RecordLine& line) {
  if (line.too_long) {
    return absl::InvalidArgumentError(
        absl::StrCat("is longer than ", kMostRecordBytes >> 20, " MiB; valid: a line of ", kSchema));
  }
  auto record = ParseRecord(line.text);
  if (record.ok()) record->number = line.number;
  return record;
}

// Why no record was found in `all`, whose first wrong line is `first`.
std::string WhyNone(const Records& all, const std::string& first) {
  if (!first.empty()) return first;
  return all.warnings.empty() ? absl::StrCat("it is empty; ", kValidRecords)
                              : "its only line ends early; valid: a file with a whole line";
}

}  // namespace

absl::StatusOr<Record> ParseRecord(absl::string_view line) {
  const Json json = Json::parse(
      line.begin(), line.end(), [](int depth, Json::parse_event_t, Json&) { return depth <= kDeepest; },
      /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("is not a JSON object; valid: a line of ", kSchema));
  }
  return RecordOf(json);
}

absl::StatusOr<Record> MakeRecord(std::vector<std::string> arguments, absl::string_view report) {
  auto record =
      RecordOf({{"schema", kSchema},
                {"arguments", std::move(arguments)},
                {"report", Json::parse(report.begin(), report.end(), nullptr, /*allow_exceptions=*/false)}});
  if (record.ok()) record->report = std::string(report);  // its fields in their order
  return record;
}

std::string RecordLineOf(const Record& record) {
  using Ordered = nlohmann::ordered_json;
  const Ordered line = {{"schema", kSchema},
                        {"arguments", record.arguments},
                        {"report", Ordered::parse(record.report, nullptr, /*allow_exceptions=*/false)}};
  // A path from outside may not be UTF-8.
  return line.dump(-1, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

RecordReference ParseReference(const std::string& text) {
  const size_t hash = text.rfind('#');
  int64_t number = 0;
  if (hash == std::string::npos || !absl::SimpleAtoi(text.substr(hash + 1), &number)) return {text, {}};
  return {text.substr(0, hash), number};
}

absl::StatusOr<Records> ReadRecords(const std::string& path) {
  Records all;
  int64_t wrong = 0;
  std::string first;
  const auto take = [&](const RecordLine& line) {
    auto record = ParseLine(line);
    if (record.ok()) {
      record->report.clear();
      all.records.push_back(*std::move(record));
    } else if (line.torn) {
      all.warnings.push_back(absl::StrCat("'", path, "' line ", line.number,
                                          " ends early, as a killed writer ",
                                          "leaves it: left out (the next --out removes it)"));
      return false;
    } else if (++wrong == 1) {
      first = absl::StrCat("line ", line.number, ": ", record.status().message());
    }
    ++all.lines;
    return true;
  };
  if (auto status = ForEachLine(path, take); !status.ok()) return status;
  if (all.records.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' holds no record: ", WhyNone(all, first)));
  }
  if (wrong > 0) {
    all.warnings.insert(all.warnings.begin(), absl::StrCat("'", path, "': ", wrong, " of ", all.lines,
                                                           " lines left out, no record",
                                                           wrong == 1 ? ": " : "s; the first, ", first));
  }
  return all;
}

absl::StatusOr<Record> ReadRecord(const std::string& reference) {
  const RecordReference wanted = ParseReference(reference);
  absl::StatusOr<Record> found = absl::NotFoundError("is not there");
  int64_t lines = 0;
  const auto take = [&](const RecordLine& line) {
    if (line.number == wanted.number) {
      found = ParseLine(line);
      if (!found.ok() && line.torn) found = absl::InvalidArgumentError("ends early; valid: a whole line");
    }
    if (!line.torn || line.number == wanted.number) lines = line.number;
    return line.number != wanted.number;
  };
  if (auto status = ForEachLine(wanted.path, take); !status.ok()) return status;
  if (found.ok()) return found;
  if (wanted.number.has_value() && lines == *wanted.number) {
    return absl::InvalidArgumentError(absl::StrCat("'", reference, "' ", found.status().message()));
  }
  if (lines == 0) {
    return absl::NotFoundError(absl::StrCat("'", wanted.path, "' holds no record; ", kValidRecords));
  }
  return absl::NotFoundError(absl::StrCat("'", reference, "' ",
                                          wanted.number.has_value() ? "is not there" : "names no record",
                                          "; valid: ", wanted.path, "#N with N from 1 to ", lines));
}

}  // namespace memsim
