#include "lib/report/record_numbers.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/report/compare_parts.h"
#include "lib/report/table.h"

namespace memsim {

namespace {

using Json = nlohmann::json;

const Json& At(const Json& json, const char* pointer) {
  static const Json none;
  const Json::json_pointer at(pointer);
  return json.contains(at) ? json.at(at) : none;
}

std::string Text(const Json& json, const char* pointer) {
  const Json& found = At(json, pointer);
  return found.is_string() ? found.get<std::string>() : "";
}

// The first of `names` that is a number.
std::optional<double> Number(const Json& json, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const Json& found = At(json, name); found.is_number()) return found.get<double>();
  }
  return std::nullopt;
}

// An interval, or a spread over seeds, by whichever names its report has for it.
bool ReadRange(const Json& json, RecordedNumber& number) {
  const auto value = Number(json, {"/median", "/mean", "/value"});
  const auto low = Number(json, {"/low", "/least"}), high = Number(json, {"/high", "/most"});
  if (!value.has_value() || !low.has_value() || !high.has_value()) return false;
  number.value = *value;
  number.low = *low;
  number.high = *high;
  const auto confidence = Number(json, {"/confidence"});
  number.range = "over the seeds";
  if (confidence.has_value()) {
    // Order statistics cover a little more than was asked for.
    number.range = absl::StrFormat("%.0f %% interval",
                                   *confidence >= kConfidence ? 100 * kConfidence : 100 * *confidence);
  }
  return true;
}

// A time is of one series whatever seed the order was drawn from.
std::string SeriesCommand(const Json& arm, bool timed) {
  const std::string command = Text(arm, "/configuration/command");
  if (!timed) return command;
  const std::vector<std::string> words = absl::StrSplit(command, ' ');
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--seed") {
      ++i;
      continue;
    }
    absl::StrAppend(&text, text.empty() ? "" : " ", words[i]);
  }
  return text;
}

class Numbers {
 public:
  Numbers(const Json& result, bool timed) : result_(result), timed_(timed) {}
  std::vector<RecordedNumber> Take() { return std::move(numbers_); }

  // memsim.compare: the difference of each arm to the first.
  void Compare() {
    const Json& arms = At(result_, "/arms");
    const std::string machine = Text(result_, "/machine");
    for (size_t i = 1; arms.is_array() && i < arms.size(); ++i) {
      const std::string letter = ArmLetter(i % 26);  // a file may say anything
      RecordedNumber number = Difference(letter + " minus A", "ns a page", 3);
      number.verdict = Text(arms[i], "/verdict");
      if (!ReadRange(At(arms[i], "/difference"), number)) {
        const auto exact = Number(arms[i], {"/exact_difference/instructions"});
        if (!exact.has_value()) continue;
        number.value = number.low = number.high = *exact;
        number.unit = "instructions a page";
        number.range = "exact";
      }
      number.title = absl::StrCat("A ", Text(arms[0], "/arm"), " and ", letter, " ", Text(arms[i], "/arm"),
                                  machine.empty() || machine == "native" ? "" : " on " + MachineOf(arms[i]));
      Add(std::move(number), absl::StrCat("compare ", machine, " ", Text(arms[0], "/machine"), " ",
                                          SeriesCommand(arms[0], timed_), " | ", Text(arms[i], "/machine"),
                                          " ", SeriesCommand(arms[i], timed_), Seeds()));
    }
  }

  // memsim.run and memsim.simulate: the time of a page.
  void Run() {
    RecordedNumber number;
    number.what = "one page";
    number.unit = "ns a page";
    if (!ReadRange(At(result_, "/ns_per_page/total"), number)) return;
    const std::string command = SeriesCommand(result_, timed_);
    number.title = std::string(absl::StripPrefix(command, "memsim run "));
    Add(std::move(number), command);
  }

