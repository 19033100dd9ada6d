#include "tools/memsim/finish.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "memsim/report/records_render.h"
#include "tools/memsim/output.h"

namespace memsim {

namespace {

std::string Beside(const Options& options, const std::string& shown, Record now) {
  const auto repetition = Repeat(options.reference, *options.repeated, std::move(now));
  if (options.format == "json") return RerunJson(repetition);
  if (options.format == "csv") return RerunCsv(repetition);
  return absl::StrCat(shown, "\n", RerunText(repetition));
}

// The line that says where the report went and how to have it again.
absl::StatusOr<std::string> Keep(const std::string& path, const Record& record) {
  const auto file = RecordFile::Check(path);
  if (!file.ok()) return file.status();
  std::string repaired;
  const auto number = file->Append(record, &repaired);
  if (!repaired.empty()) std::fprintf(stderr, "memsim: %s\n", repaired.c_str());
  if (!number.ok()) return number.status();
  return absl::StrCat("\nadded as record ", *number, "; again: memsim rerun '", path, "#", *number, "'\n");
}

}  // namespace

absl::Status CheckOut(const Options& options) {
  return options.out.has_value() ? RecordFile::Check(*options.out).status() : absl::OkStatus();
}

int Finish(const Options& options, bool partial, const std::function<std::string()>& shown,
           const std::function<std::string()>& json) {
  const bool for_machines = options.format == "json" || options.format == "csv";
  std::string text = options.repeated == nullptr || !for_machines ? shown() : "";
  absl::Status kept;
  if (options.out.has_value() || options.repeated != nullptr) {
    auto record = MakeRecord(options.arguments, json());
    if (!record.ok()) return Refuse(record.status());
    std::string added;
    if (options.out.has_value()) {
      auto line = Keep(*options.out, *record);
      kept = line.status();
      if (line.ok() && options.format == "text") added = *line;
    }
    if (options.repeated != nullptr) text = Beside(options, text, *std::move(record));
    text += added;
  }
  // The report is printed also when it could not be kept.
  const int printed = Print(text);
  if (!kept.ok()) return Refuse(kept);
  return printed == kOk && partial ? kInterrupted : printed;
}

}  // namespace memsim
