#include "lib/input/model_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace memsim {

namespace {

namespace fs = std::filesystem;

fs::path ModelsDirectory() {
  if (const char* set = std::getenv("MEMSIM_MODELS"); set != nullptr && *set != '\0') return set;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    fs::path installed = self.parent_path().parent_path() / "share/memsim/models";
    if (fs::is_directory(installed, error)) return installed;
  }
  return MEMSIM_SOURCE_MODELS;
}

bool IsPath(absl::string_view name) {
  return absl::StrContains(name, "/") || absl::EndsWith(name, ".json");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ModelFile::Names(absl::string_view kind) {
  const fs::path folder = ModelsDirectory() / std::string(kind);
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json") names.push_back(it->path().stem().string());
  }
  if (error || names.empty()) {
    return absl::NotFoundError(absl::StrCat(
        folder.string(), ": no model files there; set MEMSIM_MODELS to a directory with ", kind,
        "/*.json"));
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<ModelFile> ModelFile::Open(absl::string_view kind, absl::string_view name) {
  ModelFile file;
  if (IsPath(name)) {
    file.path_ = std::string(name);
  } else {
    const auto names = Names(kind);
    if (!names.ok()) return names.status();
    if (std::find(names->begin(), names->end(), name) == names->end()) {
      return absl::NotFoundError(absl::StrCat("no '", name, "' in ", kind, "; valid: ",
                                              absl::StrJoin(*names, ", "), ", or a .json file"));
    }
    file.path_ = (ModelsDirectory() / std::string(kind) / absl::StrCat(name, ".json")).string();
  }
  std::ifstream in(file.path_);
  std::stringstream text;
  text << in.rdbuf();
  if (!in.is_open() || in.bad() || fs::is_directory(file.path_)) {
    return absl::NotFoundError(absl::StrCat(file.path_, ": cannot be read"));
  }
  file.json_ = nlohmann::json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (file.json_.is_discarded() || !file.json_.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path_, ": is not a JSON object"));
  }
  return file;
}

absl::Status ModelFile::Wrong(const std::string& pointer, absl::string_view why) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", pointer, ": ", why));
}

const nlohmann::json* ModelFile::Find(const std::string& pointer) const {
  const nlohmann::json::json_pointer at(pointer);
  return json_.contains(at) ? &json_.at(at) : nullptr;
}

absl::StatusOr<std::string> ModelFile::String(const std::string& pointer) const {
  const nlohmann::json* found = Find(pointer);
  if (found == nullptr) return Wrong(pointer, "is missing; a text is expected");
  if (!found->is_string()) return Wrong(pointer, absl::StrCat(found->dump(), " is not a text"));
  return found->get<std::string>();
}

absl::StatusOr<int64_t> ModelFile::Integer(const std::string& pointer, int64_t least,
                                           int64_t most) const {
  const nlohmann::json* found = Find(pointer);
  const std::string valid = absl::StrCat("valid: a whole number from ", least, " to ", most);
  if (found == nullptr) return Wrong(pointer, absl::StrCat("is missing; ", valid));
  const bool fits = found->is_number_integer() && found->get<double>() >= static_cast<double>(least) &&
                    found->get<double>() <= static_cast<double>(most);
  if (!fits) return Wrong(pointer, absl::StrCat(found->dump(), "; ", valid));
  return found->get<int64_t>();
}

absl::StatusOr<double> ModelFile::Number(const std::string& pointer) const {
  const nlohmann::json* found = Find(pointer);
  if (found == nullptr) return Wrong(pointer, "is missing; a number is expected");
  if (!found->is_number()) return Wrong(pointer, absl::StrCat(found->dump(), " is not a number"));
  return found->get<double>();
}

absl::StatusOr<bool> ModelFile::Bool(const std::string& pointer, bool absent) const {
  const nlohmann::json* found = Find(pointer);
  if (found == nullptr) return absent;
  if (!found->is_boolean()) return Wrong(pointer, absl::StrCat(found->dump(), "; valid: true, false"));
  return found->get<bool>();
}

absl::StatusOr<size_t> ModelFile::Length(const std::string& pointer) const {
  const nlohmann::json* found = Find(pointer);
  if (found == nullptr || !found->is_array()) return Wrong(pointer, "is missing; a list is expected");
  return found->size();
}

}  // namespace memsim
