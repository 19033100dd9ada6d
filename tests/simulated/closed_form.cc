// How a closed form is run, collected and shown.
#include "tests/simulated/closed_form.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "memsim/internal/check.h"

namespace memsim::closed_form {

namespace {

constexpr uint64_t kPage = 4096;

uint64_t RoundUp(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

std::string Shown(double value) {
  if (value == std::floor(value)) return absl::StrFormat("%.0f", value);
  return absl::StrFormat("%.*f", std::abs(value) < 1000 ? 2 : 0, value);
}

}  // namespace

World::World(const Setup& setup)
    : stride_(kHead + RoundUp(setup.own_lines * sizeof(Line))),
      arena_(RoundUp(setup.shared_lines * sizeof(Line)) + (static_cast<uint64_t>(setup.cpus) + 2) * stride_) {
  shared_ = arena_.New<Line>("line", setup.shared_lines, kPage);
  areas_ = arena_.base() + arena_.Reserve(stride_ * static_cast<uint64_t>(setup.cpus), kPage);
  for (uint64_t i = 0; i < setup.shared_lines; ++i) {
    Shared(i).next.store(&Shared((i + 1) % setup.shared_lines));
  }
  for (CpuId cpu = 0; cpu < setup.cpus; ++cpu) {
    reinterpret_cast<native::CpuHead*>(areas_ + stride_ * static_cast<uint64_t>(cpu))->cpu = cpu;
    for (uint64_t i = 0; i < setup.own_lines; ++i) {
      Own(cpu, i).next.store(&Own(cpu, (i + 1) % setup.own_lines));
    }
  }
}

Line* Walk(Line* from, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) from = from->next.load();
  return from;
}

MachineModel Book::Machine(const std::string& name) const {
  absl::StatusOr<MachineModel> machine = LoadMachineModel(name);
  MEMSIM_CHECK(machine.ok(), "the machine file is valid");
  machine->timer_period = 0;
  return *std::move(machine);
}

SimResult Book::Run(const Setup& setup, const Program& program) const {
  for (OrderedSet ordered;;) {
    const World world(setup);
    Mailboxes mailboxes(setup.cpus);
    SimSpec spec;
    spec.machine = &setup.machine;
    spec.cpus = setup.cpus;
    spec.strict = strict_;
    spec.rest = setup.rest;
    spec.options = setup.options;
    spec.config.ticket_locks = setup.ticket_locks;
    spec.arena = &world.arena();
    spec.area0 = world.areas();
    spec.area_stride = world.stride();
    spec.mailboxes = &mailboxes;
    spec.interrupt = setup.interrupt;
    spec.program = [&](CpuId cpu) {
      Mark(0);
      program(cpu, world);
    };
    SimRun run = RunSimulation(spec, ordered);
    if (run.violations.empty()) {
      MEMSIM_CHECK(run.result.deadlock.empty(), "a closed form does not deadlock");
      return std::move(run.result);
    }
    ordered.insert(run.violations.begin(), run.violations.end());
  }
}

double Book::PerOperation(const Setup& setup, uint64_t n, const Program& program) const {
  const SimResult result = Run(setup, program);
  return static_cast<double>(result.cpus[0].phase[kMeasured].time) / static_cast<double>(n);
}

void Book::Add(const std::string& name, const std::string& formula, const MachineModel& machine,
               const Numbers& numbers, double expected, double engine, double tolerance,
               const std::string& why) {
  std::vector<Form>& forms = sections_.back().forms;
  auto form = std::find_if(forms.begin(), forms.end(), [&](const Form& f) { return f.name == name; });
  if (form == forms.end()) form = forms.insert(form, {name, formula, why, {}});
  MEMSIM_CHECK(form->formula == formula && form->why == why, "a name stands for one form");
  MEMSIM_CHECK(why.empty() == (tolerance == 0), "what is not exact says why");
  form->rows.push_back({machine.name, absl::StrJoin(numbers, ", ", absl::PairFormatter(" ")), expected,
                        engine, tolerance});
}

std::vector<Section> AllForms(bool strict) {
  Book book(strict);
  AddOneCpu(book);
  AddSharing(book);
  AddMemory(book);
  AddRestOfFault(book);
  AddAccounts(book);
  return book.Take();
}

std::string Table(const std::vector<Section>& sections) {
  std::string text = absl::StrFormat("%-63s %11s %11s  %s\n", "", "formula", "engine", "within");
  for (const Section& section : sections) {
    absl::StrAppend(&text, "\n", section.heading, "\n");
    for (const Form& form : section.forms) {
      absl::StrAppend(&text, "\n  ", form.name, " = ", form.formula, "\n");
      if (!form.why.empty()) absl::StrAppend(&text, "  (not exact: ", form.why, ")\n");
      for (const Row& row : form.rows) {
        absl::StrAppendFormat(&text, "    %-12s %-46s %11s %11s  %s\n", row.machine, row.numbers,
                              Shown(row.expected), Shown(row.engine),
                              row.tolerance == 0 ? "exact" : Shown(row.tolerance));
      }
    }
  }
  return text;
}

}  // namespace memsim::closed_form
