#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/measure/callgrind.h"
#include "lib/measure/program.h"
#include "lib/measure/symbols.h"
#include "memsim/internal/compiler.h"
#include "memsim/report/count.h"
#include "memsim/static_key/static_key.h"

namespace memsim {

// Callgrind collects while control is inside: it has to be a symbol, and called once.
MEMSIM_OUT_OF_LINE ExecResult CountedExecution(Runner& runner) {
  MEMSIM_KEEP_CALL();
  return runner.Execute();
}

namespace {

constexpr absl::string_view kCounted = "CountedExecution";

absl::Status CheckCountable(const Configuration& configuration) {
  if (MEMSIM_SANITIZED) {
    return absl::FailedPreconditionError(
        "count is not in this sanitizer build, which valgrind cannot run; valid: a build without "
        "sanitizers");
  }
  if (configuration.machine != nullptr) {
    return absl::InvalidArgumentError("count runs on this CPU; valid: --machine native");
  }
  if (configuration.threads != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--threads ", configuration.threads, "; valid: 1 (valgrind lets threads take turns)"));
  }
  return absl::OkStatus();
}

// Whose are the functions of a chain of callers?
class Attribution {
 public:
  using Kind = Symbols::Kind;

  const Symbols::Place& Of(const std::string& symbol) {
    const auto known = places_.find(symbol);
    if (known != places_.end()) return known->second;
    return places_.emplace(symbol, symbols_.Named(symbol)).first->second;
  }
  // kCount: of no modelled function.
  Fn FnOf(const std::string& symbol) {
    const Symbols::Place& place = Of(symbol);
    return place.kind == Kind::kFunction ? place.fn : Fn::kCount;
  }
  // The innermost of a chain. A helper that the compiler did not inline counts for the function it
  // helps, as it does on the tracing machine; memsim's loop is helped by others.
  const Symbols::Place& Owner(const std::vector<std::string>& chain) {
    for (const std::string& symbol : chain) {
      const Symbols::Place& place = Of(symbol);
      if (place.kind != Kind::kOther && (place.kind != Kind::kDriver || &symbol == &chain[0]))
        return place;
      if (place.kind == Kind::kDriver) break;
    }
    return Of(chain[0]);
  }
  // Which end of a page's life the chain belongs to, the innermost first; kCount: neither.
  Fn Entry(const std::vector<std::string>& chain) {
    for (const std::string& symbol : chain) {
      const Fn fn = FnOf(symbol);
      if (fn == Fn::kHandleMmFault || fn == Fn::kZapPteRange) return fn;
    }
    return Fn::kCount;
  }

 private:
  Symbols symbols_;
  std::map<std::string, Symbols::Place> places_;
};

// In counts of the whole run.
std::vector<CountedRow> Rows(const std::vector<CallgrindFunction>& functions) {
  Attribution attribution;
  std::map<std::string, CountedRow> rows;
  for (const CallgrindFunction& function : functions) {
    const std::vector<std::string>& chain = function.chain;
    const Symbols::Place& place = attribution.Owner(chain);
    CountedRow one;
    one.fn = place.kind == Symbols::Kind::kFunction ? place.fn : Fn::kCount;
    one.name =
        std::string(one.fn != Fn::kCount ? Info(one.fn).name : Symbols::KindName(place.kind));
    one.total = static_cast<double>(function.instructions);
    // Called is what is entered from another: a split-off part of a kernel function is not.
    const bool itself = &place == &attribution.Of(chain[0]);
    if (one.fn != Fn::kCount && itself &&
        (chain.size() < 2 || attribution.FnOf(chain[1]) != one.fn)) {
      one.calls = static_cast<double>(function.calls);
    }
    const Fn entry = attribution.Entry(chain);
    if (entry == Fn::kHandleMmFault) one.charge = one.total;
    if (entry == Fn::kZapPteRange) one.uncharge = one.total;
    CountedRow& row = rows[one.name];
    row.name = one.name;
    row.fn = one.fn;
    row.Add(one);
  }
  std::vector<CountedRow> sorted;
  for (auto& [name, row] : rows) {
    if (row.total > 0) sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CountedRow& a, const CountedRow& b) { return a.total > b.total; });
  return sorted;
}

// The first line of what a program said, without a program's name that the user did not type.
std::string FirstLine(absl::string_view text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (!absl::StartsWith(line, "==")) return std::string(absl::StripPrefix(line, "memsim: "));
  }
  return "it says nothing";
}

absl::StatusOr<ProgramResult> RunValgrind(const std::vector<std::string>& words,
                                          const std::atomic<bool>* stop) {
  auto result = RunProgram(words, stop);
  if (absl::IsNotFound(result.status())) {
    return absl::FailedPreconditionError(
        "count needs valgrind, which is not in $PATH; valid: after `apt-get install valgrind`, or what "
        "installs it here");
  }
  if (result.ok() && result->status != 0) {
    const std::string how = result->status < 0 ? absl::StrCat("signal ", -result->status)
                                               : absl::StrCat("status ", result->status);
    return absl::FailedPreconditionError(
        absl::StrCat("valgrind ended with ", how, ": ", FirstLine(result->err)));
  }
  return result;
}

