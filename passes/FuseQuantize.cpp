// What makes rows that are only read rounded, in int8 or bf16, stores them so.
#include "llvm/ADT/TypeSwitch.h"

#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_FUSEQUANTIZE
#include "InfPasses.h.inc"

namespace {

/// Whether the stage that makes `x` can store it as `form`: for q8 it must have whole blocks of 32
/// features of a row together on one thread.
bool canStore(OpResult x, Type form) {
  return llvm::TypeSwitch<Operation *, bool>(x.getOwner())
      .Case<ir::RmsNormOp, ir::ExpertUpOp>([](auto) { return true; })
      .Case([&](ir::RouterOp router) { return x == router.getNormed(); })
      // A residual is updated in place, in f32.
      .Case([](ir::LinearOp product) { return !product.getResidual(); })
      .Case([&](ir::AttentionOp attention) {
        int64_t together = attention.getHeads() / attention.getKvHeads() * attention.getHeadDim();
        return ir::isBf16RowsOf(form, 1) || together % ir::q8Block == 0;
      })
      .Default(false);
}

void fuse(ir::QuantizeActivationOp quantize) {
  auto x = dyn_cast<OpResult>(quantize.getX());
  // Another reader would need the f32 rows as a buffer of their own anyway.
  if (!x || !x.hasOneUse() || !canStore(x, quantize.getType()))
    return;
  x.setType(quantize.getType());
  quantize.replaceAllUsesWith(Value(x));
  quantize.erase();
}

struct FuseQuantizePass : impl::FuseQuantizeBase<FuseQuantizePass> {
  void runOnOperation() override {
    getOperation().walk([](ir::QuantizeActivationOp quantize) { fuse(quantize); });
  }
};

} // namespace
} // namespace inf
