// The qkv product norms and rotates the heads of its q and k and stores its k and v itself.
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_FUSEROPEAPPEND
#include "InfPasses.h.inc"

namespace {

/// rope(slice(product)), or rope(norm(slice(product))).
struct RotatedSlice {
  ir::RopeOp rope;
  ir::RmsNormOp norm; ///< of each head; null: none
  ir::SliceOp slice;
};

std::optional<RotatedSlice> rotatedSlice(Value value) {
  RotatedSlice found;
  found.rope = value.getDefiningOp<ir::RopeOp>();
  if (!found.rope)
    return std::nullopt;
  value = found.rope.getX();
  found.norm = value.getDefiningOp<ir::RmsNormOp>();
  if (found.norm) {
    if (found.norm.getHeads() != found.rope.getHeads() || !found.norm->hasOneUse())
      return std::nullopt;
    value = found.norm.getX();
  }
  found.slice = value.getDefiningOp<ir::SliceOp>();
  if (!found.slice || !found.slice->hasOneUse())
    return std::nullopt;
  return found;
}

/// Both are normed alike, or neither. The weights are the block's arguments: they are there
/// wherever the fused op stands.
bool sameNorms(RotatedSlice q, RotatedSlice k) {
  if (!q.norm || !k.norm)
    return !q.norm && !k.norm;
  return q.norm.getEps() == k.norm.getEps() && isa<BlockArgument>(q.norm.getWeight()) &&
         isa<BlockArgument>(k.norm.getWeight());
}

/// The fused op knows the order q, k, v of one attention, and nothing else of an epilogue.
bool isQkv(ir::LinearOp product, ir::AttentionOp attention, RotatedSlice q, RotatedSlice k,
           ir::SliceOp v) {
  int64_t qFeatures = ir::featuresOf(q.slice), kFeatures = ir::featuresOf(k.slice);
  return q.slice.getBegin() == 0 && int64_t(k.slice.getBegin()) == qFeatures &&
         int64_t(v.getBegin()) == qFeatures + kFeatures &&
         ir::featuresOf(product) == qFeatures + 2 * kFeatures &&
         q.rope.getHeadDim() == attention.getHeadDim() &&
         k.rope.getHeadDim() == attention.getHeadDim() && !product.getResidual() &&
         !product.getScale() && !product.getAddend() && !product.getActivation();
}

void fuse(ir::AttentionOp attention, ir::KvAppendOp append) {
  // The product is made where the append stands, and q must be ready for its reader.
  if (attention.getGroup() != append.getGroup() || !append->isBeforeInBlock(attention))
    return;
  auto q = rotatedSlice(attention.getQ()), k = rotatedSlice(append.getK());
  auto v = append.getV().getDefiningOp<ir::SliceOp>();
  if (!q || !k || !v || q->rope.getTable() != k->rope.getTable())
    return;
  auto product = q->slice.getX().getDefiningOp<ir::LinearOp>();
  if (!product || k->slice.getX() != product || v.getX() != product || !sameNorms(*q, *k) ||
      !isQkv(product, attention, *q, *k, v))
    return;
  // Nothing else may read what no longer becomes a buffer.
  if (!llvm::hasNItems(product->getUses(), 3) || !q->rope->hasOneUse() || !k->rope->hasOneUse() ||
      !v->hasOneUse())
    return;

  OpBuilder builder(append);
  auto fused = builder.create<ir::QkvOp>(
      product.getLoc(), attention.getQ().getType(), product.getX(), product.getWeight(),
      product.getBias(), product.getNorm(), q->norm ? q->norm.getWeight() : Value(),
      k->norm ? k->norm.getWeight() : Value(), product.getEpsAttr(),
      q->norm ? q->norm.getEpsAttr() : FloatAttr(), attention.getHeadsAttr(),
      attention.getKvHeadsAttr(), attention.getHeadDimAttr(), q->rope.getTableAttr(),
      append.getGroupAttr());
  attention.getQMutable().assign(fused.getQ());
  append.erase();
  for (Operation *op : {q->rope.getOperation(), k->rope.getOperation(), q->norm.getOperation(),
                        k->norm.getOperation(), q->slice.getOperation(), k->slice.getOperation(),
                        v.getOperation(), product.getOperation()})
    if (op)
      op->erase();
}

struct FuseRopeAppendPass : impl::FuseRopeAppendBase<FuseRopeAppendPass> {
  void runOnOperation() override {
    for (auto block : getOperation().getBody().getOps<ir::BlockOp>()) {
      auto attentions = block.getBody().getOps<ir::AttentionOp>();
      auto appends = block.getBody().getOps<ir::KvAppendOp>();
      if (!attentions.empty() && !appends.empty())
        fuse(*attentions.begin(), *appends.begin());
    }
  }
};

} // namespace
} // namespace inf
