#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/report/table.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

using Type = TraceEvent::Type;

bool IsAccess(const Step& step) {
  return step.type == Type::kAccess || step.type == Type::kLock || step.type == Type::kUnlock;
}
bool Reads(const Step& step) { return IsAccess(step) && step.kind != AccessKind::kStore; }
bool Writes(const Step& step) { return IsAccess(step) && step.kind != AccessKind::kLoad; }
bool IsPage(const Step& step) { return absl::StartsWith(step.object, "page["); }

absl::string_view Verb(const Step& step) {
  if (step.type == Type::kLock) return "lock";
  if (step.type == Type::kUnlock) return "unlock";
  switch (step.kind) {
    case AccessKind::kLoad: return "load";
    case AccessKind::kStore: return "store";
    case AccessKind::kAdd: return "add";
    case AccessKind::kRmw: return "LOCK";
  }
  return "?";
}

std::string Name(const Step& step) {
  if (step.object.empty()) return step.field;
  return step.field.empty() ? step.object : absl::StrCat(step.object, ".", step.field);
}

std::string Values(const Step& step) {
  if (step.type != Type::kAccess) return "";
  if (step.kind == AccessKind::kLoad) return step.after;
  return absl::StrCat(step.before, " → ", step.after);
}

absl::string_view Section(Type type) {
  switch (type) {
    case Type::kIrqOff: return "interrupts off";
    case Type::kIrqOn: return "interrupts on";
    case Type::kRcuLock: return "rcu_read_lock";
    case Type::kRcuUnlock: return "rcu_read_unlock";
    case Type::kPreemptOff: return "preemption off";
    case Type::kPreemptOn: return "preemption on";
    case Type::kGate: return "gate: mem_cgroup_disabled()?";
    default: return "";
  }
}

// Cache lines are numbered in the order of their first touch, so that the number is a running count.
class LineNumbers {
 public:
  size_t Of(uint64_t line) { return numbers_.emplace(line, numbers_.size() + 1).first->second; }

 private:
  std::map<uint64_t, size_t> numbers_;
};

constexpr size_t kWhatColumn = 12, kValueColumn = 58, kPurposeColumn = 76;

std::string Pad(std::string text, size_t width) {
  const size_t has = Width(text);
  if (has < width) text.append(width - has, ' ');
  return text;
}

// One step; the purpose beside it when it fits, else below.
std::string StepLine(size_t number, size_t line, const Step& step, absl::string_view purpose) {
  std::string text = absl::StrFormat("%4d  L%-4d ", number, line);
  absl::StrAppend(&text, std::string(static_cast<size_t>(step.depth) * 2, ' '),
                  Pad(std::string(Verb(step)), 6), " ", Name(step));
  text = Pad(std::move(text), kValueColumn - 1);
  absl::StrAppend(&text, " ", Values(step));
  text.erase(text.find_last_not_of(' ') + 1);
  if (purpose.empty()) return text + "\n";
  std::string padded = Pad(text, kPurposeColumn - 1);
  if (Width(padded) + 1 + Width(purpose) <= kColumns) return absl::StrCat(padded, " ", purpose, "\n");
  const size_t below = kWhatColumn + 6 + static_cast<size_t>(step.depth) * 2;
  return absl::StrCat(text, "\n", std::string(below, ' '), ". ", purpose, "\n");
}

std::string AllSteps(const Explanation& e) {
  std::string text = absl::StrCat(Pad("step  line", kWhatColumn), Pad("what", kValueColumn - kWhatColumn),
                                  Pad("old → new", kPurposeColumn - kValueColumn), "what it is for (once)\n",
                                  std::string(kColumns, '-'), "\n");
  LineNumbers lines;
  std::set<absl::string_view> explained;
  size_t number = 0;
  for (const Step& step : e.steps) {
    const std::string indent(static_cast<size_t>(step.depth) * 2, ' ');
    const std::string margin(kWhatColumn - 1, ' ');
    if (IsAccess(step)) {
      const bool first = explained.insert(step.purpose).second;
      absl::StrAppend(&text, StepLine(++number, lines.Of(step.line), step,
                                      first ? step.purpose : absl::string_view()));
    } else if (step.type == Type::kEnter) {
      const FnInfo& info = Info(step.function);
      // Entered scopes are drawn one level to the left of what they contain.
      absl::StrAppend(&text, margin, indent.substr(std::min<size_t>(2, indent.size())), info.name, "()",
                      step.inlined ? " inlined: " : ": ", info.purpose, "\n");
    } else if (step.type == Type::kNote) {
      absl::StrAppend(&text, Wrap(absl::StrCat("# ", step.note), kColumns, margin + indent));
    } else if (!Section(step.type).empty()) {
      absl::StrAppend(&text, margin, indent, "[", Section(step.type), "]\n");
    }
  }
  return text;
}