  // memsim.comparison2015: what each kind of controller adds.
  void Comparison2015() {
    const Json& arms = At(result_, "/arms");
    for (size_t i = 1; arms.is_array() && i < arms.size(); ++i) {
      const std::string memcg = Text(arms[i], "/configuration/memcg");
      RecordedNumber number = Difference(absl::StrCat(memcg, " adds"), "ns a page", 2);
      if (!ReadRange(At(arms[i], "/added_ns_per_page"), number)) continue;
      number.title = absl::StrCat("the demo: memcg ", memcg, " (", Text(arms[i], "/configuration/off"),
                                  ") beside compiled out");
      Add(std::move(number), absl::StrCat("comparison ", SeriesCommand(arms[i], timed_)));
    }
  }

  // memsim.pft: the difference of two columns.
  void Pft() {
    const Json& differences = At(result_, "/differences");
    for (size_t i = 0; differences.is_array() && i < differences.size(); ++i) {
      const Json& one = differences[i];
      const auto clients = Number(one, {"/clients"});
      RecordedNumber number = Difference(absl::StrCat(Text(one, "/metric"), ", ", clients.value_or(0),
                                                      clients == 1 ? " client" : " clients"),
                                         "%", 2);
      if (!clients.has_value() || !ReadRange(At(one, "/simulated_percent"), number)) continue;
      number.verdict = Text(one, "/verdict");
      number.title = absl::StrCat("pft on ", Text(result_, "/machine"), ": ", Text(one, "/disabled"),
                                  " beside ", Text(one, "/enabled"));
      Add(std::move(number),
          absl::StrCat(Text(result_, "/command"), " ", Text(one, "/enabled"), " ", Text(one, "/disabled")));
    }
  }

 private:
  static RecordedNumber Difference(std::string what, std::string unit, int digits) {
    RecordedNumber number;
    number.what = std::move(what);
    number.unit = std::move(unit);
    number.digits = digits;
    number.sign = true;
    return number;
  }

  std::string MachineOf(const Json& arm) const {
    const std::string own = Text(arm, "/machine");
    return own.empty() ? Text(result_, "/machine") : own;
  }

  std::string Seeds() const {
    const auto seeds = Number(result_, {"/seeds"});
    return seeds.has_value() ? absl::StrCat(" seeds ", *seeds) : "";
  }

  void Add(RecordedNumber number, std::string series) {
    number.series = std::move(series);
    numbers_.push_back(std::move(number));
  }

  const Json& result_;
  bool timed_;
  std::vector<RecordedNumber> numbers_;
};

struct Family {
  absl::string_view schema;  // up to its version
  void (Numbers::*take)();
};
constexpr Family kFamilies[] = {
    {"memsim.compare/", &Numbers::Compare}, {"memsim.run/", &Numbers::Run},
    {"memsim.simulate/", &Numbers::Run},    {"memsim.comparison2015/", &Numbers::Comparison2015},
    {"memsim.pft/", &Numbers::Pft},
};

}  // namespace

std::string RecordedNumber::ValueText() const {
  return sign ? absl::StrFormat("%+.*f", digits, value) : Fixed(value, digits);
}

std::string RecordedNumber::RangeText() const {
  if (range == "exact") return "";
  return sign ? absl::StrFormat("%+.*f…%+.*f", digits, low, digits, high)
              : absl::StrFormat("%.*f…%.*f", digits, low, digits, high);
}

std::vector<RecordedNumber> NumbersOf(absl::string_view schema, const nlohmann::json& result, bool timed) {
  Numbers numbers(result, timed);
  for (const Family& family : kFamilies) {
    if (absl::StartsWith(schema, family.schema)) (numbers.*family.take)();
  }
  return numbers.Take();
}

nlohmann::json ExactPart(const nlohmann::json& result, bool timed) {
  if (!timed) return result;
  Json part = Json::object();
  for (const char* field : {"configuration", "counts"}) {
    if (result.contains(field)) part[field] = result[field];
  }
  const Json& arms = At(result, "/arms");
  for (size_t i = 0; arms.is_array() && i < arms.size(); ++i) {
    part["arms"].push_back(arms[i].is_object() ? ExactPart(arms[i], true) : Json());
  }
  return part;
}

}  // namespace memsim
