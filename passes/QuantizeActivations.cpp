// Products of weights in block formats read their rows in int8, those of bf16 weights theirs in
// bf16; attention multiplies keys and values of bf16 in bf16.
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

/// A router's choice is a comparison, which the smallest error can turn, and its matrix is small.
bool feedsRouter(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) { return isa<ir::RouterTopKOp>(user); });
}

/// The form in which the product of `op` reads `x`: its type where that is f32.
RankedTensorType formOf(ir::ModelOp model, Operation *op, Value x) {
  std::vector<ir::WeightOp> weights = weightsBehind(model, kernelWeight(op));
  auto all = [&](auto &&holds) {
    return !weights.empty() && llvm::all_of(weights, [&](ir::WeightOp weight) {
      return weight.getFormat() && holds(*weight.getFormat());
    });
  };
  if (all([](ir::Format format) { return ir::isBlockFormat(format); }))
    return model.getActivations() == "mxint8" &&
                   all([](ir::Format format) { return format == ir::Format::MXFP4; })
               ? ir::mxint8Type(x.getType())
               : ir::q8Type(x.getType());
  if (model.getActivations() == "bf16" && !feedsRouter(op) &&
      all([](ir::Format format) { return format == ir::Format::BF16; }))
    return ir::bf16Type(x.getType());
  return cast<RankedTensorType>(x.getType());
}

struct QuantizeActivationsPass : impl::QuantizeActivationsBase<QuantizeActivationsPass> {
  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    if (!model.getActivations()) {
      model.emitError()
          << "expected activations (f32, q8, mxint8 or bf16) on the model; run inf-quantize";
      return signalPassFailure();
    }
    if (model.getActivations() == "f32")
      return;
    llvm::DenseMap<std::pair<Value, Type>, Value> rounded; // one for all readers of a value
    model.walk([&](Operation *op) {
      if (auto attention = dyn_cast<ir::AttentionOp>(op))
        return chooseDots(model, attention);
      OpOperand *input = inputOf(op);
      if (!input || ir::isRounded(input->get()))
        return;
      RankedTensorType form = formOf(model, op, input->get());
      if (form == input->get().getType())
        return;
      Value &made = rounded[{input->get(), form}];
      if (!made)
        made = round(input->get(), form);
      input->set(made);
    });
  }

  static void chooseDots(ir::ModelOp model, ir::AttentionOp attention) {
    auto group = model.lookupSymbol<ir::KvGroupOp>(attention.getGroupAttr());
    if (!attention.getDots() && group.getElement() == "bf16")
      attention.setDots("bf16");
  }

  static Value round(Value x, RankedTensorType form) {
    OpBuilder builder(x.getContext());
    builder.setInsertionPointAfterValue(x);
    return builder.create<ir::QuantizeActivationOp>(x.getLoc(), form, x);
  }
};

} // namespace
} // namespace inf
