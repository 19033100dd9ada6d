#include "memsim/measure/places.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace memsim {

namespace {

// The replicas that an arm can run in.
absl::Span<const Kernel* const> ReplicasFor(const Configuration& arm, ReplicaSource source) {
  const bool turned = arm.batch.has_value() || arm.charge_first.has_value();
  return source == nullptr || turned ? absl::Span<const Kernel* const>() : source(*arm.kernel);
}

}  // namespace

absl::Status Places::Check(const Configuration& arm, ReplicaSource source) {
  if (!arm.replica.has_value()) return absl::OkStatus();
  const size_t all = ReplicasFor(arm, source).size();
  if (static_cast<size_t>(*arm.replica) <= all) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("replica ", *arm.replica, " of ", arm.kernel->name, "; valid: ",
                   all > 0 ? absl::StrCat("1 to ", all)
                           : "none, for this build or a configuration with batch or order has no replicas"));
}

Places::Places(const std::vector<const Configuration*>& arms, ReplicaSource source) {
  size_t fewest = SIZE_MAX;
  for (const Configuration* arm : arms) {
    arms_.push_back(*arm);
    sources_.push_back(ReplicasFor(*arm, source));
    fewest = std::min(fewest, sources_.back().size());
    if (!arm->replica.has_value()) continue;
    one_place_ = "replica= chose a place";
    arms_.back().kernel = sources_.back()[static_cast<size_t>(*arm->replica) - 1];
  }
  if (one_place_.empty() && fewest < 2) {
    one_place_ = source == nullptr || source(*arms_[0].kernel).empty() ? "this build has no replicas"
                                                                       : "batch and order have no replicas";
  }
  if (one_place_.empty()) replicas_ = fewest;
}

std::vector<const Configuration*> Places::Next(Random& random, int* replica) {
  if (sweep_.empty()) sweep_ = ShuffledOrder(replicas_, random);
  const size_t next = sweep_.back();
  sweep_.pop_back();
  *replica = static_cast<int>(next);
  std::vector<const Configuration*> arms;
  for (size_t arm = 0; arm < arms_.size(); ++arm) {
    if (replicas_ > 1) arms_[arm].kernel = sources_[arm][next];
    arms.push_back(&arms_[arm]);
  }
  return arms;
}

}  // namespace memsim
