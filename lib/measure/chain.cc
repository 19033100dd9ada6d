#include "lib/measure/chain.h"

#include <algorithm>

#include "memsim/internal/compiler.h"

namespace memsim {

void ExecuteChain(int64_t multiplies) {
  uint64_t value = 3;
  internal::WaitForEarlierInstructions();
  for (int64_t i = 0; i < multiplies; ++i) {
    value *= value;
    asm volatile("" : "+r"(value));  // nothing is known of it, so the next one has to wait
  }
  internal::WaitForEarlierInstructions();
}

bool ChainedStream::Next(Operation* op) {
  if (rest_.pages.n == 0) {
    if (!stream_->Next(op)) return false;
    if (op->kind != OpKind::kFault) return true;
    rest_ = *op;
  }
  ExecuteChain(multiplies_);
  *op = rest_;
  op->pages.n = std::min(rest_.pages.n, kChainPages);
  rest_.vpn += static_cast<uint64_t>(op->pages.n);
  rest_.pages.n -= op->pages.n;
  return true;
}

void ChainedStream::Reset() {
  rest_ = Operation();
  stream_->Reset();
}

}  // namespace memsim
