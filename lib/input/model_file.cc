#include "lib/input/model_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/ascii.h"
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

std::string OneLine(absl::string_view text, size_t most) {
  std::string line(text.substr(0, most));
  for (char& c : line) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return text.size() > most ? line + "..." : line;
}

// Follows the parser and knows the path it is at, so that an error can name the field.
class Syntax : public nlohmann::json_sax<nlohmann::json> {
 public:
  const std::string& wrong() const { return wrong_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return Push(/*is_object=*/true); }
  bool start_array(size_t) override { return Push(/*is_object=*/false); }
  bool end_object() override { return Pop(); }
  bool end_array() override { return Pop(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.key = OneLine(name, 40);
    if (level.keys.insert(name).second) return true;
    wrong_ = absl::StrCat(Path(), ": is there twice; valid: once");
    return false;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 2: ..."
    absl::string_view what = error.what();
    what.remove_prefix(std::min(what.size(), what.find("] ") == what.npos ? 0 : what.find("] ") + 2));
    wrong_ = absl::StrCat("is not a JSON object: ", levels_.empty() ? "" : Path() + ": ",
                          OneLine(what, 160));
    return false;
  }

 private:
  struct Level {
    bool is_object;
    std::string key;
    std::set<std::string> keys;
  };
  // Model files are flat; what is nested deeper is no model file, and costs stack wherever it is walked.
  static constexpr size_t kDeepest = 16;

  bool Push(bool is_object) {
    if (levels_.size() == kDeepest) {
      wrong_ = absl::StrCat(Path(), ": is nested too deeply; valid: ", kDeepest, " levels");
      return false;
    }
    levels_.push_back({is_object, "", {}});
    return true;
  }
  bool Pop() {
    levels_.pop_back();
    return true;
  }
  std::string Path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (!level.is_object) absl::StrAppend(&path, "/[]");
      if (level.is_object && !level.key.empty()) absl::StrAppend(&path, "/", level.key);
    }
    return path.empty() ? "/" : path;
  }

  std::vector<Level> levels_;
  std::string wrong_;
};

absl::StatusOr<std::string> Read(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read: it is a directory"));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(ModelFile::kMaxBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  if (static_cast<size_t>(in.gcount()) == text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is longer than 1 MiB; valid: a model file of at most 1 MiB"));
  }
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

}  // namespace

std::string Brief(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return OneLine(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), 40);
}

bool ModelFile::IsPath(absl::string_view name) {
  return absl::StrContains(name, "/") || absl::EndsWith(name, ".json");
}

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
  const auto text = Read(file.path_);
  if (!text.ok()) return text.status();
  Syntax syntax;
  if (!nlohmann::json::sax_parse(*text, &syntax)) {
    return absl::InvalidArgumentError(absl::StrCat(file.path_, ": ", syntax.wrong()));
  }
  file.json_ = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!file.json_.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path_, ": is not a JSON object, but ", Brief(file.json_)));
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
  if (!found->is_string()) return Wrong(pointer, absl::StrCat(Brief(*found), " is not a text"));
  return found->get<std::string>();
}

absl::StatusOr<int64_t> ModelFile::Integer(const std::string& pointer, int64_t least,
                                           int64_t most) const {
  const nlohmann::json* found = Find(pointer);
  const std::string valid = absl::StrCat("valid: a whole number from ", least, " to ", most);
  if (found == nullptr) return Wrong(pointer, absl::StrCat("is missing; ", valid));
  const bool fits = found->is_number_integer() && found->get<double>() >= static_cast<double>(least) &&
                    found->get<double>() <= static_cast<double>(most);
  if (!fits) return Wrong(pointer, absl::StrCat(Brief(*found), "; ", valid));
  return found->get<int64_t>();
}

absl::StatusOr<double> ModelFile::Number(const std::string& pointer) const {
  const nlohmann::json* found = Find(pointer);
  if (found == nullptr) return Wrong(pointer, "is missing; a number is expected");
  if (!found->is_number()) return Wrong(pointer, absl::StrCat(Brief(*found), " is not a number"));
  return found->get<double>();
}

absl::StatusOr<bool> ModelFile::Bool(const std::string& pointer, bool absent) const {
  const nlohmann::json* found = Find(pointer);
  if (found == nullptr) return absent;
  if (!found->is_boolean()) return Wrong(pointer, absl::StrCat(Brief(*found), "; valid: true, false"));
  return found->get<bool>();
}

absl::StatusOr<size_t> ModelFile::Length(const std::string& pointer) const {
  const nlohmann::json* found = Find(pointer);
  if (found == nullptr || !found->is_array()) return Wrong(pointer, "is missing; a list is expected");
  return found->size();
}

}  // namespace memsim
