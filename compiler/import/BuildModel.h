// The one road from a model description into the IR.
#pragma once

#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "compiler/frontends/ModelDesc.h"

namespace inf {

struct ImportOptions {
  std::string kvElement = "f32"; ///< "f32" or "bf16"
  int64_t kvBlockTokens = 64;
};

/// A module holding one inf.model at stage "import": unfused ops, every weight in the format the
/// checkpoint stores. `desc` and `decls` have been validated; the context has the inf dialect.
mlir::OwningOpRef<mlir::ModuleOp> buildModel(mlir::MLIRContext &context, const ModelDesc &desc,
                                             const std::vector<WeightDecl> &decls,
                                             const ImportOptions &options);

} // namespace inf
