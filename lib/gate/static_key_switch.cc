#include "memsim/gate/static_key_switch.h"

#include <mutex>

namespace memsim {

namespace internal {
DEFINE_STATIC_KEY_TRUE(memory_cgrp_subsys_enabled_key);
DEFINE_STATIC_KEY_TRUE(memcg_ever_enabled_key);
}  // namespace internal

namespace {

// Held for as long as a world executes.
constinit std::mutex turn;
// Held for a flip; protects every switch's words and `holder`.
constinit std::mutex flip;
constinit const StaticKeySwitch* holder = nullptr;

absl::Status SetKey(static_key::static_key_true* key, bool on) {
  const static_key::Result result =
      on ? static_key::static_branch_enable(key) : static_key::static_branch_disable(key);
  return result.ok() ? absl::OkStatus() : absl::UnavailableError(result.message());
}

}  // namespace

// The sticky key first when going on: whoever sees the switch on must see it set.
absl::Status StaticKeySwitch::Apply() const {
  const absl::Status ever = SetKey(keys_.ever, ever_);
  return ever.ok() ? SetKey(keys_.enabled, on_) : ever;
}

absl::Status StaticKeySwitch::Set(bool on) {
  const std::lock_guard<std::mutex> hold(flip);
  const bool was_on = on_, was_ever = ever_;
  on_ = on;
  ever_ |= on;
  if (holder != this) return absl::OkStatus();
  const absl::Status status = Apply();
  // The sticky key may stay set: that is only slower.
  if (!status.ok()) {
    on_ = was_on;
    ever_ = was_ever || static_key::static_key_enabled(keys_.ever);
  }
  return status;
}

StaticKeySwitch::Turn::Turn(StaticKeySwitch& owner) {
  turn.lock();
  const std::lock_guard<std::mutex> hold(flip);
  holder = &owner;
  status_ = owner.Apply();
}

StaticKeySwitch::Turn::~Turn() {
  {
    const std::lock_guard<std::mutex> hold(flip);
    holder = nullptr;
  }
  turn.unlock();
}

}  // namespace memsim
