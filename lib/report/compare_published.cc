// What was published in 2015 of the difference that two arms make, beside what is measured or simulated.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/report/compare_parts.h"
#include "lib/report/table.h"
#include "memsim/report/comparison.h"
#include "memsim/report/pft.h"

namespace memsim {

namespace {

using Difference = ComparePublished::Difference;

// ns a fault by the first column of this kernel and memcg.
std::optional<double> ByThroughput(const PublishedThroughput& published, const std::string& kernel,
                                   const std::string& memcg) {
  for (const PublishedThroughput::Column& column : published.columns) {
    if (column.kernel != kernel || column.memcg != memcg) continue;
    if (const auto rate = column.Rate(PftMetric::kFaultsPerCpu, 1)) return 1e9 / *rate;
  }
  return std::nullopt;
}

std::optional<double> BySamples(const PublishedProfile& published, const std::string& kernel,
                                const std::string& memcg) {
  for (const PublishedProfile::Column& column : published.columns) {
    if (column.kernel == kernel && column.memcg == memcg) return column.total / 100 * column.ns_per_fault;
  }
  return std::nullopt;
}

std::optional<double> Minus(std::optional<double> second, std::optional<double> first) {
  if (!second.has_value() || !first.has_value()) return std::nullopt;
  return *second - *first;
}

// One kernel, one client, and only the memcg differs.
bool Comparable(const Configuration& first, const Configuration& second,
                const PublishedThroughput& published) {
  const auto known = [&](const Configuration& c) {
    return c.threads == 1 && c.build == c.kernel->build && published.Find(c) != nullptr;
  };
  return first.kernel == second.kernel && first.memcg() != second.memcg() && known(first) && known(second);
}

}  // namespace

absl::Status AddPublished(CompareResult& result) {
  if (!Timed(result)) return absl::OkStatus();
  const auto throughput = LoadPublishedThroughput("pft-throughput-2015");
  if (!throughput.ok()) return throughput.status();
  const auto profile = LoadPublishedProfile("pft-profile-2015");
  if (!profile.ok()) return profile.status();
  const Configuration& first = result.arms[0].configuration;
  for (CompareArm& arm : result.arms) {
    const Configuration& second = arm.configuration;
    if (!Comparable(first, second, *throughput)) continue;
    ComparePublished& published = arm.published;
    published.machine = throughput->machine;
    published.model = throughput->model;
    published.source = throughput->source;
    const std::string ours(first.kernel->name);
    published.noise = throughput->noise / 100 * *ByThroughput(*throughput, ours, first.memcg());
    std::vector<std::string> kernels = {ours};
    for (const PublishedThroughput::Column& column : throughput->columns) {
      if (std::find(kernels.begin(), kernels.end(), column.kernel) == kernels.end()) {
        kernels.push_back(column.kernel);
      }
    }
    for (const std::string& kernel : kernels) {
      const Difference one = {kernel,
                              Minus(ByThroughput(*throughput, kernel, second.memcg()),
                                    ByThroughput(*throughput, kernel, first.memcg())),
                              Minus(BySamples(*profile, kernel, second.memcg()),
                                    BySamples(*profile, kernel, first.memcg()))};
      if (one.throughput.has_value() || one.samples.has_value()) published.differences.push_back(one);
    }
  }
  return absl::OkStatus();
}

std::string PublishedLines(const CompareResult& r) {
  std::string text;
  for (size_t i = 1; i < r.arms.size(); ++i) {
    const ComparePublished& published = r.arms[i].published;
    if (published.differences.empty()) continue;
    std::vector<std::string> kernels;
    for (const Difference& one : published.differences) {
      std::vector<std::string> ways;
      if (one.throughput) ways.push_back(absl::StrFormat("%+.1f by throughput", *one.throughput));
      if (one.samples) ways.push_back(absl::StrFormat("%+.1f by the controller's samples", *one.samples));
      kernels.push_back(absl::StrCat(one.kernel, " ", absl::StrJoin(ways, ", ")));
    }
    const Configuration& c = r.arms[i].configuration;
    const bool same_machine = c.machine != nullptr && c.machine->given == published.model;
    absl::StrAppend(
        &text,
        Wrap(absl::StrCat(
                 "published, ", ArmLetter(i),
                 " minus A, ns a fault of pft with one client: ", absl::StrJoin(kernels, "; "),
                 "; equal kernels differed by ", Fixed(published.noise, 1), ". ",
                 same_machine ? "The machine" : "Another machine", ": ", published.machine),
             kColumns, ""));
  }
  return text;
}

}  // namespace memsim
