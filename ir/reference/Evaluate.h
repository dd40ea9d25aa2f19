// One op at a time.
#pragma once

#include "ir/reference/Arithmetic.h"
#include "ir/reference/Interpreter.h"
#include "llvm/ADT/DenseMap.h"

namespace inf::ir {

struct EvaluationContext {
  EvaluationContext(ModelOp modelOp, WeightReader &weightReader,
                    const std::vector<int32_t> &tokenIds, const std::vector<int64_t> &outputRows)
      : model(modelOp), reader(weightReader), tokens(tokenIds), outputs(outputRows) {}

  ModelOp model;
  WeightReader &reader;
  const std::vector<int32_t> &tokens;
  const std::vector<int64_t> &outputs;

  const ReferenceTensor &at(mlir::Value value) const { return values.at(value); }
  /// By value: a reference into the map would not outlive the map's growth.
  void set(mlir::Value value, ReferenceTensor tensor) { values[value] = std::move(tensor); }

  llvm::DenseMap<mlir::Value, WeightOp> weights;
  ReferenceCache cache; ///< of the running layer

private:
  llvm::DenseMap<mlir::Value, ReferenceTensor> values;
};

/// Evaluates `op`, from and to the values of the context.
void evaluate(EvaluationContext &context, mlir::Operation *op);

} // namespace inf::ir
