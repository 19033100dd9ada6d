// Closed forms of the rest of a fault: stages, TLB flushes, requests to other CPUs, timer interrupts.
#include <algorithm>

#include "tests/simulated/closed_form.h"

namespace memsim::closed_form {

namespace {

using M = MachineModel;

double Of(uint64_t ps) { return static_cast<double>(ps); }
void MarkMeasured(void*) { Mark(kMeasured); }

// Every CPU of the machine passes one stage once.
void AddStages(Book& book, const M& m) {
  Setup setup(book.Machine("wide-1024"), 1024);
  const uint64_t stage = m.stage[static_cast<size_t>(Stage::kException)];
  setup.machine.stage = m.stage;
  setup.own_lines = 0;
  setup.rest = RestKind::kFault;
  const SimResult result = book.Run(
      setup, [](CpuId, const World&) { Measure([] { Simulated::OnStage(Stage::kException); }); });
  uint64_t least = UINT64_MAX, most = 0, sum = 0;
  for (const SimCpuTimes& cpu : result.cpus) {
    const uint64_t time = cpu.phase[kMeasured].time;
    least = std::min(least, time);
    most = std::max(most, time);
    sum += time;
  }
  const Numbers numbers = {{"exception", stage}};
  const std::string why = "1024 draws of an even distribution";
  book.Add("stage, mean of 1024 CPUs", "stage", m, numbers, Of(stage), Of(sum) / 1024, Of(stage) / 300, why);
  book.Add("stage, shortest of 1024 CPUs", "31/32 stage", m, numbers, Of(stage) * 31 / 32, Of(least),
           Of(stage) / 1000, why);
  book.Add("stage, longest of 1024 CPUs", "33/32 stage", m, numbers, Of(stage) * 33 / 32, Of(most),
           Of(stage) / 1000, why);
}

// One line in every set of L1, then a fault whose stages move data through all of its ways but one, or all.
void AddStageData(Book& book, const M& m) {
  const uint64_t ways = static_cast<uint64_t>(m.l1.ways);
  const uint64_t sets = m.l1.bytes / 64 / ways;
  for (const uint64_t moved : {m.l1.bytes / ways * (ways - 1), m.l1.bytes}) {
    Setup setup(m);
    setup.machine.stage_data = moved;
    setup.shared_lines = sets;
    setup.rest = RestKind::kFault;
    const double time = book.PerOperation(setup, sets, [=](CpuId, const World& world) {
      Walk(&world.Shared(0), sets);
      Simulated::OnStage(Stage::kException);
      Measure([&] { Walk(&world.Shared(0), sets); });
    });
    const uint64_t level = moved == m.l1.bytes ? m.l2.latency : m.l1.latency;
    book.Add(moved == m.l1.bytes ? "pointer load after a fault with stages.data = L1"
                                 : "pointer load after a fault with stages.data = L1 less a way",
             moved == m.l1.bytes ? "L2" : "L1", m, {{"L1", m.l1.latency}, {"L2", m.l2.latency}}, Of(level),
             time, Of(level) / Of(sets), "nobody waits for the last");
  }
}

void AddTlb(Book& book, M m) {
  m.stage = {};
  constexpr int kCpus = 4;
  Setup setup(m, kCpus);
  setup.rest = RestKind::kFault;
  book.Add("TLB flush, 3 other CPUs ran the address space", "3 tlb_shootdown", m,
           {{"tlb_shootdown", m.tlb_shootdown}}, Of(3 * m.tlb_shootdown),
           book.PerOperation(setup, 1, [](CpuId cpu, const World& world) {
             const void* mm = &world.Shared(0);
             simulated::BeginOperation(Part::kFree, 0, mm);
             simulated::EndOperation(0);
             if (cpu != 0) return;
             Simulated::Work(100000);
             Measure([&] { Simulated::FlushTlb(mm); });
           }));
  book.Add("mmap lock of 4 CPUs, either end, each", "transfer + rmw", m,
           {{"core", m.transfer_core}, {"rmw", m.rmw}}, Of(m.transfer_core + m.rmw),
           book.PerOperation(setup, 100 * kCpus, [](CpuId, const World& world) {
             MeasureInTheMiddle(100, [&] { Simulated::MmapLock(&world.Shared(0)); });
           }));
}

void AddRequests(Book& book, const M& m) {
  const auto delay = [&](const Program& target) {
    const SimResult result = book.Run(Setup(m, 2), [&](CpuId cpu, const World& world) {
      if (cpu == 1) return target(cpu, world);
      Simulated::Work(500);
      Measure([] { Simulated::RunOn(1, {MarkMeasured, nullptr}); });
    });
    return Of(result.cpus[1].phase[kMeasured].begin - result.cpus[0].phase[kMeasured].begin);
  };
  const Numbers numbers = {{"ipi", m.ipi}, {"slot", m.instruction}};
  book.Add("request to an idle CPU, until it runs", "ipi", m, numbers, Of(m.ipi),
           delay([](CpuId, const World&) {}));
  const uint64_t between = 100 * m.instruction;
  book.Add("request to a CPU that looks every 100 slots", "ipi + 50 slots", m, numbers,
           Of(m.ipi + between / 2), delay([](CpuId, const World&) {
             for (int i = 0; i < 1000; ++i) {
               Simulated::Work(100);
               simulated::Poll();
             }
           }),
           Of(between) / 2, "up to 50 slots either way");

  const SimResult later = book.Run(Setup(m), [](CpuId, const World&) {
    Mark(kAfterwards);
    Simulated::After(20000, {MarkMeasured, nullptr});
  });
  const uint64_t nap = std::max<uint64_t>(m.ipi, 1000);
  book.Add("work put off for 20 us on an idle CPU", "20 us, then the end of its nap", m,
           {{"nap", nap}}, Of(20000000 + nap / 2),
           Of(later.cpus[0].phase[kMeasured].begin - later.cpus[0].phase[kAfterwards].begin),
           Of(nap) / 2, "an idle CPU looks every nap, which is ipi long");
}

// 0.4 s of work with an access every 100000 instructions.
void AddTimer(Book& book, M m) {
  m.timer_period = 4000000000;
  Setup setup(m);
  uint64_t ticks = 0;
  setup.interrupt = [&](CpuId) { ++ticks; };
  const uint64_t run = 100 * m.timer_period;
  const uint64_t turns = run / (100001 * m.instruction);
  const SimResult result = book.Run(setup, [&](CpuId, const World& world) {
    ticks = 0;
    for (uint64_t i = 0; i < turns; ++i) {
      Simulated::Work(100000);
      static_cast<void>(world.Shared(0).a.load());
    }
  });
  book.Add("timer interrupts in 100 periods (number)", "100", m, {{"period", m.timer_period}}, 100,
           Of(ticks), 1, "the first one comes at any time of its period");
  book.Add("a timer interrupt, mean", "cost", m, {{"cost", m.timer_cost}}, Of(m.timer_cost),
           Of(result.RowTime(kSimTimer)) / Of(ticks), Of(m.timer_cost) / 100,
           "each varies by 1/32 either way");
}

}  // namespace

void AddRestOfFault(Book& book) {
  book.Begin("STAGES, REQUESTS, INTERRUPTS");
  for (const M& m : book.TwoMachines()) AddStages(book, m);
  for (const M& m : book.TwoMachines()) AddStageData(book, m);
  for (const M& m : book.TwoMachines()) AddTlb(book, m);
  for (const M& m : book.TwoMachines()) AddRequests(book, m);
  for (const M& m : book.TwoMachines()) AddTimer(book, m);
}

}  // namespace memsim::closed_form
