// Norm, router product and top k become one stage that also gives the normed rows.
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_FUSEROUTER
#include "InfPasses.h.inc"

namespace {

void fuse(ir::RouterTopKOp top) {
  auto product = top.getLogits().getDefiningOp<ir::LinearOp>();
  if (!product || !product->hasOneUse() || product.getNorm() || product.getResidual() ||
      product.getScale() || product.getAddend() || product.getActivation())
    return;
  auto norm = product.getX().getDefiningOp<ir::RmsNormOp>();
  if (!norm || norm.getHeads() != 1)
    return;
  // The stage stands where the norm did: other readers of the normed rows come right after it.
  for (Value weight : {Value(product.getWeight()), product.getBias()})
    if (Operation *use = weight ? weight.getDefiningOp() : nullptr)
      if (!use->isBeforeInBlock(norm))
        return;
  OpBuilder builder(norm);
  auto router = builder.create<ir::RouterOp>(
      top.getLoc(),
      TypeRange{norm.getType(), top.getExperts().getType(), top.getWeights().getType()},
      norm.getX(), product.getWeight(), product.getBias(), norm.getWeight(), norm.getEpsAttr(),
      top.getKAttr(), top.getOverAllAttr());
  norm.replaceAllUsesWith(router.getNormed());
  top.getExperts().replaceAllUsesWith(router.getExperts());
  top.getWeights().replaceAllUsesWith(router.getWeights());
  top.erase();
  product.erase();
  norm.erase();
}

struct FuseRouterPass : impl::FuseRouterBase<FuseRouterPass> {
  void runOnOperation() override {
    getOperation().walk([](ir::RouterTopKOp top) { fuse(top); });
  }
};

} // namespace
} // namespace inf
