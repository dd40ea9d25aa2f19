// What a compile starts from: IR, tokenizer, chat template, and where weights come from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/Compile.h"
#include "compiler/driver/Context.h"
#include "runtime/format/WeightSource.h"

namespace inf {

struct LoadedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string tokenizerJson; ///< "" when the model has none
  std::string chatTemplate;
  std::string weightsFrom; ///< checkpoint directory or .gguf; "" when none is needed
};

/// Reads a checkpoint directory, a .gguf file, a model.json or a .mlir file. With checkpoint
/// weights, checks that the checkpoint has every tensor and no other; checks the tokenizer against
/// the vocabulary.
LoadedModel loadModel(CompileContext &context, const CompileOptions &options);

/// The weights to pack; null for --weights=none.
std::unique_ptr<WeightSource> openWeights(const CompileOptions &options, const LoadedModel &input,
                                          const std::vector<WeightDecl> &decls);

} // namespace inf
