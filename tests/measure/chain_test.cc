#include "lib/measure/chain.h"

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace memsim {
namespace {

class Listed : public OperationStream {
 public:
  explicit Listed(std::vector<Operation> operations) : operations_(std::move(operations)) {}
  bool Next(Operation* op) override {
    if (at_ == operations_.size()) return false;
    *op = operations_[at_++];
    return true;
  }
  void Reset() override { at_ = 0; }

 private:
  std::vector<Operation> operations_;
  size_t at_ = 0;
};

Operation Op(OpKind kind, uint64_t vpn, int64_t pages) {
  Operation op;
  op.kind = kind;
  op.vpn = vpn;
  op.pages = Pages(pages);
  return op;
}

// 70 faults and their unmap, twice. Expect the faults in pieces of 32, 32 and 6, and the unmap whole.
TEST(ChainedStreamTest, CutsFaultsAndNothingElse) {
  ChainedStream stream(std::make_unique<Listed>(std::vector<Operation>{Op(OpKind::kFault, 5, 70),
                                                                       Op(OpKind::kUnmap, 5, 70)}),
                       3);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::pair<uint64_t, int64_t>> pieces;
    Operation op;
    while (stream.Next(&op)) pieces.push_back({op.vpn, op.pages.n});
    EXPECT_EQ(pieces, (std::vector<std::pair<uint64_t, int64_t>>{{5, 32}, {37, 32}, {69, 6}, {5, 70}}));
    stream.Reset();
  }
}

}  // namespace
}  // namespace memsim
