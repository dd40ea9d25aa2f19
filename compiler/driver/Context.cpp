#include "compiler/driver/Context.h"

#include <filesystem>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace inf {

CompileContext::CompileContext() {
  // One thread: passes here take milliseconds, and a pool would outlive its use.
  context.disableMultithreading();
  context.loadDialect<ir::InfDialect, mlir::LLVM::LLVMDialect>();
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream stream(diagnosed);
    if (!diagnosed.empty())
      stream << "\n";
    if (!mlir::isa<mlir::UnknownLoc>(diagnostic.getLocation()))
      stream << diagnostic.getLocation() << ": ";
    stream << diagnostic.str();
    return mlir::success();
  });
}

void CompileContext::failWithDiagnostics(ErrorCode code, const std::string &doing) {
  std::string message = diagnosed.empty() ? "no reason was given" : std::move(diagnosed);
  diagnosed.clear();
  fail(code, "{}: {}", doing, message);
}

ir::ModelOp theModel(mlir::ModuleOp module) {
  auto models = module.getOps<ir::ModelOp>();
  if (std::distance(models.begin(), models.end()) != 1)
    fail(ErrorCode::BadInput,
         "expected one inf.model in the module, found {}; give the output of "
         "`infc compile --emit=mlir` or --save-ir before lowering",
         std::distance(models.begin(), models.end()));
  return *models.begin();
}

mlir::OwningOpRef<mlir::ModuleOp> parseModule(CompileContext &context, const std::string &path) {
  if (std::error_code error; !std::filesystem::exists(path, error))
    fail(ErrorCode::Io, "{} is not there; check the path", path);
  mlir::ParserConfig config(&context.mlir());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(path, config);
  if (!module)
    context.failWithDiagnostics(ErrorCode::BadInput, "reading " + path + " failed");
  return module;
}

std::string printModule(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  stream << "\n";
  return text;
}

} // namespace inf
