// From rounds to a machine model: which value fills which field, where it is from, what is assumed.
#include "memsim/measure/calibrate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/measure/calibrate/rounds.h"
#include "memsim/measure/environment.h"
#include "memsim/units.h"

namespace memsim {

namespace {

using calibrate::Caches;
using calibrate::Plan;
using calibrate::Quantity;
using calibrate::Rounds;

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::string SizeText(uint64_t bytes) {
  const bool whole = bytes >= kMiB && bytes % kMiB == 0;
  return whole ? absl::StrCat(bytes / kMiB, " MiB") : absl::StrCat(bytes >> 10, " KiB");
}

uint64_t Ps(double ns) { return static_cast<uint64_t>(std::max(0.0, std::round(ns * 1000))); }
std::string NsText(uint64_t ps) { return absl::StrFormat("%.4g ns", static_cast<double>(ps) / 1000); }

class Assembly {
 public:
  Assembly(const Plan& plan, const Rounds& rounds, Calibration* to)
      : plan_(plan), rounds_(rounds), to_(*to), model_(to->model) {}

  void Host();
  void Core();
  void Memory();
  void Between();
  void Fault();
  void Rest();

 private:
  double Centre(Quantity quantity) const { return Median(rounds_.values[quantity]); }

  // A row of the report that fills `field`, or none. False when there was no value to show.
  bool Row(std::string field, std::string what, const Interval& interval, std::string method,
           std::string unit = "ns") {
    if (interval.n > 0 && !field.empty()) Source(field, interval, unit, method);
    to_.values.push_back({std::move(field), std::move(what), std::move(unit), interval, std::move(method)});
    return interval.n > 0;
  }
  void Source(const std::string& field, const Interval& interval, absl::string_view unit,
              absl::string_view method) {
    to_.sources.push_back(
        {field, absl::StrFormat("measured: %s, %.0f %% %.4g…%.4g %s", method, 100 * interval.confidence,
                                interval.low, interval.high, unit)});
  }
  struct Value {
    std::string field, what;
    Quantity quantity;
    std::string method;
    uint64_t* ps;
  };
  void Measured(Value v) {
    const Interval interval = MedianInterval(rounds_.values[v.quantity]);
    if (interval.n > 0) *v.ps = Ps(interval.centre);
    Row(std::move(v.field), std::move(v.what), interval, std::move(v.method));
  }
  // The assumed value where this host cannot have a measured one, or refused.
  void MeasuredOr(Value v, bool possible, absl::string_view impossible, double assumed_ns,
                  absl::string_view assumed_as) {
    if (possible && (rounds_.partial || !rounds_.values[v.quantity].empty())) return Measured(std::move(v));
    AssumePs(std::move(v.field), assumed_ns,
             absl::StrCat(possible ? "the host refused" : impossible, "; ", assumed_as), v.ps);
  }
  void Shown(std::string what, Quantity quantity, std::string method) {
    Row("", std::move(what), MedianInterval(rounds_.values[quantity]), std::move(method));
  }
  void Assume(std::string field, std::string value, std::string why) {
    model_.assumed.push_back(field);
    to_.assumed.push_back({std::move(field), std::move(value), std::move(why)});
  }
  void AssumePs(std::string field, double ns, std::string why, uint64_t* ps) {
    *ps = Ps(ns);
    Assume(std::move(field), NsText(*ps), std::move(why));
  }
  void Cache(absl::string_view name, const calibrate::CacheInfo& info, CacheModel* cache) {
    cache->bytes = info.bytes;
    if (info.bytes != 0) cache->ways = info.ways;
    if (!info.source.empty()) {
      to_.sources.push_back({absl::StrCat(name, ".size"), info.source});
      to_.sources.push_back({absl::StrCat(name, ".ways"), info.source});
    } else {
      Assume(absl::StrCat(name, ".size"), SizeText(info.bytes), "the host does not say");
      Assume(absl::StrCat(name, ".ways"), absl::StrCat(info.ways), "the host does not say");
    }
  }
  uint64_t& stage(Stage stage) { return model_.stage[static_cast<size_t>(stage)]; }

