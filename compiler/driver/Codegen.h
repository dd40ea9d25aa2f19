// From a planned module to code: kernels, step function, object files, the linked library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/Target.h"
#include "compiler/driver/Context.h"
#include "runtime/format/Payload.h"

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace inf {

/// Generates everything but the payload. Lowers the module it is given: no inf.model is left in it.
class GeneratedCode {
public:
  GeneratedCode(CompileContext &context, mlir::ModuleOp module, std::string tokenizerJson,
                std::string chatTemplate);
  ~GeneratedCode();

  std::string llvmText() const;
  std::string assembly(); ///< of the step function, then every kernel disassembled
  std::vector<uint8_t> object();
  /// The shared library without payload; intermediate files lie beside `workPath`.
  std::vector<uint8_t> link(const std::string &workPath);
  /// The objects that link() links, without the file's placeholder for the payload.
  std::vector<std::vector<uint8_t>> memoryObjects();
  const PayloadContents &contents() const { return payload; }
  const std::vector<KernelCode> &kernels() const { return kernelCode; }

private:
  void translate(CompileContext &context, mlir::ModuleOp module);

  Target glue; ///< what the code around the kernels may use
  std::vector<KernelCode> kernelCode;
  PayloadContents payload;
  std::unique_ptr<llvm::LLVMContext> llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;
};

} // namespace inf
