// Products of weights in block formats read their rows in int8.
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include "passes/BlockWeights.h"
#include "passes/KernelUse.h"
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_QUANTIZEACTIVATIONS
#include "InfPasses.h.inc"

namespace {

/// The rows that the product of `op` reads as they are; null where there is none, or a norm comes
/// between.
OpOperand *inputOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, OpOperand *>(op)
      .Case<ir::LinearOp, ir::QkvOp>(
          [](auto o) { return o.getNorm() ? nullptr : &o.getXMutable(); })
      .Case<ir::ExpertUpOp, ir::ExpertDownOp, ir::LmHeadOp>([](auto o) { return &o.getXMutable(); })
      .Default(static_cast<OpOperand *>(nullptr));
}

/// Every weight behind the product of `op` is in a block format.
bool readsBlocks(ir::ModelOp model, Operation *op) {
  std::vector<ir::WeightOp> weights = weightsBehind(model, kernelWeight(op));
  return !weights.empty() && llvm::all_of(weights, [](ir::WeightOp weight) {
    return weight.getFormat() && ir::isBlockFormat(*weight.getFormat());
  });
}

struct QuantizeActivationsPass : impl::QuantizeActivationsBase<QuantizeActivationsPass> {
  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    if (!model.getActivations()) {
      model.emitError() << "expected activations, q8 or f32, on the model; run inf-quantize";
      return signalPassFailure();
    }
    if (model.getActivations() == "f32")
      return;
    llvm::DenseMap<Value, Value> quantized; // one for all readers of a value
    model.walk([&](Operation *op) {
      OpOperand *input = inputOf(op);
      if (!input || ir::isQuantized(input->get()) || !readsBlocks(model, op))
        return;
      Value &q8 = quantized[input->get()];
      if (!q8)
        q8 = quantize(input->get());
      input->set(q8);
    });
  }

  static Value quantize(Value x) {
    OpBuilder builder(x.getContext());
    builder.setInsertionPointAfterValue(x);
    return builder.create<ir::QuantizeActivationOp>(x.getLoc(), ir::quantizedType(x.getType()), x);
  }
};

} // namespace
} // namespace inf
