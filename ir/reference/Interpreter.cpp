#include "ir/reference/Interpreter.h"

#include "llvm/ADT/TypeSwitch.h"

#include "ir/reference/Evaluate.h"

using namespace mlir;

namespace inf::ir {
namespace {

class Interpreter {
public:
  Interpreter(ModelOp modelOp, WeightReader &reader, const std::vector<int32_t> &tokenIds,
              const std::vector<int64_t> &outputRows)
      : model(modelOp), context(modelOp, reader, tokenIds, outputRows) {}

  ReferenceResult run() {
    ReferenceResult result;
    StepOp step = *model.getBody().getOps<StepOp>().begin();
    for (Operation &op : step.getBody().front()) {
      if (auto layer = dyn_cast<LayerOp>(op)) {
        runLayer(layer);
        result.layers.push_back(context.at(layer.getResult()));
      } else if (auto yield = dyn_cast<YieldOp>(op)) {
        result.hidden = context.at(yield.getOperand(0));
        result.logits = context.at(yield.getOperand(1));
      } else {
        evaluate(context, &op);
        if (auto embedding = dyn_cast<EmbeddingOp>(op))
          result.layers.push_back(context.at(embedding.getResult()));
      }
    }
    return result;
  }

private:
  void runLayer(LayerOp layer) {
    auto block = model.lookupSymbol<BlockOp>(layer.getBlockAttr());
    context.set(block.getArgument(0), context.at(layer.getX()));
    for (auto [i, name] : llvm::enumerate(layer.getWeights().getAsRange<FlatSymbolRefAttr>()))
      context.weights[block.getArgument(i + 1)] = model.lookupSymbol<WeightOp>(name);
    context.cache = {}; // a layer's keys and values are its own
    for (Operation &op : block.getBody().front()) {
      if (auto yield = dyn_cast<YieldOp>(op))
        context.set(layer.getResult(), context.at(yield.getOperand(0)));
      else
        evaluate(context, &op);
    }
  }

  ModelOp model;
  EvaluationContext context;
};

} // namespace

ReferenceTensor ReferenceTensor::zeros(int64_t rows, int64_t width) {
  ReferenceTensor tensor;
  tensor.rows = rows;
  tensor.width = width;
  tensor.values.assign(size_t(rows * width), 0.0f);
  return tensor;
}

ReferenceResult runReference(ModelOp model, WeightReader &weights,
                             const std::vector<int32_t> &tokens,
                             const std::vector<int64_t> &outputs) {
  return Interpreter(model, weights, tokens, outputs).run();
}

} // namespace inf::ir