  const Plan& plan_;
  const Rounds& rounds_;
  Calibration& to_;
  MachineModel& model_;
};

void Assembly::Host() {
  const calibrate::Topology& topology = plan_.topology;
  model_.sockets = topology.sockets;
  model_.cores_per_socket = topology.cores_per_socket;
  model_.threads_per_core = topology.threads_per_core;
  for (const auto& [field, value] : {std::pair{"topology.sockets", model_.sockets},
                                     std::pair{"topology.cores_per_socket", model_.cores_per_socket},
                                     std::pair{"topology.threads_per_core", model_.threads_per_core}}) {
    if (!topology.source.empty()) {
      to_.sources.push_back({field, topology.source});
    } else {
      Assume(field, absl::StrCat(value), "the host does not say; every CPU is taken for a core");
    }
  }
  Cache("caches.l1", plan_.caches.l1, &model_.l1);
  Cache("caches.l2", plan_.caches.l2, &model_.l2);
  Cache("caches.l3", plan_.caches.l3, &model_.l3);
}

void Assembly::Core() {
  const Interval clock = MedianInterval(rounds_.values[calibrate::kClock]);
  if (Row("clock", "core clock, effective", clock, "a chain of adds, a cycle each", "GHz")) {
    model_.cycle = Ps(1 / clock.centre);
  }
  Measured({"operations.instruction", "an instruction", calibrate::kInstruction,
            "straight-line kernel-like code in L1", &model_.instruction});
  Measured({"operations.rmw", "LOCK on an owned line", calibrate::kRmw,
            "xadd beyond plain add, amid code", &model_.rmw});
  Measured({"operations.call", "call and return", calibrate::kCall,
            "amid code, beyond their 2 instructions", &model_.call});
  Shown("  of empty functions", calibrate::kEmptyCall, "one right after the other; shown");
  constexpr absl::string_view kFlag = "native's default stand-in, a store";
  if (Row("operations.irq_save", "interrupts off and on, flag", rounds_.irq_flag, std::string(kFlag))) {
    model_.irq_save = model_.irq_disable = Ps(rounds_.irq_flag.centre);
    Source("operations.irq_disable", rounds_.irq_flag, "ns", kFlag);
  }
  Row("", "interrupts off and on, popf", rounds_.irq_popf, "pushf and popf; shown");
}

void Assembly::Memory() {
  const calibrate::Sizes& sizes = plan_.sizes;
  const auto chase = [](uint64_t bytes) { return absl::StrCat("pointer chase over ", SizeText(bytes)); };
  Measured(
      {"caches.l1.latency", "L1 hit, load to use", calibrate::kL1, chase(sizes.l1), &model_.l1.latency});
  if (sizes.l2 != 0) {
    Measured({"caches.l2.latency", "L2 hit", calibrate::kL2, chase(sizes.l2), &model_.l2.latency});
  }
  if (sizes.l3 != 0) {
    Measured({"caches.l3.latency", "L3 hit", calibrate::kL3,
              absl::StrCat(chase(sizes.l3), ", fastest slices"), &model_.l3.latency});
  }
  if (sizes.half_l3 != 0) {
    Shown("half the L3", calibrate::kHalfL3, absl::StrCat(chase(sizes.half_l3), "; shown"));
  }
  Measured({"memory.dram", "memory", calibrate::kDram, chase(sizes.dram), &model_.dram});
  const auto clear = [](uint64_t bytes) { return absl::StrCat("rep stosb over ", SizeText(bytes)); };
  Measured({"memory.clear_page", "zeroing a page, memory", calibrate::kClear, clear(sizes.dram),
            &model_.clear_page});
  Shown("zeroing a page, L2", calibrate::kClearL2, absl::StrCat(clear(sizes.clear_l2), "; shown"));
  const double line = Centre(calibrate::kLine);
  Measured({"memory.bandwidth", "a line's time on memory", calibrate::kLine,
            absl::StrFormat("%d CPU%s zeroing pages, %.3g GB/s", plan_.memory_cpus.size(),
                            plan_.memory_cpus.size() == 1 ? "" : "s", line == 0 ? 0 : kCacheLine / line),
            &model_.dram_line});
}

void Assembly::Between() {
  const auto pairs = [this](calibrate::Distance distance) {
    return plan_.pairs[static_cast<size_t>(distance)].size();
  };
  const auto method = [&](calibrate::Distance distance) {
    return absl::StrCat("ping-pong, half, ", pairs(distance), pairs(distance) == 1 ? " pair" : " pairs");
  };
  using calibrate::Distance;
  const double far = static_cast<double>(model_.l3.bytes != 0 ? model_.l3.latency : model_.dram) / 1000;
  MeasuredOr({"transfer.smt", "a line from the core's sibling", calibrate::kTransferSmt,
              method(Distance::kSmt), &model_.transfer_smt},
             pairs(Distance::kSmt) > 0, "no two CPUs of one core",
             2 * static_cast<double>(model_.l2.latency) / 1000, "two L2 hits");
  MeasuredOr({"transfer.core", "a line from another core", calibrate::kTransferCore,
              method(Distance::kCore), &model_.transfer_core},
             pairs(Distance::kCore) > 0, "no two cores of one socket", 2 * far, "two L3 hits");
  MeasuredOr({"transfer.socket", "a line from another socket", calibrate::kTransferSocket,
              method(Distance::kSocket), &model_.transfer_socket},
             pairs(Distance::kSocket) > 0, "one socket", 1.5 * static_cast<double>(model_.dram) / 1000,
             "1.5 times memory");
  MeasuredOr({"operations.lock_handoff", "contended lock, hand-off", calibrate::kLock,
              "ticket lock, two CPUs alternating", &model_.lock_handoff},
             plan_.has_pair, "one CPU", static_cast<double>(model_.transfer_core) / 1000, "one transfer");
  MeasuredOr({"operations.ipi", "interrupt to another CPU", calibrate::kIpi,
              "membarrier(), with its answer", &model_.ipi},
             plan_.has_pair, "one CPU", 1000, "a usual value");
  MeasuredOr({"operations.tlb_shootdown", "flush of another CPU's TLB", calibrate::kShootdown,
              "madvise(), other running or not", &model_.tlb_shootdown},
             plan_.has_pair, "one CPU", 1500, "a usual value");
  MeasuredOr({"operations.smt_instruction", "an instruction, sibling busy", calibrate::kSharedInstruction,
              "the same code on both", &model_.smt_instruction},
             pairs(Distance::kSmt) > 0, "no two CPUs of one core",
             1.6 * static_cast<double>(model_.instruction) / 1000, "1.6 instructions");
}

void Assembly::Fault() {
  Shown("a real page fault", calibrate::kFault, "a write to each of 4096 fresh pages; shown");
  Shown("  of it zeroing the page", calibrate::kClearL3,
        absl::StrCat("rep stosb over ", SizeText(plan_.sizes.clear_l3), "; shown"));
  Measured({"stages.exception", "  all the rest of it", calibrate::kException, "fault minus zeroing",
            &stage(Stage::kException)});
  Measured({"stages.unmap_page", "unmapping a page", calibrate::kUnmap, "madvise() of those 4096, for each",
            &stage(Stage::kUnmapPage)});
  for (const StageInfo& info : kStages) {
    if (info.stage == Stage::kException || info.stage == Stage::kUnmapPage) continue;
    const bool on_the_way_back = info.stage == Stage::kTlbFlush || info.stage == Stage::kFreePage;
    const absl::string_view in = on_the_way_back ? "unmap_page" : "exception";
    stage(info.stage) = 0;
    to_.sources.push_back(
        {absl::StrCat("stages.", info.name), absl::StrCat("measured: contained in stages.", in)});
  }
}

void Assembly::Rest() {
  if (model_.sockets == 1) {
    AssumePs("memory.dram_remote", static_cast<double>(model_.dram) / 1000, "one socket",
             &model_.dram_remote);
  } else {
    AssumePs("memory.dram_remote", 1.7 * static_cast<double>(model_.dram) / 1000,
             "1.7 times the own memory's", &model_.dram_remote);
  }
  Assume("topology.issue_slots", absl::StrCat(model_.issue_slots), "not visible");
  Assume("memory.clear_lines", absl::StrCat(model_.clear_lines),
         "zeroing writes lines without reading them");
  Assume("operations.store_forward", "0 ns", "no penalty");
  Assume("caches.adjacent_line", "false", "not visible");
  Assume("timer.rate", "0 ns", "no timer interrupts: CPU time leaves most of them out");
  Assume("timer.cost", "0 ns", "as above");
}

}  // namespace

absl::StatusOr<Calibration> Calibrate(const CalibrateOptions& options) {
  const auto plan = calibrate::MakePlan(options);
  if (!plan.ok()) return plan.status();
  const auto rounds = calibrate::RunRounds(*plan, options);
  if (!rounds.ok()) return rounds.status();
  Calibration calibration;
  calibration.partial = rounds->partial;
  const Environment environment = ReadEnvironment();
  MachineModel& model = calibration.model;
  model.name = options.name;
  model.given = options.name;
  model.summary =
      absl::StrCat(environment.cpu, ", ", environment.cpus, environment.cpus == 1 ? " CPU" : " CPUs",
                   environment.virtual_machine ? ", virtual" : "", ", as measured");
  model.source = absl::StrCat("memsim calibrate, ", environment.time, ", ", environment.os, ", load ",
                              absl::StrFormat("%.1f", environment.load), ", ", environment.compiler);
  Assembly assembly(*plan, *rounds, &calibration);
  assembly.Host();
  assembly.Core();
  assembly.Memory();
  assembly.Between();
  assembly.Fault();
  assembly.Rest();
  calibration.notes = calibrate::Notes(*plan, *rounds);
  return calibration;
}

}  // namespace memsim
