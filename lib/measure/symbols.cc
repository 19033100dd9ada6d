#include "lib/measure/symbols.h"

#include <array>
#include <mutex>

#include "absl/debugging/symbolize.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace memsim {

namespace {

// Functions of ours that are a rare or split-off part of a kernel function.
constexpr std::array<std::pair<absl::string_view, Fn>, 10> kParts = {{
    {"TryChargeSlow", Fn::kTryCharge},
    {"TryCounters", Fn::kTryCharge},
    {"HighWalk", Fn::kTryCharge},
    {"RunDueChecks", Fn::kCheckEvents},
    {"rmqueue_bulk", Fn::kAllocPage},
    {"free_pcppages_bulk", Fn::kFreePages},
    {"lru_add_drain", Fn::kPagevecLruMoveFn},
    {"free_pages_and_swap_cache", Fn::kReleasePages},
    {"PutBack", Fn::kShrinkLruvec},
    {"try_to_unmap", Fn::kShrinkLruvec},
}};
constexpr std::array<absl::string_view, 6> kDriverParts = {
    "FaultChunk", "RunCpu", "Driver", "NativeSession", "Sweep", "Churn"};

// A kernel name as it is spelled in C++: a leading "__" moves to the end.
std::string CppName(absl::string_view kernel_name) {
  if (!absl::StartsWith(kernel_name, "__")) return std::string(kernel_name);
  return absl::StrCat(kernel_name.substr(2), "__");
}

// Is `symbol` a function of that name? Abseil demangles what it can; the kernel's functions carry template
// arguments it cannot, and stay "_Z...21mem_cgroup_try_chargeE...": the length in front makes the name
// unique, and no template argument contains the name of a function.
bool IsNamed(absl::string_view symbol, absl::string_view name) {
  if (absl::StartsWith(symbol, "_Z")) return absl::StrContains(symbol, absl::StrCat(name.size(), name));
  return absl::StrContains(symbol, absl::StrCat("::", name, "(")) ||
         absl::StrContains(symbol, absl::StrCat("::", name, "<")) ||
         absl::StrContains(symbol, absl::StrCat("::", name, "::"));
}

}  // namespace

Symbols::Symbols() {
  static std::once_flag once;
  std::call_once(once, [] { absl::InitializeSymbolizer("/proc/self/exe"); });
  for (const FnInfo& info : kFunctions) {
    names_.push_back({CppName(info.name), {Kind::kFunction, info.id, ""}});
  }
  for (const auto& [name, fn] : kParts) names_.push_back({std::string(name), {Kind::kFunction, fn, ""}});
  names_.push_back({"ZeroPage", {Kind::kClearPage, Fn::kCount, ""}});
  names_.push_back({"TouchPage", {Kind::kRealFault, Fn::kCount, ""}});
  for (const absl::string_view name : kDriverParts) {
    names_.push_back({std::string(name), {Kind::kDriver, Fn::kCount, ""}});
  }
}

const Symbols::Place& Symbols::Find(uint64_t address) {
  const auto known = seen_.find(address);
  if (known != seen_.end()) return known->second;
  return seen_.emplace(address, LookUp(address)).first->second;
}

Symbols::Place Symbols::LookUp(uint64_t address) const {
  if (static_cast<int64_t>(address) < 0) return {Kind::kKernel, Fn::kCount, ""};
  char name[4096];
  if (!absl::Symbolize(reinterpret_cast<void*>(address), name, sizeof(name))) {
    return {Kind::kOther, Fn::kCount, "?"};
  }
  return Named(name);
}

Symbols::Place Symbols::Named(absl::string_view symbol) const {
  for (const auto& [known, place] : names_) {
    if (IsNamed(symbol, known)) return place;
  }
  return {Kind::kOther, Fn::kCount, std::string(symbol)};
}

absl::string_view Symbols::KindName(Kind kind) {
  switch (kind) {
    case Kind::kFunction: break;
    case Kind::kClearPage: return "(clear page)";
    case Kind::kRealFault: return "(real fault, user side)";
    case Kind::kKernel: return "(host kernel)";
    case Kind::kDriver: return "(memsim's loop)";
    case Kind::kOther: return "(elsewhere)";
  }
  return "?";
}

}  // namespace memsim
