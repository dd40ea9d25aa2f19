// What the planned IR says about the model, in the terms of the manifest.
#pragma once

#include <vector>

#include "codegen/Kernel.h"
#include "ir/dialect/InfDialect.h"
#include "runtime/format/Manifest.h"

namespace inf {

/// The weights of the IR as declarations, in its order.
std::vector<WeightDecl> weightDeclsOf(ir::ModelOp model);

/// Symbols of all kernels the model uses, sorted, each once.
std::vector<std::string> kernelSymbolsOf(ir::ModelOp model);

/// The manifest of a planned model. `kernels` are those of kernelSymbolsOf, generated.
Manifest manifestOf(ir::ModelOp model, const std::vector<KernelCode> &kernels,
                    uint64_t featureBits);

} // namespace inf
