// Closed forms of memory bandwidth: a server for each socket.
#include <algorithm>

#include "tests/simulated/closed_form.h"

namespace memsim::closed_form {

namespace {

using M = MachineModel;

constexpr uint64_t kLines = 600;

double Of(uint64_t ps) { return static_cast<double>(ps); }

void AddClears(Book& book, const M& m) {
  for (int k = 1; k <= 2 * m.cores_per_socket && k <= 16; k *= 2) {
    Setup setup(m, k);
    setup.rest = RestKind::kClear;
    const uint64_t service = m.clear_lines * m.dram_line;
    book.Add("page cleared, k CPUs of a socket: one CPU's time", "max(clear_page, k * 64 lines)", m,
             {{"k", k}, {"clear_page", m.clear_page}, {"line", m.dram_line}},
             Of(std::max(m.clear_page, static_cast<uint64_t>(k) * service)),
             book.PerOperation(setup, 100, [](CpuId, const World&) {
               MeasureInTheMiddle(100, [] { Simulated::ClearPage(); });
             }));
  }
}

// One CPU walks through memory, the others of its socket clear pages, more than the memory can take.
void AddReadBeforeClears(Book& book, const M& m) {
  Setup setup(m, m.cores_per_socket);
  setup.own_lines = 2 * kLines;
  setup.rest = RestKind::kClear;
  const double time = book.PerOperation(setup, kLines, [](CpuId cpu, const World& world) {
    if (cpu != 0) {
      for (int i = 0; i < 1000; ++i) Simulated::ClearPage();
      return;
    }
    Line* line = Walk(&world.Own(cpu, 0), kLines);
    Measure([&] { Walk(line, kLines); });
  });
  book.Add("load from DRAM while all others clear pages", "slot + line + DRAM", m,
           {{"slot", m.instruction}, {"line", m.dram_line}, {"DRAM", m.dram}},
           Of(m.instruction + m.dram_line + m.dram), time);
}

// A machine with 4 GB/s: no file's CPUs can exhaust its memory by single misses.
void AddMisses(Book& book, M m) {
  m.dram_line = 16000;
  const auto walk = [&](const M& machine, int k) {
    Setup setup(machine, k);
    setup.own_lines = 3 * kLines;
    return book.PerOperation(setup, kLines, [](CpuId cpu, const World& world) {
      Line* line = Walk(&world.Own(cpu, 0), kLines);
      Measure([&] { line = Walk(line, kLines); });
      Walk(line, kLines);
    });
  };
  for (int k = 1; k <= 8; k *= 2) {
    book.Add("load from DRAM, k CPUs of a socket: one CPU's time", "max(DRAM, k lines)", m,
             {{"k", k}, {"DRAM", m.dram}, {"line", m.dram_line}},
             Of(std::max(m.dram, static_cast<uint64_t>(k) * m.dram_line)), walk(m, k));
  }
  M pairs = m;
  pairs.adjacent_line = true;
  for (int k = 1; k <= 8; k *= 2) {
    const uint64_t lines = 2 * static_cast<uint64_t>(k) * m.dram_line;
    book.Add("the same with adjacent lines: a pair of loads", "max(DRAM + L2, 2 k lines)", m,
             {{"k", k}, {"DRAM", m.dram}, {"L2", m.l2.latency}, {"line", m.dram_line}},
             Of(std::max(m.dram + m.l2.latency, lines)), 2 * walk(pairs, k));
  }
}

}  // namespace

void AddMemory(Book& book) {
  book.Begin("MEMORY BANDWIDTH");
  for (const M& m : book.TwoMachines()) AddClears(book, m);
  for (const M& m : book.TwoMachines()) AddReadBeforeClears(book, m);
  for (const M& m : book.TwoMachines()) AddMisses(book, m);
}

}  // namespace memsim::closed_form
