// Fixes axis and grain on which the threads share out each stage. Every choice keeps an output
// element on one thread, so the cut never changes a bit. Attention may be cut through its keys too:
// its bits are defined by chunks of keys, whoever computes them (codegen/KernelArgs.h).
#include "llvm/ADT/TypeSwitch.h"

#include "codegen/KernelArgs.h"
#include "passes/Partitions.h"
#include "passes/Passes.h"
#include "runtime/abi/WeightFormats.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_PARTITION
#include "InfPasses.h.inc"

namespace {

/// Rows worked on between two passes over a thread's slice of a weight. In f32, 8 rows of 2880 are
/// 92 KB and stay in a 512 KB L2 beside the panel being streamed; in q8, 128 rows are 460 KB and do
/// as well where the L2 has 1 MB, and the weights are read from memory a sixteenth as often; as
/// many bytes of bf16 are 64 rows.
constexpr int64_t floatRowTile = 8, bf16RowTile = 64, q8RowTile = 128;

int64_t rowTileFor(Value x) {
  if (ir::isBf16(x))
    return bf16RowTile;
  return ir::isQ8(x) ? q8RowTile : floatRowTile;
}

/// A panel is 16 outputs; a thread's slice is whole panels, and whole blocks of a q8 result, or
/// whole cache lines of a bf16 one.
int64_t outputGrain(Value result) {
  return ir::isRounded(result) ? ir::q8Block : int64_t(panelRows);
}

/// Up to so many rows a step may leave threads without a (row, kv head); partial results of more
/// would take memory that few machines have the threads for.
constexpr int64_t splitRows = 8;

/// Most keys that a row of this attention has.
int64_t mostKeys(ir::AttentionOp op) {
  auto model = op->getParentOfType<ir::ModelOp>();
  auto group = model.lookupSymbol<ir::KvGroupOp>(op.getGroupAttr());
  int64_t context = int64_t(model.getMaxContext()), window = int64_t(group.getWindow());
  return window ? std::min(window, context) : context;
}

} // namespace

int64_t mostChunks(ir::AttentionOp op) {
  int64_t context = int64_t(op->getParentOfType<ir::ModelOp>().getMaxContext());
  int64_t ofContext = (context + attentionChunkKeys - 1) / attentionChunkKeys;
  // Keys of a window begin anywhere in a chunk.
  return std::min(ofContext, (mostKeys(op) + 2 * attentionChunkKeys - 2) / attentionChunkKeys);
}

ir::PartitionAttr naturalPartition(Operation *op) {
  auto make = [&](ir::Axis axis, int64_t grain, int64_t rowTile, int64_t chunkKeys = 0,
                  int64_t mostRows = 0) {
    return ir::PartitionAttr::get(op->getContext(), axis, grain, rowTile, chunkKeys, mostRows);
  };
  return llvm::TypeSwitch<Operation *, ir::PartitionAttr>(op)
      .Case<ir::LinearOp, ir::LmHeadOp, ir::ExpertUpOp, ir::ExpertDownOp>([&](auto o) {
        return make(ir::Axis::Outputs, outputGrain(o.getResult()), rowTileFor(o.getX()));
      })
      // Rope pairs the halves of a head: a head stays on one thread. Where a head is no whole
      // number of panels, two are.
      .Case([&](ir::QkvOp o) {
        int64_t headDim = o.getHeadDim();
        bool wholePanels = headDim % int64_t(panelRows) == 0;
        return make(ir::Axis::Outputs, wholePanels ? headDim : 2 * headDim, rowTileFor(o.getX()));
      })
      // The keys of a chunk or fewer, window or context, aren't worth a split.
      .Case([&](ir::AttentionOp o) {
        bool splits = mostKeys(o) > attentionChunkKeys;
        return splits ? make(ir::Axis::RowHeads, 1, 1, attentionChunkKeys, splitRows)
                      : make(ir::Axis::RowHeads, 1, 1);
      })
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
