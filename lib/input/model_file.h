// JSON files below models/, as people write them: an error is one line with file, field, value and what
// would be valid.
//
// A file may have 1 MiB. What is longer, no JSON, or says a field twice is refused before anything is built
// from it.
//
// The directory is $MEMSIM_MODELS, else share/memsim/models beside the program's own bin/, else the
// source tree the library was built from.
#ifndef MEMSIM_LIB_INPUT_MODEL_FILE_H_
#define MEMSIM_LIB_INPUT_MODEL_FILE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace memsim {

// A value as it is quoted in an error: short, on one line.
std::string Brief(const nlohmann::json& value);

class ModelFile {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  // Whether a name has a '/' or ends in ".json": then it is a path of its own.
  static bool IsPath(absl::string_view name);
  // `kind` is a folder below models/.
  static absl::StatusOr<ModelFile> Open(absl::string_view kind, absl::string_view name);
  // The names in a folder, sorted.
  static absl::StatusOr<std::vector<std::string>> Names(absl::string_view kind);

  const std::string& path() const { return path_; }
  const nlohmann::json& json() const { return json_; }

  // A field by JSON pointer ("/parameters/faults/value").
  absl::StatusOr<std::string> String(const std::string& pointer) const;
  absl::StatusOr<int64_t> Integer(const std::string& pointer, int64_t least, int64_t most) const;
  absl::StatusOr<double> Number(const std::string& pointer) const;
  absl::StatusOr<bool> Bool(const std::string& pointer, bool absent) const;
  // Entries of a list.
  absl::StatusOr<size_t> Length(const std::string& pointer) const;
  bool Has(const std::string& pointer) const { return Find(pointer) != nullptr; }
  // "FILE: FIELD: why"
  absl::Status Wrong(const std::string& pointer, absl::string_view why) const;
  const nlohmann::json* Find(const std::string& pointer) const;

 private:
  std::string path_;
  nlohmann::json json_;
};

}  // namespace memsim

#endif  // MEMSIM_LIB_INPUT_MODEL_FILE_H_
