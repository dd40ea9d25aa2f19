// The MLIR context of a compile, with diagnostics turned into one Error.
#pragma once

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "ir/dialect/InfDialect.h"
#include "runtime/base/Error.h"

namespace inf {

class CompileContext {
public:
  CompileContext();

  mlir::MLIRContext &mlir() { return context; }
  /// Throws what was diagnosed since the last call; `doing` when nothing was said.
  [[noreturn]] void failWithDiagnostics(ErrorCode code, const std::string &doing);

private:
  mlir::MLIRContext context;
  std::string diagnosed;
};

/// The one inf.model of a module; BadInput when there is none or several.
ir::ModelOp theModel(mlir::ModuleOp module);

/// Parses and verifies a .mlir file.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(CompileContext &context, const std::string &path);

/// The module as text.
std::string printModule(mlir::Operation *op);

} // namespace inf
