// Residual additions and gated activations move into the end of the product before them.
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_FUSEEPILOGUE
#include "InfPasses.h.inc"

namespace {

/// add x, (product): the product adds x as it stores. The product must come after x's definition,
/// which it does when x is older in the block.
template <typename ProductOp> bool fuseResidual(ir::AddOp add, Value product, Value residual) {
  auto op = product.getDefiningOp<ProductOp>();
  if (!op || !product.hasOneUse() || op.getResidual())
    return false;
  // Rows that the product reads can't be updated in place while it runs.
  if (llvm::is_contained(op->getOperands(), residual))
    return false;
  if (Operation *definition = residual.getDefiningOp())
    if (!definition->isBeforeInBlock(op))
      return false;
  op.getResidualMutable().assign(residual);
  add.replaceAllUsesWith(product);
  add.erase();
  return true;
}

void fuse(ir::AddOp add) {
  Value lhs = add.getLhs(), rhs = add.getRhs();
  for (auto [product, residual] : {std::pair(rhs, lhs), std::pair(lhs, rhs)})
    if (fuseResidual<ir::LinearOp>(add, product, residual) ||
        fuseResidual<ir::ExpertDownOp>(add, product, residual))
      return;
}

void fuse(ir::SwigluOp swiglu) {
  auto product = swiglu.getX().getDefiningOp<ir::LinearOp>();
  // The activation acts before the residual, so a product that already adds one is too late.
  if (!product || !product->hasOneUse() || product.getActivation() || product.getResidual())
    return;
  product.setActivationAttr(swiglu.getActivationAttr());
  product.getResult().setType(swiglu.getType());
  swiglu.replaceAllUsesWith(product.getResult());
  swiglu.erase();
}

struct FuseEpiloguePass : impl::FuseEpilogueBase<FuseEpiloguePass> {
  void runOnOperation() override {
    getOperation().walk([](ir::SwigluOp swiglu) { fuse(swiglu); });
    getOperation().walk([](ir::AddOp add) { fuse(add); });
  }
};

} // namespace
} // namespace inf
