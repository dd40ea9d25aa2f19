// A mixture of experts becomes its two stages: between them every thread needs what the others
// made, so they are two buffers and two places to cut the work.
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_EXPANDMOE
#include "InfPasses.h.inc"

namespace {

void expand(ir::MoeOp moe) {
  OpBuilder builder(moe);
  Type f32 = builder.getF32Type();
  int64_t k = ir::featuresOf(moe.getExperts());
  auto pairs = [&](int64_t features) {
    return RankedTensorType::get({ShapedType::kDynamic, k, features}, f32);
  };
  int64_t intermediate = moe.getDown().getType().getColumns();
  Value up = builder.create<ir::ExpertUpOp>(moe.getLoc(), pairs(intermediate), moe.getX(),
                                            moe.getExperts(), moe.getGateUp(), moe.getGateUpBias(),
                                            moe.getActivationAttr());
  auto down = builder.create<ir::ExpertDownOp>(
      moe.getLoc(), TypeRange{moe.getType(), pairs(ir::featuresOf(moe.getResult()))}, up,
      moe.getExperts(), moe.getWeights(), moe.getDown(), moe.getDownBias(), Value());
  moe.replaceAllUsesWith(down.getResult());
  moe.erase();
}

struct ExpandMoePass : impl::ExpandMoeBase<ExpandMoePass> {
  void runOnOperation() override {
    getOperation().walk([](ir::MoeOp moe) { expand(moe); });
  }
};

} // namespace
} // namespace inf
