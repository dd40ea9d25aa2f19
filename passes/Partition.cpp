// Fixes axis and grain on which the threads share out each stage. Every choice keeps an output
// element on one thread, so the cut never changes a bit.
#include "llvm/ADT/TypeSwitch.h"

#include "passes/Partitions.h"
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_PARTITION
#include "InfPasses.h.inc"

namespace {

/// Rows worked on between two passes over a thread's slice of a weight: 8 rows of 2880 f32 are
/// 92 KB and stay in a 512 KB L2 beside the panel being streamed.
constexpr int64_t linearRowTile = 8;

} // namespace

ir::PartitionAttr naturalPartition(Operation *op) {
  auto make = [&](ir::Axis axis, int64_t grain, int64_t rowTile) {
    return ir::PartitionAttr::get(op->getContext(), axis, grain, rowTile);
  };
  return llvm::TypeSwitch<Operation *, ir::PartitionAttr>(op)
      // A panel is 16 outputs; a thread's slice is whole panels.
      .Case<ir::LinearOp, ir::LmHeadOp, ir::ExpertUpOp, ir::ExpertDownOp>(
          [&](auto) { return make(ir::Axis::Outputs, 16, linearRowTile); })
      // Rope pairs the halves of a head: a head stays on one thread.
      .Case([&](ir::QkvOp o) { return make(ir::Axis::Outputs, o.getHeadDim(), linearRowTile); })
      .Case([&](ir::AttentionOp) { return make(ir::Axis::RowHeads, 1, 1); })
      // A few dozen outputs: cutting them would cost more than it gives.
      .Case<ir::RouterOp, ir::RouterTopKOp, ir::EmbeddingOp, ir::RmsNormOp, ir::SliceOp, ir::RopeOp,
            ir::KvAppendOp, ir::SwigluOp, ir::QuantizeActivationOp, ir::AddOp, ir::OutputRowsOp>(
          [&](auto) { return make(ir::Axis::Rows, 1, 1); })
      .Default(ir::PartitionAttr());
}

namespace {

struct PartitionPass : impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (op->hasAttr(ir::partitionAttrName))
        return; // set by hand
      if (ir::PartitionAttr partition = naturalPartition(op))
        op->setAttr(ir::partitionAttrName, partition);
    });
  }
};

} // namespace
} // namespace inf
