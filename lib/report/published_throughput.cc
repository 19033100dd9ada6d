#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/input/model_file.h"
#include "memsim/report/pft.h"

namespace memsim {

namespace {

using Column = PublishedThroughput::Column;

// Fields of the kPftTotals, in their order.
constexpr std::array<const char*, 3> kTotalFields = {"/user_s", "/system_s", "/elapsed_s"};

absl::Status ReadString(const ModelFile& file, const std::string& pointer, std::string* to) {
  auto text = file.String(pointer);
  if (text.ok()) *to = *std::move(text);
  return text.status();
}

// A number above zero: a rate, a time, a noise.
absl::StatusOr<double> Positive(const ModelFile& file, const std::string& pointer) {
  const auto number = file.Number(pointer);
  if (number.ok() && *number <= 0) {
    return file.Wrong(pointer, absl::StrCat(*number, "; valid: a number above 0"));
  }
  return number;
}

absl::Status ReadColumn(const ModelFile& file, const std::string& at, PublishedThroughput* published) {
  Column column;
  for (const auto& [field, to] :
       {std::pair{"/id", &column.id}, std::pair{"/title", &column.title},
        std::pair{"/kernel", &column.kernel}, std::pair{"/memcg", &column.memcg},
        std::pair{"/source", &column.source}}) {
    const absl::Status status = ReadString(file, at + field, to);
    if (!status.ok()) return status;
  }
  for (const Column& other : published->columns) {
    if (other.id != column.id) continue;
    return file.Wrong(at + "/id", absl::StrCat("'", column.id, "' is there twice"));
  }
  for (size_t i = 0; i < kTotalFields.size(); ++i) {
    if (!file.Has(at + kTotalFields[i])) continue;
    const auto seconds = Positive(file, at + kTotalFields[i]);
    if (!seconds.ok()) return seconds.status();
    column.totals[i] = *seconds;
  }
  published->columns.push_back(std::move(column));
  return absl::OkStatus();
}

absl::Status ReadCell(const ModelFile& file, const std::string& at, PublishedThroughput* published) {
  const auto id = file.String(at + "/id");
  if (!id.ok()) return id.status();
  const auto rate = Positive(file, at + "/rate");
  if (!rate.ok()) return rate.status();
  const std::vector<std::string> parts = absl::StrSplit(*id, '/');
  int clients = 0;
  const auto metric = std::find_if(kPftMetrics.begin(), kPftMetrics.end(), [&](const PftMetricInfo& one) {
    return parts.size() == 3 && one.id == parts[1];
  });
  const auto column =
      std::find_if(published->columns.begin(), published->columns.end(),
                   [&](const Column& one) { return one.id == parts[0]; });
  if (metric == kPftMetrics.end() || column == published->columns.end() ||
      !absl::SimpleAtoi(parts[2], &clients) || clients < 1) {
    return file.Wrong(at + "/id",
                      absl::StrCat("'", *id, "'; valid: COLUMN/faults_cpu/CLIENTS or "
                                   "COLUMN/faults_sec/CLIENTS with a column of /columns"));
  }
  if (!column->rates.emplace(std::pair{metric->metric, clients}, *rate).second) {
    return file.Wrong(at + "/id", absl::StrCat("'", *id, "' is there twice"));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<double> Column::Rate(PftMetric metric, int clients) const {
  const auto found = rates.find({metric, clients});
  if (found == rates.end()) return std::nullopt;
  return found->second;
}

std::string Column::CellId(PftMetric metric, int clients) const {
  return absl::StrCat(id, "/", kPftMetrics[static_cast<size_t>(metric)].id, "/", clients);
}

// A turned knob or another gate makes another kernel than the published one.
const Column* PublishedThroughput::Find(const Configuration& c) const {
  if (c.gate != c.kernel->default_gate || c.batch.has_value() || c.charge_first.has_value()) return nullptr;
  for (const Column& column : columns) {
    if (column.kernel == c.kernel->name && column.memcg == c.memcg()) return &column;
  }
  return nullptr;
}

bool PublishedThroughput::HasCell(absl::string_view id) const {
  for (const Column& column : columns) {
    for (const auto& [cell, rate] : column.rates) {
      if (column.CellId(cell.first, cell.second) == id) return true;
    }
  }
  return false;
}

absl::StatusOr<PublishedThroughput> LoadPublishedThroughput(absl::string_view name) {
  const auto file = ModelFile::Open("published", name);
  if (!file.ok()) return file.status();
  PublishedThroughput published;
  for (const auto& [field, to] :
       {std::pair{"/name", &published.name}, std::pair{"/machine", &published.machine},
        std::pair{"/model", &published.model}, std::pair{"/source", &published.source},
        std::pair{"/noise/source", &published.noise_source}}) {
    const absl::Status status = ReadString(*file, field, to);
    if (!status.ok()) return status;
  }
  const auto noise = Positive(*file, "/noise/percent");
  if (!noise.ok()) return noise.status();
  published.noise = *noise;
  for (const auto& [field, read] :
       {std::pair{"/columns", &ReadColumn}, std::pair{"/cells", &ReadCell}}) {
    const auto length = file->Length(field);
    if (!length.ok()) return length.status();
    for (size_t i = 0; i < *length; ++i) {
      const absl::Status status = read(*file, absl::StrCat(field, "/", i), &published);
      if (!status.ok()) return status;
    }
  }
  return published;
}

std::vector<PftCalibration> FindCalibratedCells(const std::vector<std::string>& texts,
                                                const PublishedThroughput& published) {
  std::vector<PftCalibration> calibrated;
  for (const std::string& text : texts) {
    const size_t before = calibrated.size();
    for (const absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" ,;()"), absl::SkipEmpty())) {
      if (published.HasCell(word)) calibrated.push_back({std::string(word), text});
    }
    if (calibrated.size() == before) calibrated.push_back({"", text});
  }
  return calibrated;
}

}  // namespace memsim