absl::Status CountUnderValgrind(const CountOptions& options, CountResult& result) {
  auto version = RunValgrind({"valgrind", "--version"}, options.stop);
  if (!version.ok()) return version.status();
  result.valgrind = FirstLine(version->out);
  std::vector<std::string> words = CallgrindWords(kCounted, kExtraPath);
  words.insert(words.end(), options.inside.begin(), options.inside.end());
  auto ran = RunValgrind(words, options.stop);
  if (!ran.ok()) return ran.status();
  const auto said = nlohmann::json::parse(ran->out, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object() || !said.contains("static_keys") || !said.contains("unmapped_faults")) {
    return absl::InternalError(absl::StrCat("the counted process said: ", FirstLine(ran->out)));
  }
  result.static_keys = said["static_keys"].get<std::string>();
  auto functions = ParseCallgrind(ran->extra);
  if (!functions.ok()) return functions.status();
  result.rows = Rows(*functions);
  const auto fault =
      std::find_if(result.rows.begin(), result.rows.end(),
                   [](const CountedRow& row) { return row.fn == Fn::kHandleMmFault; });
  if (fault == result.rows.end()) {
    return absl::FailedPreconditionError(
        "callgrind met no modelled function by name; valid: a program that was not stripped");
  }
  result.pages = fault->calls - said["unmapped_faults"].get<double>();
  if (result.pages <= 0) {
    return absl::FailedPreconditionError("the workload faulted no page: every charge was refused");
  }
  for (CountedRow& row : result.rows) {
    for (double* count : {&row.charge, &row.uncharge, &row.total, &row.calls})
      *count /= result.pages;
  }
  return absl::OkStatus();
}

absl::Status CountInHardware(const CountOptions& options, CountResult& result) {
  HardwareCounters counters;
  auto runner = Runner::Open(CountedPart(result.configuration), MachineKind::kNative,
                             {.stop = options.stop, .observer = &counters});
  if (!runner.ok()) return runner.status();
  (*runner)->Execute();  // warms
  counters.Take();
  std::array<std::vector<double>, kHardwareEvents> values;
  for (int r = 0; r < options.repetitions; ++r) {
    if (options.progress) options.progress("counting in hardware", 1.0 * r / options.repetitions);
    if ((*runner)->Execute().interrupted) {
      result.partial = true;
      break;
    }
    const HardwareCounts counts = counters.Take();
    bool any = false;
    for (size_t event = 0; event < kHardwareEvents; ++event) {
      result.hardware[event].why = counts[event].why;
      if (counts[event].count.has_value())
        values[event].push_back(*counts[event].count / result.pages);
      any |= counts[event].count.has_value();
    }
    if (!any) break;
  }
  for (size_t event = 0; event < kHardwareEvents; ++event) {
    HardwareRow& row = result.hardware[event];
    // With a hole in the repetitions there is no honest interval.
    if (row.why.empty()) row.per_page = MedianInterval(values[event]);
    if (row.per_page.n == 0 && row.why.empty()) row.why = "interrupted";
  }
  return absl::OkStatus();
}

}  // namespace

void CountedRow::Add(const CountedRow& other) {
  charge += other.charge;
  uncharge += other.uncharge;
  total += other.total;
  calls += other.calls;
}

std::string CountResult::command() const {
  return absl::StrCat("memsim count", configuration.options());
}

CountedRow CountResult::Sum(FnGroup group) const {
  CountedRow sum;
  for (const CountedRow& row : rows) {
    if (row.fn != Fn::kCount && Info(row.fn).group == group) sum.Add(row);
  }
  return sum;
}

CountedRow CountResult::All() const {
  CountedRow sum;
  for (const CountedRow& row : rows) sum.Add(row);
  return sum;
}

const PerPage* CountResult::Model(const CountedRow& row) const {
  return row.fn == Fn::kCount ? nullptr : &model.by_function[static_cast<size_t>(row.fn)];
}

absl::StatusOr<CountResult> CountInstructions(const Configuration& configuration,
                                              const CountOptions& options) {
  if (auto status = CheckCountable(configuration); !status.ok()) return status;
  CountResult result;
  result.configuration = configuration;
  for (size_t event = 0; event < kHardwareEvents; ++event) {
    result.hardware[event].name = kHardwareEventNames[event];
  }
  if (options.progress) options.progress("counting under valgrind", 0);
  auto model = CountExactly(configuration, options.stop);
  if (!model.ok()) return model.status();
  result.model = *std::move(model);
  if (auto status = CountUnderValgrind(options, result); !status.ok()) return status;
  if (auto status = CountInHardware(options, result); !status.ok()) return status;
  return result;
}

absl::StatusOr<std::string> ExecuteCounted(const Configuration& configuration) {
  auto runner = Runner::Open(CountedPart(configuration), MachineKind::kNative, {});
  if (!runner.ok()) return runner.status();
  // The first pass pays for what happens once, as in CountExactly().
  (*runner)->Execute();
  const ExecResult result = CountedExecution(**runner);
  if (!result.status.ok()) return result.status;
  const CpuResult total = result.Total();
  const nlohmann::json said = {
      {"static_keys", static_key::mechanism().text},
      {"unmapped_faults", total.already_mapped + total.oom + total.no_memory}};
  return said.dump() + "\n";
}

}  // namespace memsim
