// Closed forms of one CPU, and of the two threads of one core.
#include <algorithm>

#include "tests/simulated/closed_form.h"

namespace memsim::closed_form {

namespace {

using M = MachineModel;

double Of(uint64_t ps) { return static_cast<double>(ps); }

// A ring of `lines` is walked three times; the third time counts. Its first load waits for the pointer that
// the second walk ended with, and nobody waits for its last.
double ThirdWalk(Book& book, const M& machine, uint64_t lines, int cpus = 1) {
  Setup setup(machine, cpus);
  setup.shared_lines = lines;
  return book.PerOperation(setup, lines, [lines](CpuId cpu, const World& world) {
    if (cpu != 0) return;
    Line* line = Walk(Walk(&world.Shared(0), lines), lines);
    Measure([&] { Walk(line, lines); });
  });
}

// CPU 0 walks lines of `owner` that nobody has touched.
double FirstWalk(Book& book, const M& machine, CpuId owner) {
  Setup setup(machine, owner + 1);
  setup.own_lines = 512;
  return book.PerOperation(setup, 512, [owner](CpuId cpu, const World& world) {
    if (cpu == 0) Measure([&] { Walk(&world.Own(owner, 0), 512); });
  });
}

void AddLatencies(Book& book, const M& m) {
  const uint64_t l1 = m.l1.bytes / 64, l2 = m.l2.bytes / 64, l3 = m.l3.bytes / 64;
  book.Add("pointer load, all lines fit L1", "L1", m, {{"L1", m.l1.latency}}, Of(m.l1.latency),
           ThirdWalk(book, m, l1));
  book.Add("pointer load, a ring as large as L2", "L2", m, {{"L2", m.l2.latency}}, Of(m.l2.latency),
           ThirdWalk(book, m, l2));
  book.Add("pointer load, a ring of twice L2", "L3", m, {{"L3", m.l3.latency}}, Of(m.l3.latency),
           ThirdWalk(book, m, 2 * l2));
  if (m.sockets == 1) {
    book.Add("pointer load, a ring of 9/8 of L3", "DRAM", m, {{"DRAM", m.dram}}, Of(m.dram),
             ThirdWalk(book, m, l3 * 9 / 8));
  } else {
    book.Add("pointer load, a ring of 9/8 of L3, two sockets", "(DRAM + remote DRAM) / 2", m,
             {{"DRAM", m.dram}, {"remote", m.dram_remote}}, Of(m.dram + m.dram_remote) / 2,
             ThirdWalk(book, m, l3 * 9 / 8), Of(m.dram) / 100, "a hash spreads the pages over the sockets");
  }
  book.Add("first load of a line in the own socket's memory", "DRAM", m, {{"DRAM", m.dram}}, Of(m.dram),
           FirstWalk(book, m, 0));
  if (m.sockets > 1) {
    book.Add("first load of a line in another socket's memory", "remote DRAM", m, {{"remote", m.dram_remote}},
             Of(m.dram_remote), FirstWalk(book, m, m.cores_per_socket));
  }
}

void AddHits(Book& book, const M& m) {
  const uint64_t slot = m.instruction;
  const auto warm = [&](auto access) {
    return book.PerOperation(Setup(m), 100, [&](CpuId, const World& world) {
      MeasureInTheMiddle(100, [&] { access(world.Shared(0)); });
    });
  };
  book.Add("100 instructions", "100 slots", m, {{"slot", slot}}, Of(100 * slot),
           warm([](Line&) { Simulated::Work(100); }));
  book.Add("load that nobody follows, hits L1", "slot", m, {{"slot", slot}}, Of(slot),
           warm([](Line& line) { static_cast<void>(line.a.load()); }));
  book.Add("store, hits L1", "slot", m, {{"slot", slot}}, Of(slot),
           warm([](Line& line) { line.a.store(1); }));
  book.Add("add without LOCK, hits L1", "2 slots", m, {{"slot", slot}}, Of(2 * slot),
           warm([](Line& line) { line.a.add(1); }));
  book.Add("LOCK instruction on an owned line", "2 slots + rmw", m,
           {{"slot", slot}, {"rmw", m.rmw}}, Of(2 * slot + m.rmw),
           warm([](Line& line) { line.atomic.add(1); }));
  book.Add("LOCK instruction on a line nobody has", "DRAM + rmw", m, {{"DRAM", m.dram}, {"rmw", m.rmw}},
           Of(m.dram + m.rmw), book.PerOperation(Setup(m), 1, [](CpuId, const World& world) {
             Measure([&] { world.Own(0, 0).atomic.add(1); });
           }));
  book.Add("spinlock taken and released, alone", "2 slots + rmw", m,
           {{"slot", slot}, {"rmw", m.rmw}}, Of(2 * slot + m.rmw),
           warm([](Line& line) { const SpinGuard hold(line.lock); }));

  const uint64_t n = m.l2.bytes / 64;
  Setup l2(m);
  l2.shared_lines = n;
  book.Add("load that nobody follows, hits L2", "slot", m, {{"slot", slot}}, Of(slot),
           book.PerOperation(l2, n, [n](CpuId, const World& world) {
             Walk(&world.Shared(0), n);
             Measure([&] {
               for (uint64_t i = 0; i < n; ++i) static_cast<void>(world.Shared(i).a.load());
             });
           }));
}

void AddFrames(Book& book, const M& m) {
  const uint64_t slot = m.instruction;
  const auto warm = [&](auto body) {
    return book.PerOperation(Setup(m), 100,
                             [&](CpuId, const World&) { MeasureInTheMiddle(100, body); });
  };
  book.Add("function called, a frame of f instructions", "f slots + call", m,
           {{"f", 4 + 2 * Info(Fn::kTryCharge).pushes}, {"slot", slot}, {"call", m.call}},
           Of((4 + 2 * Info(Fn::kTryCharge).pushes) * slot + m.call),
           warm([] { const Simulated::Scope scope(Fn::kTryCharge); }));
  book.Add("interrupts saved, off and restored", "2 slots + irq_save", m,
           {{"slot", slot}, {"irq_save", m.irq_save}}, Of(2 * slot + m.irq_save),
           warm([] { const Simulated::IrqGuard off(IrqKind::kSaveRestore); }));
  book.Add("interrupts off and on", "2 slots + irq_disable", m,
           {{"slot", slot}, {"irq_disable", m.irq_disable}}, Of(2 * slot + m.irq_disable),
           warm([] { const Simulated::IrqGuard off(IrqKind::kDisableEnable); }));
}

// The machine with a penalty that no file has.
void AddStoreForward(Book& book, M m) {
  m.store_forward = 3333;
  const uint64_t slot = m.instruction;
  const auto cost = [&](int loads, bool wide_store) {
    return book.PerOperation(Setup(m), 100, [=](CpuId, const World& world) {
      MeasureInTheMiddle(100, [&] {
        Line& line = world.Shared(0);
        if (wide_store) line.a.add(1);
        else line.atomic.SetBit32(3);
        for (int i = 0; i < loads; ++i) {
          static_cast<void>(wide_store ? line.a.load() : line.atomic.load());
        }
      });
    });
  };
  const Numbers numbers = {{"slot", slot}, {"store_forward", m.store_forward}};
  book.Add("4 bytes modified, then 8 loaded", "3 slots + store_forward", m, numbers,
           Of(3 * slot + m.store_forward), cost(1, false));
  book.Add("4 bytes modified, then 8 loaded twice", "4 slots + store_forward", m, numbers,
           Of(4 * slot + m.store_forward), cost(2, false));
  book.Add("8 bytes modified, then 8 loaded", "3 slots", m, numbers, Of(3 * slot), cost(1, true));
}

// The machine with the other line of a pair fetched along.
void AddAdjacentLine(Book& book, M m) {
  m.adjacent_line = true;
  book.Add("sequential first walk, adjacent line prefetched", "(DRAM + L2) / 2", m,
           {{"DRAM", m.dram}, {"L2", m.l2.latency}}, Of(m.dram + m.l2.latency) / 2, FirstWalk(book, m, 0),
           Of(m.l2.latency) / 512, "nobody waits for the last of 512");
}

// One line in every set of L1, then pages are cleared.
void AddPageClears(Book& book, const M& m) {
  const uint64_t sets = m.l1.bytes / 64 / static_cast<uint64_t>(m.l1.ways);
  const auto after = [&](int clears) {
    Setup setup(m);
    setup.shared_lines = sets;
    setup.rest = RestKind::kClear;
    return book.PerOperation(setup, sets, [=](CpuId, const World& world) {
      Walk(&world.Shared(0), sets);
      for (int i = 0; i < clears; ++i) Simulated::ClearPage();
      Measure([&] { Walk(&world.Shared(0), sets); });
    });
  };
  const Numbers numbers = {{"L1 ways", static_cast<uint64_t>(m.l1.ways)}, {"L1", m.l1.latency},
                           {"L2", m.l2.latency}};
  const std::string last = "nobody waits for the last";
  book.Add("pointer load after (L1 ways - 1) page clears", "L1", m, numbers, Of(m.l1.latency),
           after(m.l1.ways - 1), Of(m.l1.latency) / Of(sets), last);
  book.Add("pointer load after (L1 ways) page clears", "L2", m, numbers, Of(m.l2.latency),
           after(m.l1.ways), Of(m.l2.latency) / Of(sets), last);
}

void AddSiblings(Book& book, const M& m) {
  const int cores = m.sockets * m.cores_per_socket;
  const uint64_t l1 = m.l1.bytes / 64;
  book.Add("100 instructions while the sibling runs", "100 smt_slots", m,
           {{"smt_slot", m.smt_instruction}}, Of(100 * m.smt_instruction),
           book.PerOperation(Setup(m, cores + 1), 1, [](CpuId cpu, const World&) {
             if (cpu == 0) Measure([] { Simulated::Work(100); });
           }));
  book.Add("pointer load, half of L1, the sibling runs", "L1", m, {{"L1", m.l1.latency}},
           Of(m.l1.latency), ThirdWalk(book, m, l1 / 2, cores + 1));
  book.Add("pointer load, all of L1, the sibling runs", "L2", m, {{"L2", m.l2.latency}},
           Of(m.l2.latency), ThirdWalk(book, m, l1, cores + 1));
}

}  // namespace

void AddOneCpu(Book& book) {
  book.Begin("ONE CPU");
  for (const M& m : book.TwoMachines()) AddLatencies(book, m);
  for (const M& m : book.TwoMachines()) AddHits(book, m);
  for (const M& m : book.TwoMachines()) AddFrames(book, m);
  for (const M& m : book.TwoMachines()) AddStoreForward(book, m);
  for (const M& m : book.TwoMachines()) AddAdjacentLine(book, m);
  for (const M& m : book.TwoMachines()) AddPageClears(book, m);
  book.Begin("TWO THREADS OF A CORE");
  for (const M& m : book.TwoMachines()) AddSiblings(book, m);
}

}  // namespace memsim::closed_form