// Self counts of one call.
struct Call {
  Fn fn;
  int depth = 0;
  bool inlined = false;
  int times = 1;
  int loads = 0, stores = 0, percpu = 0, rmw = 0, locks = 0, gates = 0, irq = 0;
  std::set<uint64_t> lines;
};

std::vector<Call> Calls(const Explanation& e) {
  std::vector<Call> calls;
  std::vector<size_t> open;
  for (const Step& step : e.steps) {
    if (step.type == Type::kEnter) {
      open.push_back(calls.size());
      calls.push_back({.fn = step.function, .depth = step.depth, .inlined = step.inlined, .lines = {}});
    } else if (step.type == Type::kLeave) {
      open.pop_back();
    }
    if (open.empty()) continue;
    Call& call = calls[open.back()];
    if (IsAccess(step)) call.lines.insert(step.line);
    call.loads += Reads(step) ? 1 : 0;
    call.stores += Writes(step) ? 1 : 0;
    call.percpu += Writes(step) && step.percpu && step.kind == AccessKind::kAdd ? 1 : 0;
    call.rmw += IsAccess(step) && step.kind == AccessKind::kRmw ? 1 : 0;
    call.locks += step.type == Type::kLock ? 1 : 0;
    call.gates += step.type == Type::kGate ? 1 : 0;
    call.irq += step.type == Type::kIrqOff ? 1 : 0;
  }
  return calls;
}

// Equal calls one after the other become one row.
std::vector<Call> Merged(std::vector<Call> calls) {
  std::vector<Call> merged;
  for (Call& call : calls) {
    if (!merged.empty()) {
      Call& last = merged.back();
      if (last.fn == call.fn && last.depth == call.depth && last.loads / last.times == call.loads &&
          last.stores / last.times == call.stores) {
        ++last.times;
        last.loads += call.loads;
        last.stores += call.stores;
        last.percpu += call.percpu;
        last.rmw += call.rmw;
        last.locks += call.locks;
        last.gates += call.gates;
        last.irq += call.irq;
        last.lines.insert(call.lines.begin(), call.lines.end());
        continue;
      }
    }
    merged.push_back(std::move(call));
  }
  return merged;
}

std::string CallTable(const Explanation& e) {
  Table table("lrrrrrrrr");
  table.Row({"call (self counts)", "load", "store", "cpu++", "LOCK", "lock", "gate", "irq", "lines"});
  table.Rule();
  constexpr size_t kMostRows = 20;
  size_t rows = 0;
  std::vector<Call> calls = Merged(Calls(e));
  for (const Call& call : calls) {
    if (!IsMemcg(call.fn) && call.depth > 3) continue;
    if (++rows > kMostRows) continue;
    table.Row({absl::StrCat(std::string(static_cast<size_t>(call.depth - 1) * 2, ' '),
                            Info(call.fn).name, call.inlined ? " (inlined)" : "",
                            call.times > 1 ? absl::StrCat(" × ", call.times) : ""),
               Count(call.loads), Count(call.stores), Count(call.percpu), Count(call.rmw),
               Count(call.locks), Count(call.gates), Count(call.irq),
               Count(static_cast<double>(call.lines.size()))});
  }
  std::string text = table.Text();
  if (rows > kMostRows) absl::StrAppend(&text, "  … ", rows - kMostRows, " more; see without --brief\n");
  return text;
}

// Names without the many array elements: "cpu0.child.stat.events[2]" stays, pages become "page".
std::string List(const std::set<std::string>& names) {
  constexpr size_t kMost = 6;
  std::vector<std::string> shown(names.begin(), names.end());
  const size_t more = shown.size() > kMost ? shown.size() - kMost : 0;
  shown.resize(shown.size() - more);
  std::string text = absl::StrJoin(shown, ", ");
  if (more > 0) absl::StrAppend(&text, ", and ", more, " more");
  return text.empty() ? "nothing" : text;
}

