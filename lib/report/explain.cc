#include "memsim/report/explain.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "memsim/page/page.h"

namespace memsim {

namespace {

struct EventInfo {
  ExplainEvent event;
  absl::string_view name;
};
constexpr std::array<EventInfo, 4> kEvents = {{{ExplainEvent::kFault, "fault"},
                                               {ExplainEvent::kUncharge, "uncharge"},
                                               {ExplainEvent::kMiss, "miss"},
                                               {ExplainEvent::kLimit, "limit"}}};

class OneOperation final : public OperationStream {
 public:
  explicit OneOperation(Operation op) : op_(op) {}
  bool Next(Operation* op) override {
    if (std::exchange(done_, true)) return false;
    *op = op_;
    return true;
  }
  void Reset() override { done_ = false; }

 private:
  Operation op_;
  bool done_ = false;
};

void Execute(Session& session, Operation op) {
  OneOperation stream(op);
  OperationStream* streams[] = {&stream};
  session.Execute(streams);
}

// What is done before the recorded operation, and that operation.
struct Scene {
  std::vector<Operation> before;
  Operation recorded;
  std::string situation;
  int64_t limit = -1;  // of the last memcg, pages
};

constexpr int64_t kMaxPages = 64;  // limit of the memcg in the scene of the same name

Scene SceneOf(ExplainEvent event) {
  const auto fault = [](uint64_t vpn, int64_t n) {
    return Operation{.kind = OpKind::kFault, .vpn = vpn, .pages = Pages(n)};
  };
  const auto unmap = [](uint64_t vpn, int64_t n) {
    return Operation{.kind = OpKind::kUnmap, .vpn = vpn, .pages = Pages(n)};
  };
  switch (event) {
    case ExplainEvent::kFault:
      return {{fault(0, 3)}, fault(3, 1), "three pages were faulted before, so the stock is filled"};
    case ExplainEvent::kMiss:
      return {{fault(0, 32)},
              fault(32, 1),
              "32 pages were faulted before: the first batch of the stock is used up"};
    case ExplainEvent::kUncharge:
      return {{fault(0, 20), unmap(0, 1)},
              unmap(4, 3),
              "20 pages are mapped and on the LRU lists; three neighbours are unmapped"};
    case ExplainEvent::kLimit:
      return {{fault(0, kMaxPages)},
              fault(kMaxPages, 1),
              absl::StrCat("the memcg has a limit of ", kMaxPages, " pages and has charged them all"),
              kMaxPages};
  }
  return {};
}

// A batch of the stock decides when it misses; the scenes assume the kernel's own.
absl::Status CheckPossible(const Configuration& c, ExplainEvent event) {
  const bool needs_child = event == ExplainEvent::kMiss || event == ExplainEvent::kLimit;
  if (needs_child && c.off() != OffKind::kInUse) {
    return absl::InvalidArgumentError(
        absl::StrCat("--event ", ExplainEventName(event),
                     " needs a memcg below root, which has a stock and a limit; valid: --memcg "
                     "depth:1 or deeper"));
  }
  if (c.batch.has_value() && event != ExplainEvent::kUncharge) {
    return absl::InvalidArgumentError("--batch cannot be changed here: the scenes are laid out for the "
                                      "kernel's own batch; valid: no --batch");
  }
  return absl::OkStatus();
}

std::string Value(const Arena& arena, const Access& access, uint64_t raw) {
  if (access.pointer) {
    if (raw == 0) return "NULL";
    // Tagged pointers: bit 0 says "anonymous" or "black".
    const auto* at = reinterpret_cast<const std::byte*>(raw & ~uint64_t{1});
    if (!arena.Contains(at)) return "?";
    return absl::StrCat(arena.DescribeObject(arena.OffsetOf(at)), (raw & 1) != 0 ? "|1" : "");
  }
  switch (access.size) {
    case 4: return absl::StrCat(static_cast<int32_t>(raw));
    default:
      if (raw >> 62 != 0 && static_cast<int64_t>(raw) > 0) return absl::StrCat("0x", absl::Hex(raw));
      if (static_cast<int64_t>(raw) > (int64_t{1} << 48)) return "no limit";
      return absl::StrCat(static_cast<int64_t>(raw));
  }
}

std::string FlagsValue(uint64_t raw) {
  std::vector<absl::string_view> names;
  for (const auto& [flag, name] :
       {std::pair{kPgLocked, "locked"}, std::pair{kPgUptodate, "uptodate"}, std::pair{kPgLru, "lru"},
        std::pair{kPgActive, "active"}}) {
    if ((raw & FlagBit(flag)) != 0) names.push_back(name);
  }
  return names.empty() ? "-" : absl::StrJoin(names, "|");
}

// Elements of the per-CPU statistics go by their kernel names.
std::string ElementName(const Arena::Location& at) {
  const auto name = [&](absl::Span<const absl::string_view> names) {
    return at.element < names.size() ? std::string(names[at.element]) : absl::StrCat(at.element);
  };
  if (at.field->name == "count") return name(kMemcgStatNames);
  if (at.field->name == "events") return name(kMemcgEventNames);
  if (at.field->name == "targets") return name(kEventTargetNames);
  return absl::StrCat(at.element);
}

// A list head is two pointers: which of them?
absl::string_view LinkName(const Arena::Location& at) {
  const uint64_t unit = at.field->element != 0 ? at.field->element : at.field->size;
  if (unit != sizeof(ListHead<Tracing>)) return "";
  return (at.object_offset - at.field->offset) % unit == 0 ? ".next" : ".prev";
}

Step StepOf(const Arena& arena, const TraceEvent& event) {
  Step step{.type = event.type, .function = event.function, .object = "", .field = "", .purpose = "",
            .before = "", .after = "", .note = ""};
  step.inlined = event.inlined;
  step.depth = event.depth;
  if (event.note != nullptr) step.note = event.note;
  const bool access = event.type == TraceEvent::Type::kAccess ||
                      event.type == TraceEvent::Type::kLock || event.type == TraceEvent::Type::kUnlock;
  if (!access) return step;
  const Arena::Location at = arena.Find(event.offset);
  // Globals are known by their own names, as in the kernel.
  if (at.region == nullptr || at.region->name != "globals") {
    step.object = arena.DescribeObject(event.offset);
  }
  step.line = event.offset / kCacheLine;
  step.kind = event.access.kind;
  step.field_kind = event.access.field;
  step.percpu = step.object.rfind("cpu", 0) == 0;
  if (at.field != nullptr) {
    step.field = std::string(at.field->name);
    if (at.field->element != 0) absl::StrAppend(&step.field, "[", ElementName(at), "]");
    absl::StrAppend(&step.field, LinkName(at));
    step.purpose = at.field->purpose;
  }
  if (step.field == "flags" && step.object.rfind("page", 0) == 0) {
    step.before = FlagsValue(event.before);
    step.after = FlagsValue(event.after);
  } else {
    step.before = Value(arena, event.access, event.before);
    step.after = Value(arena, event.access, event.after);
  }
  return step;
}

}  // namespace

absl::StatusOr<ExplainEvent> FindExplainEvent(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const EventInfo& info : kEvents) {
    if (info.name == name) return info.event;
    names.push_back(info.name);
  }
  return absl::NotFoundError(
      absl::StrCat("--event '", name, "'; valid: ", absl::StrJoin(names, ", ")));
}

