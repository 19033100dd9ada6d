#include "memsim/workload/workload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/input/model_file.h"
#include "lib/workload/streams.h"
#include "memsim/internal/range.h"
#include "memsim/page/page_lists.h"

namespace memsim {

namespace {

using internal::CheckRange;

// Copies one integer parameter; the first error stays.
template <class T>
void Take(const ModelFile& file, const std::string& name, int64_t most, T* to, absl::Status* status) {
  if (!status->ok()) return;
  const auto value = file.Integer(absl::StrCat("/parameters/", name, "/value"), 1, most);
  if (value.ok()) {
    *to = static_cast<T>(*value);
  } else {
    *status = value.status();
  }
}

absl::StatusOr<Workload> Parse(const ModelFile& file) {
  Workload workload;
  for (const auto& [field, to] : {std::pair{"/name", &workload.name},
                                  std::pair{"/summary", &workload.summary},
                                  std::pair{"/source", &workload.source}}) {
    auto text = file.String(field);
    if (!text.ok()) return text.status();
    *to = *std::move(text);
  }
  const auto generator = file.String("/generator");
  if (!generator.ok()) return generator.status();
  if (*generator == "sweep") {
    workload.generator = Generator::kSweep;
  } else if (*generator == "churn") {
    workload.generator = Generator::kChurn;
  } else {
    return file.Wrong("/generator", absl::StrCat("'", *generator, "'; valid: sweep, churn"));
  }
  const auto in_rate = file.Bool("/uncharge_in_rate", false);
  if (!in_rate.ok()) return in_rate.status();
  workload.uncharge_in_rate = *in_rate;

  absl::Status status;
  int64_t faults = 1, region = 1, burst = 1;
  Take(file, "faults", kMaxFaults, &faults, &status);
  Take(file, "region", kMaxRegion, &region, &status);
  if (workload.generator == Generator::kChurn) {
    Take(file, "mms", 1024, &workload.mms, &status);
    Take(file, "groups", 1024, &workload.groups, &status);
    Take(file, "burst", region, &burst, &status);
  }
  if (!status.ok()) return status;
  workload.faults = Pages(faults);
  workload.region = Pages(region);
  workload.burst = Pages(burst);
  return workload;
}

// A chain of `depth` memcgs below root; the index of the last.
int AddChain(WorldPlan& plan, int depth) {
  int last = 0;
  for (int level = 1; level <= depth; ++level) {
    MemcgSpec spec;
    spec.name = depth == 1 ? "child" : absl::StrCat("level", level);
    spec.parent = last;
    plan.memcgs.push_back(spec);
    last = static_cast<int>(plan.memcgs.size()) - 1;
  }
  return last;
}

void PrepareSweep(const Workload& workload, Placement placement, int threads,
                  PreparedWorkload& prepared) {
  const int memcg = AddChain(prepared.plan, placement.depth);
  const int64_t share = (workload.faults.n + threads - 1) / threads;
  const Pages slice(std::min(workload.region.n, share));
  for (int t = 0; t < threads; ++t) {
    MmSpec mm;
    mm.memcg = memcg;
    mm.size = slice;
    mm.home = t;
    prepared.plan.mms.push_back(mm);
    prepared.plan.memory = prepared.plan.memory + slice;
    prepared.streams.push_back(MakeSweep(
        {.mm = t, .slice = slice, .faults = Pages(share), .uncharge_in_rate = workload.uncharge_in_rate}));
  }
}

void PrepareChurn(const Workload& workload, Placement placement, int threads, uint64_t seed,
                  PreparedWorkload& prepared) {
  // The groups are siblings at the asked depth; in root there is nowhere to move to.
  std::vector<int> groups;
  if (placement.depth == 0) {
    groups.push_back(0);
  } else {
    const int parent = AddChain(prepared.plan, placement.depth - 1);
    for (int g = 0; g < workload.groups; ++g) {
      MemcgSpec spec;
      spec.name = absl::StrCat("group", g);
      spec.parent = parent;
      prepared.plan.memcgs.push_back(spec);
      groups.push_back(static_cast<int>(prepared.plan.memcgs.size()) - 1);
    }
  }
  for (int t = 0; t < threads; ++t) {
    ChurnSpec spec;
    spec.seed = seed * 1000 + static_cast<uint64_t>(t);
    spec.first_mm = static_cast<int>(prepared.plan.mms.size());
    spec.mms = workload.mms;
    spec.groups = groups;
    spec.region = workload.region;
    spec.burst = workload.burst;
    spec.faults = Pages((workload.faults.n + threads - 1) / threads);
    for (int m = 0; m < workload.mms; ++m) {
      MmSpec mm;
      mm.home = t;
      mm.memcg = groups[static_cast<size_t>(m) % groups.size()];
      mm.size = workload.region;
      prepared.plan.mms.push_back(mm);
      prepared.plan.memory = prepared.plan.memory + workload.region;
    }
    prepared.streams.push_back(MakeChurn(std::move(spec)));
  }
}

}  // namespace

absl::StatusOr<Workload> LoadWorkload(absl::string_view name) {
  const auto file = ModelFile::Open("workloads", name);
  if (!file.ok()) return file.status();
  auto workload = Parse(*file);
  if (workload.ok()) workload->given = std::string(name);
  return workload;
}

absl::StatusOr<std::vector<Workload>> AllWorkloads() {
  const auto names = ModelFile::Names("workloads");
  if (!names.ok()) return names.status();
  std::vector<Workload> all;
  for (const std::string& name : *names) {
    auto workload = LoadWorkload(name);
    if (!workload.ok()) return workload.status();
    all.push_back(*std::move(workload));
  }
  return all;
}

std::vector<OperationStream*> PreparedWorkload::Streams() const {
  std::vector<OperationStream*> pointers;
  for (const auto& stream : streams) pointers.push_back(stream.get());
  return pointers;
}

void PreparedWorkload::Reset() {
  for (auto& stream : streams) stream->Reset();
}

absl::StatusOr<PreparedWorkload> Prepare(const Workload& workload, Placement placement, int threads,
                                         uint64_t seed) {
  for (const absl::Status& status :
       {CheckRange("--threads", threads, 1, kMaxThreads),
        CheckRange("--faults", workload.faults.n, 1, kMaxFaults),
        CheckRange("--region", workload.region.n, 1, kMaxRegion),
        CheckRange("--memcg depth:N: N", placement.depth, 0, kMaxDepth)}) {
    if (!status.ok()) return status;
  }
  PreparedWorkload prepared;
  prepared.plan.cpus = threads;
  MemcgSpec root;
  root.name = "root";
  prepared.plan.memcgs.push_back(root);
  if (workload.generator == Generator::kSweep) {
    PrepareSweep(workload, placement, threads, prepared);
  } else {
    PrepareChurn(workload, placement, threads, seed, prepared);
  }
  // Pages that sit on per-CPU free lists and in LRU batches cannot be allocated by others.
  const Pages slack(threads * (kPcpHigh + 2 * kPcpBatch));
  prepared.plan.memory = prepared.plan.memory + slack;
  const absl::Status fits = CheckRange("modelled memory (--region x workers), in pages:",
                                       prepared.plan.memory.n, 1, 2 * kMaxRegion);
  if (!fits.ok()) return fits;
  return prepared;
}

}  // namespace memsim