std::string Summary(const Explanation& e) {
  std::set<std::string> percpu, shared_locked, shared_plain, read_only, page_writes;
  std::set<std::string> written;
  std::set<uint64_t> lines;
  int rmw = 0, percpu_adds = 0, irq = 0, gates = 0, locks = 0, accesses = 0;
  for (const Step& step : e.steps) {
    // The gate of the event is in the fault, but it is the controller's.
    if (step.type == Type::kGate) ++gates;
    if (!IsMemcg(step.function)) continue;
    irq += step.type == Type::kIrqOff ? 1 : 0;
    if (!IsAccess(step)) continue;
    ++accesses;
    locks += step.type == Type::kLock ? 1 : 0;
    rmw += step.kind == AccessKind::kRmw ? 1 : 0;
    percpu_adds += step.percpu && step.kind == AccessKind::kAdd ? 1 : 0;
    if (!IsPage(step)) lines.insert(step.line);
    if (!Writes(step)) continue;
    written.insert(Name(step));
    if (IsPage(step)) page_writes.insert("page." + step.field);
    else if (step.percpu) percpu.insert(Name(step));
    else if (step.kind == AccessKind::kRmw) shared_locked.insert(Name(step));
    else shared_plain.insert(Name(step));
  }
  for (const Step& step : e.steps) {
    if (IsMemcg(step.function) && IsAccess(step) && !IsPage(step) && written.count(Name(step)) == 0) {
      read_only.insert(Name(step));
    }
  }
  const auto line = [](absl::string_view title, const std::string& names) {
    return Wrap(absl::StrCat(title, ": ", names), kColumns, "  ");
  };
  return absl::StrCat(
      "\n",
      Wrap(absl::StrCat("the controller's part: ", accesses, " accesses to ", lines.size(),
                        " cache lines beside the page's own; ", gates, " gate", gates == 1 ? "" : "s",
                        ", ", percpu_adds, " per-CPU increments, ", rmw, " LOCK, ", irq, " section",
                        irq == 1 ? "" : "s", " with interrupts off, ", locks, " locks"),
           kColumns, ""),
      line("written, per-CPU", List(percpu)),
      line("written, shared, with a LOCK instruction", List(shared_locked)),
      line("written, shared, under somebody's lock or racy", List(shared_plain)),
      line("written, the page's own line", List(page_writes)), line("only read", List(read_only)));
}

}  // namespace

std::string ExplanationText(const Explanation& e, bool brief) {
  const Configuration& c = e.configuration;
  std::string text = absl::StrCat("memsim explain --kernel ", c.kernel->name, " --gate ",
                                  GateName(c.gate), " --memcg ", c.memcg(), " --event ",
                                  ExplainEventName(e.event), brief ? " --brief" : "", "\n",
                                  Wrap(absl::StrCat(c.kernel->source, "; ", e.situation,
                                                    e.steps.empty() ? "" : "."),
                                       kColumns, ""),
                                  "\n");
  absl::StrAppend(&text, brief ? CallTable(e) : AllSteps(e), Summary(e));
  return text;
}

std::string ExplanationJson(const Explanation& e) {
  nlohmann::ordered_json document;
  document["schema"] = "memsim.explain/1";
  document["kernel"] = std::string(e.configuration.kernel->name);
  document["memcg"] = e.configuration.memcg();
  document["event"] = std::string(ExplainEventName(e.event));
  document["situation"] = e.situation;
  document["steps"] = nlohmann::ordered_json::array();
  LineNumbers lines;
  for (const Step& step : e.steps) {
    nlohmann::ordered_json one = {{"function", std::string(Info(step.function).name)},
                                  {"depth", step.depth}};
    if (IsAccess(step)) {
      one["step"] = std::string(Verb(step));
      one["object"] = step.object;
      one["field"] = step.field;
      one["line"] = lines.Of(step.line);
      one["per_cpu"] = step.percpu;
      one["before"] = step.before;
      one["after"] = step.after;
      one["purpose"] = std::string(step.purpose);
    } else if (step.type == Type::kEnter || step.type == Type::kLeave) {
      one["step"] = step.type == Type::kEnter ? "enter" : "leave";
      if (step.inlined) one["inlined"] = true;
    } else {
      one["step"] = step.type == Type::kNote ? "note" : std::string(Section(step.type));
      if (!step.note.empty()) one["note"] = step.note;
    }
    document["steps"].push_back(std::move(one));
  }
  return document.dump(2) + "\n";
}

std::string ExplanationCsv(const Explanation& e) {
  std::string text = "step,function,depth,access,object,field,line,before,after\n";
  LineNumbers lines;
  size_t number = 0;
  for (const Step& step : e.steps) {
    if (!IsAccess(step)) continue;
    absl::StrAppend(&text, ++number, ",", Info(step.function).name, ",", step.depth, ",", Verb(step),
                    ",", step.object, ",", step.field, ",", lines.Of(step.line), ",", step.before, ",",
                    step.after, "\n");
  }
  return text;
}

}  // namespace memsim
