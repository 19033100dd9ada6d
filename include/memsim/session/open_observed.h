// Tracing and simulated: the gate and the knobs are run-time values, their cost is modelled.
#ifndef MEMSIM_SESSION_OPEN_OBSERVED_H_
#define MEMSIM_SESSION_OPEN_OBSERVED_H_

#include <memory>
#include <vector>

#include "memsim/session/openers.h"
#include "memsim/session/simulated_session.h"
#include "memsim/session/tracing_session.h"

namespace memsim {

template <class K, class M>
using Observed = Bundle<K, M, RuntimeGate, DynamicKnobs>;

template <class K>
SessionOr OpenObserved<K>::OpenTracing(const SessionConfig& config) {
  return std::make_unique<TracingSession<Observed<K, Tracing>>>(config);
}

template <class K>
SessionOr OpenObserved<K>::OpenSimulated(const SessionConfig& config) {
  return std::make_unique<SimulatedSession<Observed<K, Simulated>>>(config);
}

template <class Struct>
StructInfo DescribeStruct() {
  static constexpr auto kFields = Struct::Fields();
  return {Struct::kTypeName, sizeof(Struct), kFields};
}
template <class... Structs>
std::vector<StructInfo> DescribeStructs() {
  return {DescribeStruct<Structs>()...};
}

template <class K>
std::vector<StructInfo> OpenObserved<K>::Layout() {
  using M = Tracing;
  using T = Observed<K, M>;
  using Memcg = typename T::Memcg;
  return DescribeStructs<Memcg, typename Memcg::StatCpu, MemCgroupPerZone<M>, Css<M>,
                         PageCounter<M>, typename T::Stock, typename T::Page,
                         Pagevec<M, typename T::Page>, MmStruct<M>, TaskStruct<M>, CssSet<M>,
                         Globals<T>, Zone<M>, ThresholdAry<M>>();
}

}  // namespace memsim

#endif  // MEMSIM_SESSION_OPEN_OBSERVED_H_
