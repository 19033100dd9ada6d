// What a user writes for the columns and clients of the pft table.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "memsim/report/pft.h"

namespace memsim {

namespace {

// The three kernels of the second series of 2015: vanilla, enabled, disabled.
constexpr const char* kSecondSeries[] = {"v4.0:root", "v4.0-chargefirst:root", "v4.0-chargefirst:disabled"};

constexpr int kMostClients = 8;  // of the default list

}  // namespace

std::string PftRowName(PftMetric metric, int clients) {
  return absl::StrCat(kPftMetrics[static_cast<size_t>(metric)].name, "-", clients);
}

std::string PftColumnName(const Configuration& configuration) {
  return absl::StrCat(configuration.kernel->name, ":", configuration.memcg(), ":",
                      GateName(configuration.gate));
}

absl::StatusOr<std::vector<int>> ParsePftClients(absl::string_view text, int cpus) {
  const absl::Status wrong = absl::InvalidArgumentError(
      absl::StrCat("--clients '", text, "'; valid: numbers from 1 to ", cpus,
                   " (the CPUs of the machine), each once, as in 1,3,5"));
  std::vector<int> clients;
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    int n = 0;
    if (!absl::SimpleAtoi(word, &n) || n < 1 || n > cpus) return wrong;
    if (std::find(clients.begin(), clients.end(), n) != clients.end()) return wrong;
    clients.push_back(n);
  }
  return clients;
}

std::vector<int> DefaultPftClients(int cpus) {
  const int most = std::min(cpus, kMostClients);
  std::vector<int> clients;
  for (int n = 1; n <= most; n += 2) clients.push_back(n);
  if (clients.back() != most) clients.push_back(most);
  return clients;
}

absl::StatusOr<std::vector<Configuration>> ParsePftColumns(const std::vector<std::string>& texts,
                                                           const ConfigurationText& shared) {
  std::vector<std::string> wanted = texts;
  if (wanted.empty()) wanted.assign(std::begin(kSecondSeries), std::end(kSecondSeries));
  std::vector<Configuration> columns;
  for (const std::string& text : wanted) {
    std::vector<std::string> parts = absl::StrSplit(text, ':');
    // The colon of depth:N is not one between parts.
    if (parts.size() > 2 && parts[1] == "depth") {
      parts[1] = absl::StrCat(parts[1], ":", parts[2]);
      parts.erase(parts.begin() + 2);
    }
    const bool empty = std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); });
    if (parts.size() > 3 || empty) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--column '", text, "'; valid: KERNEL[:MEMCG[:GATE]], as in v4.0:depth:1 or v4.4:disabled:flag"));
    }
    ConfigurationText column = shared;
    column.kernel = parts[0];
    if (parts.size() > 1) column.memcg = parts[1];
    if (parts.size() > 2) column.gate = parts[2];
    auto configuration = Resolve(column);
    if (!configuration.ok()) return configuration.status();
    columns.push_back(*std::move(configuration));
  }
  return columns;
}

}  // namespace memsim
