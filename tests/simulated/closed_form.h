// Closed forms: small programs on the simulated machine whose cost follows from the machine file alone. Each
// states its formula, the numbers that go into it, what the formula gives and what the engine gives. The test
// compares the last two; docs/simulated.md shows them.
//
// Units     ps, unless a form says otherwise
// Errors    a machine file that cannot be read, or a deadlock, is a broken invariant and is checked
#ifndef MEMSIM_TESTS_SIMULATED_CLOSED_FORM_H_
#define MEMSIM_TESTS_SIMULATED_CLOSED_FORM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "memsim/machine/arena.h"
#include "memsim/machine/field_table.h"
#include "memsim/machine/simulated.h"

namespace memsim::closed_form {

// One form on one machine.
struct Row {
  std::string machine;
  std::string numbers;  // "L1 1026, slot 85"
  double expected = 0;
  double engine = 0;
  double tolerance = 0;  // absolute; 0: exact
};
struct Form {
  std::string name;
  std::string formula;
  std::string why;  // it is not exact; empty: it is
  std::vector<Row> rows;
};
struct Section {
  std::string heading;
  std::vector<Form> forms;
};

// One cache line; `next` makes rings of them.
struct alignas(64) Line {
  static constexpr absl::string_view kTypeName = "line";

  Simulated::Cell<Line*> next;
  Simulated::Cell<uint64_t> a, b;
  Simulated::Atomic<uint64_t> atomic;
  Simulated::SpinLock lock;
  Unmodelled<28> pad;

  static constexpr auto Fields() {
    using Self = Line;
    return std::array{
        MEMSIM_FIELD(Self, next, kSetup, "the next line of the ring"),
        MEMSIM_FIELD(Self, a, kRacy, "a word"),
        MEMSIM_FIELD(Self, b, kRacy, "another word"),
        MEMSIM_FIELD(Self, atomic, kAnyCpu, "a word for LOCK instructions"),
        MEMSIM_FIELD(Self, lock, kAnyCpu, "a lock"),
        MEMSIM_FIELD(Self, pad, kNone, "padding"),
    };
  }
};
static_assert(sizeof(Line) == 64);

// What a program runs on. CPUs of the run count as running even when their program is empty.
struct Setup {
  explicit Setup(MachineModel model, int n = 1) : machine(std::move(model)), cpus(n) {}

  MachineModel machine;
  int cpus;
  uint64_t shared_lines = 64;  // a ring; spread over the sockets by page
  uint64_t own_lines = 64;     // a ring for each CPU, in its socket's memory
  RestKind rest = RestKind::kNone;
  bool ticket_locks = false;
  SimOptions options;
  std::function<void(CpuId)> interrupt;
};

class World {
 public:
  explicit World(const Setup& setup);

  Line& Shared(uint64_t i) const { return shared_[i]; }
  Line& Own(CpuId cpu, uint64_t i) const {
    return *reinterpret_cast<Line*>(areas_ + stride_ * static_cast<uint64_t>(cpu) + kHead + i * sizeof(Line));
  }
  const Arena& arena() const { return arena_; }
  std::byte* areas() const { return areas_; }
  uint64_t stride() const { return stride_; }

 private:
  static constexpr uint64_t kHead = 4096;  // the CPU's head, before its lines

  uint64_t stride_;
  Arena arena_;
  Line* shared_;
  std::byte* areas_;
};

using Program = std::function<void(CpuId cpu, const World& world)>;

// What follows is called by programs. Phase 0 begins with the program.
inline constexpr size_t kMeasured = 1;
inline constexpr size_t kAfterwards = 2;
template <class Body>
void Measure(Body body, size_t phase = kMeasured) {
  simulated::BeginOperation(Part::kFree, phase, nullptr);
  body();
  simulated::EndOperation(phase);
}
// Notes the clock as the begin of a phase.
inline void Mark(size_t phase) { Measure([] {}, phase); }
// Follows `n` pointers.
Line* Walk(Line* from, uint64_t n);
// Repeats `body`: without others nothing is settled at the first operation, nor at the last.
template <class Body>
void MeasureInTheMiddle(int n, Body body) {
  for (int i = 0; i < n; ++i) body();
  Measure([&] { for (int i = 0; i < n; ++i) body(); });
  for (int i = 0; i < n; ++i) body();
}

// The numbers of a row.
using Numbers = std::vector<std::pair<std::string, uint64_t>>;

// Collects the forms; a form that comes again, for another machine, becomes a row of the first.
class Book {
 public:
  explicit Book(bool strict) : strict_(strict) {}

  // Of models/machines/, but without timer interrupts, which would come into longer forms now and then.
  MachineModel Machine(const std::string& name) const;
  std::vector<MachineModel> TwoMachines() const { return {Machine("i7-3770"), Machine("xeon-8176-2s")}; }

  // In strict order, or as a session does: again and again, until no access is out of order.
  SimResult Run(const Setup& setup, const Program& program) const;
  // CPU time of one of `n` operations that CPU 0 measured.
  double PerOperation(const Setup& setup, uint64_t n, const Program& program) const;

  void Begin(std::string heading) { sections_.push_back({std::move(heading), {}}); }
  void Add(const std::string& name, const std::string& formula, const MachineModel& machine,
           const Numbers& numbers, double expected, double engine, double tolerance = 0,
           const std::string& why = "");
  std::vector<Section> Take() { return std::move(sections_); }

 private:
  bool strict_;
  std::vector<Section> sections_;
};

// closed_form_*.cc
void AddOneCpu(Book& book);
void AddSharing(Book& book);
void AddMemory(Book& book);
void AddRestOfFault(Book& book);
void AddAccounts(Book& book);

std::vector<Section> AllForms(bool strict);
std::string Table(const std::vector<Section>& sections);

}  // namespace memsim::closed_form

#endif  // MEMSIM_TESTS_SIMULATED_CLOSED_FORM_H_
