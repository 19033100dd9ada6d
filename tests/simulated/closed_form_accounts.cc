// Closed forms of what a run says about its time: causes, muted functions, samples.
#include <algorithm>

#include "tests/simulated/closed_form.h"

namespace memsim::closed_form {

namespace {

using M = MachineModel;

double Of(uint64_t ps) { return static_cast<double>(ps); }
void SomeWork(void*) { Simulated::Work(70); }

// A little of everything, on CPUs of every kind of neighbour.
void Mixture(CpuId cpu, const World& world) {
  const CpuId next = (cpu + 1) % 4;
  const int rounds = cpu == 1 ? 100 : 300;  // so that somebody is idle when he is asked
  for (int i = 0; i < rounds; ++i) {
    const Simulated::Scope scope(i % 3 == 0 ? Fn::kTryCharge : Fn::kCommitCharge);
    Simulated::ClearPage();
    Simulated::OnStage(Stage::kAllocPage);
    Walk(&world.Own(cpu, 0), 20);
    world.Shared(0).atomic.add(1);
    world.Shared(1).a.add(1);
    {
      const Simulated::IrqGuard off(IrqKind::kSaveRestore);
      const SpinGuard hold(world.Shared(2).lock);
      Simulated::Work(40 + cpu);
    }
    Simulated::MmapLock(&world.Shared(3));
    if (i % 50 == 7) Simulated::RunOn(next, {SomeWork, nullptr});
    if (i % 90 == 5) Simulated::After(3000, {SomeWork, nullptr});
    simulated::Poll();
  }
}

void AddSums(Book& book, M m) {
  m.timer_period = 50000000;
  Setup setup(m, m.sockets * m.cores_per_socket + 2);
  setup.rest = RestKind::kFault;
  const SimResult result = book.Run(setup, Mixture);
  uint64_t clocks = 0, idle = 0, starts = 0;
  for (const SimCpuTimes& cpu : result.cpus) {
    clocks += cpu.clock;
    idle += cpu.idle;
    starts += cpu.phase[0].begin;
  }
  book.Add("all functions and causes of a mixed run, added up", "clocks - idle - start offsets", m,
           {{"CPUs", result.cpus.size()}, {"idle", idle}}, Of(clocks - idle - starts), Of(result.Time()));
}

void AddMuted(Book& book, const M& m) {
  Setup setup(m);
  setup.options.muted = FnSet{}.With(Fn::kTryCharge);
  const auto body = [](const World& world) {
    const Simulated::Scope scope(Fn::kTryCharge);
    Walk(&world.Own(0, 0), 50);
    world.Own(0, 0).atomic.add(1);
    const Simulated::IrqGuard off(IrqKind::kSaveRestore);
    const SpinGuard hold(world.Own(0, 0).lock);
    Simulated::Work(1000);
  };
  book.Add("a muted function", "0", m, {}, 0, book.PerOperation(setup, 1, [&](CpuId, const World& world) {
             Measure([&] { body(world); });
           }));
  book.Add("load of a line that only a muted function touched", "DRAM", m, {{"DRAM", m.dram}}, Of(m.dram),
           book.PerOperation(setup, 1, [&](CpuId, const World& world) {
             body(world);
             Measure([&] { Walk(&world.Own(0, 0), 1); });
           }));
}

double Share(uint64_t part, uint64_t whole) { return 100 * Of(part) / Of(whole); }
double TimeShare(const SimResult& result, Fn fn) {
  return Share(result.RowTime(static_cast<size_t>(fn)), result.Time());
}
double SampleShare(const SimResult& result, Fn fn) {
  return Share(result.samples[static_cast<size_t>(fn)], result.Samples());
}

void AddSamples(Book& book, const M& m) {
  Setup setup(m);
  setup.options.sample_period = 1234567;
  const uint64_t period = setup.options.sample_period;
  const std::string why = "samples are a sample, here of some 10^5";
  const Program plain = [](CpuId, const World& world) {
    for (int i = 0; i < 100000; ++i) {
      {
        const Simulated::Scope scope(Fn::kTryCharge);
        Simulated::Work(3000);
      }
      const Simulated::Scope scope(Fn::kCommitCharge);
      world.Shared(0).a.add(1);
      Simulated::Work(1000);
    }
  };
  for (const SamplerKind kind : {SamplerKind::kTimer, SamplerKind::kNmi}) {
    setup.options.sampler = kind;
    const SimResult result = book.Run(setup, plain);
    book.Add("share of try_charge in the samples (%)", "its share of the time", m,
             {{kind == SamplerKind::kNmi ? "NMI, period" : "timer, period", period}},
             TimeShare(result, Fn::kTryCharge), SampleShare(result, Fn::kTryCharge), 0.5, why);
  }

  const Program masked = [](CpuId, const World&) {
    for (int i = 0; i < 100000; ++i) {
      const Simulated::Scope outer(Fn::kCommitCharge);
      {
        const Simulated::IrqGuard off(IrqKind::kSaveRestore);
        const Simulated::Scope inner(Fn::kChargeStatistics);
        Simulated::Work(1000);
      }
      Simulated::Work(1000);
    }
  };
  const std::string inner = "mem_cgroup_charge_statistics, interrupts off (%), ";
  setup.options.sampler = SamplerKind::kNmi;
  const SimResult nmi = book.Run(setup, masked);
  book.Add(inner + "NMI", "its share of the time", m, {{"period", period}},
           TimeShare(nmi, Fn::kChargeStatistics), SampleShare(nmi, Fn::kChargeStatistics), 0.5, why);
  setup.options.sampler = SamplerKind::kTimer;
  const SimResult timer = book.Run(setup, masked);
  book.Add(inner + "timer", "0", m, {{"period", period}}, 0, SampleShare(timer, Fn::kChargeStatistics));
  book.Add("its caller commit_charge, which turns them on (%)", "both shares of the time", m,
           {{"period", period}},
           TimeShare(timer, Fn::kChargeStatistics) + TimeShare(timer, Fn::kCommitCharge),
           SampleShare(timer, Fn::kCommitCharge), 0.5, why);
}

}  // namespace

void AddAccounts(Book& book) {
  book.Begin("ACCOUNTS");
  for (const M& m : book.TwoMachines()) AddSums(book, m);
  for (const M& m : book.TwoMachines()) AddMuted(book, m);
  for (const M& m : book.TwoMachines()) AddSamples(book, m);
}

}  // namespace memsim::closed_form
