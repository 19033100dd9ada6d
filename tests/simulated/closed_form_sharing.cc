// Closed forms of several CPUs at one line, and of locks.
#include <algorithm>

#include "tests/simulated/closed_form.h"

namespace memsim::closed_form {

namespace {

using M = MachineModel;

double Of(uint64_t ps) { return static_cast<double>(ps); }

// Long enough for another CPU to be done with what it does once.
void LetOthersGoFirst(CpuId n) { Simulated::Work(100000 * n); }

bool IsIn(const std::vector<CpuId>& cpus, CpuId cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

// The given CPUs run `body` again and again: time of all for one operation of any, in the steady state.
template <class Body>
double Serialised(Book& book, const Setup& setup, const std::vector<CpuId>& active, Body body) {
  constexpr int kRepeat = 200;
  return book.PerOperation(setup, kRepeat * active.size(), [&](CpuId cpu, const World& world) {
    if (!IsIn(active, cpu)) return;
    MeasureInTheMiddle(kRepeat, [&] { body(cpu, world); });
  });
}

std::vector<CpuId> First(int n) {
  std::vector<CpuId> cpus;
  for (CpuId cpu = 0; cpu < n; ++cpu) cpus.push_back(cpu);
  return cpus;
}

void AddAtomics(Book& book, const M& m) {
  const auto atomic = [](CpuId, const World& world) { world.Shared(0).atomic.add(1); };
  const auto pair = [&](CpuId other) { return Serialised(book, Setup(m, other + 1), {0, other}, atomic); };
  const int cores = m.sockets * m.cores_per_socket;
  const std::string formula = "transfer + rmw";
  const auto numbers = [&](const std::string& name, uint64_t transfer) {
    return Numbers{{name, transfer}, {"rmw", m.rmw}};
  };
  book.Add("LOCK instructions of two threads of a core, each", formula, m, numbers("smt", m.transfer_smt),
           Of(m.transfer_smt + m.rmw), pair(cores));
  book.Add("LOCK instructions of two cores, each", formula, m, numbers("core", m.transfer_core),
           Of(m.transfer_core + m.rmw), pair(1));
  if (m.sockets > 1) {
    book.Add("LOCK instructions of two sockets, each", formula, m, numbers("socket", m.transfer_socket),
             Of(m.transfer_socket + m.rmw), pair(m.cores_per_socket));
  }
  for (int k = 2; k <= std::min(8, m.cores_per_socket); k *= 2) {
    book.Add("LOCK instructions of k cores, each", formula, m,
             {{"k", k}, {"core", m.transfer_core}, {"rmw", m.rmw}}, Of(m.transfer_core + m.rmw),
             Serialised(book, Setup(m, k), First(k), atomic));
    book.Add("the same on k lines, of one CPU", "2 slots + rmw", m,
             {{"k", k}, {"slot", m.instruction}, {"rmw", m.rmw}}, Of(2 * m.instruction + m.rmw),
             Serialised(book, Setup(m, k), First(k),
                        [](CpuId cpu, const World& world) {
                          world.Shared(static_cast<uint64_t>(cpu)).atomic.add(1);
                        }) * k);
  }
}

// A line goes round in the order in which the CPUs came for it first. The first LOCK instruction takes so
// long that all of them come while it runs.
void AddRound(Book& book, M m, const std::vector<CpuId>& order, const std::string& name,
              const std::string& formula, uint64_t transfer) {
  m.rmw = 1000000;
  constexpr int kRepeat = 50;
  const CpuId last = *std::max_element(order.begin(), order.end());
  book.Add(name, formula, m,
           {{"core", m.transfer_core}, {"socket", m.transfer_socket}, {"rmw", m.rmw}}, Of(transfer + m.rmw),
           book.PerOperation(Setup(m, last + 1), kRepeat * order.size(), [&](CpuId cpu, const World& world) {
             if (!IsIn(order, cpu)) return;
             const auto at = std::find(order.begin(), order.end(), cpu) - order.begin();
             Simulated::Work(static_cast<int>(at) * 600);
             MeasureInTheMiddle(kRepeat, [&] { world.Shared(0).atomic.add(1); });
           }));
}

void AddRounds(Book& book, const M& m) {
  const CpuId there = m.cores_per_socket;
  AddRound(book, m, {0, there, 1, there + 1}, "LOCK instructions, sockets take turns, each", "socket + rmw",
           m.transfer_socket);
  AddRound(book, m, {0, 1, there, there + 1}, "LOCK instructions, two of one socket, then two of the other",
           "(core + socket) / 2 + rmw", (m.transfer_core + m.transfer_socket) / 2);
}

// A machine on which nothing costs but instructions.
void AddIdeal(Book& book) {
  const M m = book.Machine("ideal");
  Setup setup(m, 8);
  book.Add("LOCK instructions of 8 CPUs without latencies", "2 slots / 8", m, {{"slot", m.instruction}},
           Of(2 * m.instruction) / 8, Serialised(book, setup, First(8), [](CpuId, const World& world) {
             world.Shared(0).atomic.add(1);
           }));
}

// A CPU has written a line; then CPU 0 loads it, for the first time.
void AddDirtyLoads(Book& book, const M& m) {
  const auto load = [&](CpuId writer) {
    return book.PerOperation(Setup(m, writer + 1), 1, [=](CpuId cpu, const World& world) {
      Line& line = world.Own(0, 0);
      if (cpu == writer) line.a.store(1);
      if (cpu != 0) return;
      LetOthersGoFirst(1);
      Measure([&] { static_cast<void>(line.a.load()); });
    });
  };
  const std::string name = "load of a line that another CPU has written";
  const CpuId sibling = m.sockets * m.cores_per_socket;
  book.Add(name, "transfer", m, {{"smt", m.transfer_smt}}, Of(m.transfer_smt), load(sibling));
  book.Add(name, "transfer", m, {{"core", m.transfer_core}}, Of(m.transfer_core), load(1));
  if (m.sockets == 1) return;
  book.Add(name, "transfer", m, {{"socket", m.transfer_socket}}, Of(m.transfer_socket),
           load(m.cores_per_socket));
}

// Two CPUs count, each in a word of its own, with `work` instructions between.
double Counters(Book& book, const M& m, int work, bool same_line) {
  constexpr int kRepeat = 200;
  return book.PerOperation(Setup(m, 2), kRepeat, [&](CpuId cpu, const World& world) {
    if (cpu == 1) Simulated::Work(work / 2);
    Line& line = world.Shared(same_line ? 0 : static_cast<uint64_t>(cpu));
    auto& counter = cpu == 0 ? line.a : line.b;
    MeasureInTheMiddle(kRepeat, [&] {
      counter.add(1);
      if (work != 0) Simulated::Work(work);
    });
  });
}

void AddFalseSharing(Book& book, const M& m) {
  const uint64_t slot = m.instruction, core = m.transfer_core;
  const Numbers numbers = {{"core", core}, {"slot", slot}};
  book.Add("two counters in a line, no pause: each add", "transfer", m, numbers, Of(core),
           Counters(book, m, 0, true) / 2);
  book.Add("two counters in a line, 2000 instructions between", "transfer + 2000 slots", m, numbers,
           Of(core + 2000 * slot), Counters(book, m, 2000, true));
  book.Add("two counters in two lines, no pause", "2 slots", m, numbers, Of(2 * slot),
           Counters(book, m, 0, false));
  book.Add("two counters in two lines, 2000 instructions between", "2002 slots", m, numbers,
           Of(2002 * slot), Counters(book, m, 2000, false));
}

// CPUs of `order` load a line one after the other; the last one measures its first and its second load.
SimResult LoadInTurn(Book& book, const M& m, const std::vector<CpuId>& order) {
  const CpuId last = *std::max_element(order.begin(), order.end());
  return book.Run(Setup(m, last + 1), [&](CpuId cpu, const World& world) {
    const auto at = std::find(order.begin(), order.end(), cpu) - order.begin();
    if (at == static_cast<std::ptrdiff_t>(order.size())) return;
    LetOthersGoFirst(static_cast<CpuId>(at));
    const Line& line = world.Own(0, 0);
    Measure([&] { line.next.load(); });
    Measure([&] { line.next.load(); }, kAfterwards);
  });
}

void AddReaders(Book& book, const M& m) {
  const CpuId there = m.cores_per_socket;
  const auto first = [&](const std::vector<CpuId>& order) {
    const SimResult result = LoadInTurn(book, m, order);
    return Of(result.cpus[static_cast<size_t>(order.back())].phase[kMeasured].time);
  };
  const std::string read = "read-only line: ";
  book.Add(read + "the first reader", "DRAM", m, {{"DRAM", m.dram}}, Of(m.dram), first({0}));
  book.Add(read + "the second, from the first", "transfer", m, {{"core", m.transfer_core}},
           Of(m.transfer_core), first({0, 1}));
  book.Add(read + "the third and fourth", "L3", m, {{"L3", m.l3.latency}}, Of(m.l3.latency),
           first({0, 1, 2}));
  book.Add(read + "the third and fourth", "L3", m, {{"L3", m.l3.latency}}, Of(m.l3.latency),
           first({0, 1, 2, 3}));
  if (m.sockets > 1) {
    book.Add(read + "the first of another socket", "transfer", m, {{"socket", m.transfer_socket}},
             Of(m.transfer_socket), first({0, 1, there}));
    book.Add(read + "the second of another socket", "L3", m, {{"L3", m.l3.latency}}, Of(m.l3.latency),
             first({0, 1, there, there + 1}));
  }
  book.Add(read + "everybody's next load, which nobody follows", "slot", m, {{"slot", m.instruction}},
           Of(m.instruction),
           Of(LoadInTurn(book, m, {0, 1, 2, 3}).cpus[3].phase[kAfterwards].time));
}

// CPU 0 has loaded a line and so have others; then CPU 0 writes it.
void AddUpgrades(Book& book, const M& m) {
  const auto write = [&](const std::vector<CpuId>& sharers, bool rmw) {
    const CpuId last = *std::max_element(sharers.begin(), sharers.end());
    return book.PerOperation(Setup(m, last + 1), 1, [&](CpuId cpu, const World& world) {
      Line& line = world.Own(0, 0);
      if (IsIn(sharers, cpu)) static_cast<void>(line.a.load());
      if (cpu != 0) return;
      LetOthersGoFirst(1);
      Measure([&] {
        if (rmw) line.atomic.add(1);
        else line.a.store(1);
      });
    });
  };
  const CpuId sibling = m.sockets * m.cores_per_socket;
  const std::string store = "store to a line that others have read: ";
  book.Add(store + "the sibling", "transfer", m, {{"smt", m.transfer_smt}}, Of(m.transfer_smt),
           write({0, sibling}, false));
  book.Add(store + "sibling and cores", "farthest transfer", m,
           {{"smt", m.transfer_smt}, {"core", m.transfer_core}}, Of(m.transfer_core),
           write({0, 1, 2, 3, sibling}, false));
  if (m.sockets > 1) {
    book.Add(store + "all sockets", "farthest transfer", m,
             {{"smt", m.transfer_smt}, {"core", m.transfer_core}, {"socket", m.transfer_socket}},
             Of(m.transfer_socket), write({0, 1, 2, m.cores_per_socket, sibling}, false));
  }
  book.Add("LOCK instruction on a line that cores have read", "transfer + rmw", m,
           {{"core", m.transfer_core}, {"rmw", m.rmw}}, Of(m.transfer_core + m.rmw),
           write({0, 1, 2, 3}, true));
}

void AddLocks(Book& book, const M& m) {
  constexpr int kHold = 500;
  for (const bool ticket : {false, true}) {
    for (int k = 2; k <= std::min(8, m.cores_per_socket); k *= 2) {
      Setup setup(m, k);
      setup.ticket_locks = ticket;
      const uint64_t slots = (kHold + 1) * m.instruction;
      const uint64_t others = ticket ? static_cast<uint64_t>(k - 2) * m.transfer_core / 2 : 0;
      Numbers numbers = {{"k", k}, {"hold", kHold * m.instruction}, {"hand-off", m.lock_handoff}};
      if (ticket) numbers.push_back({"core", m.transfer_core});
      book.Add(ticket ? "ticket lock, k CPUs without pause: each section"
                      : "queued lock, k CPUs without pause: each section",
               ticket ? "hold + slot + hand-off + (k - 2) transfer / 2" : "hold + slot + hand-off", m,
               numbers, Of(slots + m.lock_handoff + others),
               Serialised(book, setup, First(k), [](CpuId, const World& world) {
                 const SpinGuard hold(world.Shared(0).lock);
                 Simulated::Work(kHold);
               }));
    }
  }
}

}  // namespace

void AddSharing(Book& book) {
  book.Begin("SEVERAL CPUS AT ONE LINE");
  for (const M& m : book.TwoMachines()) AddAtomics(book, m);
  AddRounds(book, book.Machine("xeon-8176-2s"));
  AddIdeal(book);
  for (const M& m : book.TwoMachines()) AddDirtyLoads(book, m);
  for (const M& m : book.TwoMachines()) AddFalseSharing(book, m);
  for (const M& m : book.TwoMachines()) AddReaders(book, m);
  for (const M& m : book.TwoMachines()) AddUpgrades(book, m);
  book.Begin("LOCKS");
  for (const M& m : book.TwoMachines()) AddLocks(book, m);
}

}  // namespace memsim::closed_form
