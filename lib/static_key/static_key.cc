#include "memsim/static_key/static_key.h"

#include <climits>
#include <cstdio>
#include <utility>

#include "lib/static_key/registry.h"

namespace memsim::static_key {

using internal::Registry;

Result Result::Error(std::string message) {
  Result result;
  result.message_ = std::move(message);
  result.seen_ = false;
  return result;
}

Result::Result(Result&& other) noexcept
    : message_(std::move(other.message_)), seen_(std::exchange(other.seen_, true)) {}

Result& Result::operator=(Result&& other) noexcept {
  if (this == &other) return *this;
  Report();
  message_ = std::move(other.message_);
  seen_ = std::exchange(other.seen_, true);
  return *this;
}

Result::~Result() { Report(); }

void Result::Report() const {
  if (!seen_) std::fprintf(stderr, "static_key: %s\n", message_.c_str());
}

bool Result::ok() const {
  seen_ = true;
  return message_.empty();
}

const std::string& Result::message() const {
  seen_ = true;
  return message_;
}

Result Inc(Key* key) {
  return Registry::Get().Update(key, [](int count, std::string* error) {
    if (count == INT_MAX) *error = "static_branch_inc: the key has 2147483647 users already";
    return count == INT_MAX ? count : count + 1;
  });
}

Result Dec(Key* key) {
  return Registry::Get().Update(key, [](int count, std::string* error) {
    if (count <= 0) *error = "static_branch_dec: the key has no users";
    return count - 1;
  });
}

Result Enable(Key* key) {
  return Registry::Get().Update(key, [](int count, std::string* error) {
    if (count > 1) *error = "static_branch_enable: the key is counted and has several users";
    return count > 0 ? count : 1;
  });
}

Result Disable(Key* key) {
  return Registry::Get().Update(key, [](int count, std::string* error) {
    if (count > 1) *error = "static_branch_disable: the key is counted and has several users";
    return count > 1 ? count : 0;
  });
}

const Mechanism& mechanism() { return Registry::Get().GetMechanism(); }
Counters counters() { return Registry::Get().GetCounters(); }

}  // namespace memsim::static_key
