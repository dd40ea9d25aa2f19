// Decides the format each weight is packed to.
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_QUANTIZE
#include "InfPasses.h.inc"

namespace {

/// What `none` does: the stored format; vectors, and parts that differ, meet in f32, which holds
/// all of them exactly.
ir::Format keepStored(ir::WeightOp weight) {
  if (weight.getType().isVector())
    return ir::Format::F32;
  return weight.storedFormat().value_or(ir::Format::F32);
}

struct QuantizePass : impl::QuantizeBase<QuantizePass> {
  using QuantizeBase::QuantizeBase;

  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    if (policy != "none") {
      model.emitError() << "expected quantization policy none, found " << policy;
      return signalPassFailure();
    }
    for (auto weight : model.getBody().getOps<ir::WeightOp>())
      if (!weight.getFormat())
        weight.setFormat(keepStored(weight));
  }
};

} // namespace
} // namespace inf
