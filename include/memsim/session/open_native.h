// Maps a gate's name to its type for the native machine. Two translation units per kernel: with the
// kernel's own constants, and with knobs that are read at run time.
#ifndef MEMSIM_SESSION_OPEN_NATIVE_H_
#define MEMSIM_SESSION_OPEN_NATIVE_H_

#include <memory>
#include <utility>
#include <vector>

#include "memsim/session/native_session.h"
#include "memsim/internal/compiler.h"

namespace memsim {

template <class K, class Knobs>
absl::StatusOr<std::unique_ptr<Session>> OpenNative(const SessionConfig& config) {
  using M = Native<K::kConfig>;
  auto rest = RestFor(config);
  if (!rest.ok()) return rest.status();
  const auto open = [&]<class Gate>(Gate) -> std::unique_ptr<Session> {
    return std::make_unique<NativeSession<Bundle<K, M, Gate, Knobs>>>(config, *std::move(rest));
  };
  if (!config.config.memcg) return open(CompiledOut());
  if (config.gate == GateKind::kConstant) {
    return config.enabled ? open(ConstantGate<true>()) : open(ConstantGate<false>());
  }
  // A sanitizer build carries each model's default gate and `constant` only; see NativeHasGate().
  constexpr bool kAll = !MEMSIM_SANITIZED;
  if constexpr (kAll || K::kDefaultGate == GateKind::kFlag) {
    if (config.gate == GateKind::kFlag) return open(FlagGate());
  }
  if constexpr (kAll || K::kDefaultGate == GateKind::kAtomic) {
    if (config.gate == GateKind::kAtomic) return open(AtomicGate());
  }
  if constexpr (kAll || K::kDefaultGate == GateKind::kStaticKey) {
    if (config.gate == GateKind::kStaticKey) return open(StaticKeyGate());
  }
  if constexpr (kAll || K::kDefaultGate == GateKind::kIndirect) {
    if (config.gate == GateKind::kIndirect) return open(IndirectGate());
  }
  return absl::UnimplementedError("this build has no such gate on native");
}

}  // namespace memsim

#endif  // MEMSIM_SESSION_OPEN_NATIVE_H_