absl::string_view ExplainEventName(ExplainEvent event) {
  return kEvents[static_cast<size_t>(event)].name;
}

absl::StatusOr<Explanation> Explain(const Configuration& configuration, ExplainEvent event) {
  const absl::Status possible = CheckPossible(configuration, event);
  if (!possible.ok()) return possible;
  Explanation explanation;
  explanation.configuration = configuration;
  explanation.event = event;
  const Scene scene = SceneOf(event);
  explanation.situation = scene.situation;

  Workload one = configuration.workload;
  one.generator = Generator::kSweep;
  one.faults = one.region = Pages(512);
  auto work = Prepare(one, configuration.placement, 1, configuration.seed);
  if (!work.ok()) return work.status();
  SessionConfig config;
  config.plan = work->plan;
  config.plan.memsw = configuration.memsw;
  if (scene.limit >= 0) config.plan.memcgs.back().max = scene.limit;
  config.gate = configuration.gate;
  config.enabled = configuration.placement.enabled;
  config.config = configuration.build;
  config.charge_first = configuration.charge_first;
  config.seed = configuration.seed;
  auto session = configuration.kernel->Open(MachineKind::kTracing, config);
  if (!session.ok()) return session.status();
  for (const Operation& op : scene.before) Execute(**session, op);
  std::vector<TraceEvent> events;
  (*session)->trace()->Record(&events);
  Execute(**session, scene.recorded);
  (*session)->trace()->Record(nullptr);
  for (const TraceEvent& event_seen : events) {
    explanation.steps.push_back(StepOf((*session)->arena(), event_seen));
  }
  return explanation;
}

}  // namespace memsim
