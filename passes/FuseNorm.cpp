// A norm whose only reader is a product becomes that product's prologue.
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_FUSENORM
#include "InfPasses.h.inc"

namespace {

/// Moves the norm that feeds `product` into it.
void fuse(ir::LinearOp product) {
  auto norm = product.getX().getDefiningOp<ir::RmsNormOp>();
  // A second reader would need the normed rows as a buffer of their own anyway.
  if (!norm || norm.getHeads() != 1 || !norm->hasOneUse() || product.getNorm())
    return;
  product.getXMutable().assign(norm.getX());
  product.getNormMutable().assign(norm.getWeight());
  product.setEpsAttr(norm.getEpsAttr());
  norm.erase();
}

struct FuseNormPass : impl::FuseNormBase<FuseNormPass> {
  void runOnOperation() override {
    getOperation().walk([](ir::LinearOp product) { fuse(product); });
  }
};

} // namespace
} // namespace inf
