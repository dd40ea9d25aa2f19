// inf-opt: mlir-opt with our dialect and passes; the regression tests' tool.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "passes/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<inf::ir::InfDialect, mlir::LLVM::LLVMDialect>();
  inf::registerInfPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "inf-opt: passes over language models\n", registry));
}
