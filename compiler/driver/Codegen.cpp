#include "compiler/driver/Codegen.h"

#include <xxhash.h>

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include "codegen/LlvmObject.h"
#include "compiler/driver/ModelFacts.h"
#include "compiler/driver/Stages.h"
#include "compiler/link/Link.h"
#include "passes/lower/ModelGlobals.h"
#include "runtime/abi/inf_abi.h"

namespace inf {
namespace {

std::vector<KernelCode> generateKernels(ir::ModelOp model) {
  std::vector<KernelCode> kernels;
  for (const std::string &symbol : kernelSymbolsOf(model)) {
    std::optional<KernelSpec> spec = parseKernelSymbol(symbol);
    if (!spec)
      fail(ErrorCode::BadInput, "\"{}\" is no kernel; `infc kernels` lists what there is", symbol);
    kernels.push_back(generateKernel(*spec));
  }
  return kernels;
}

/// Code around the kernels keeps to the plain set of the widest register family the target has, so
/// that a model needs no more of a CPU than its kernels do.
Target glueTarget(const Target &target) {
  return targetByName(target.isa == KernelIsa::Avx512 ? "avx512" : "avx2");
}

/// Identifies code, weights' layout and tokenizer; paths are no part of it.
void setBuildId(PayloadContents &payload, ir::ModelOp model,
                const std::vector<KernelCode> &kernels) {
  mlir::OwningOpRef<ir::ModelOp> anywhere(model.clone());
  for (const char *path : {"weights_from", "tokenizer", "chat_template"})
    (*anywhere)->removeAttr(path);
  XXH3_state_t *state = XXH3_createState();
  XXH3_128bits_reset(state);
  auto add = [&](const void *data, size_t bytes) {
    uint64_t length = bytes; // so that moving a byte from one part to the next is a change
    XXH3_128bits_update(state, &length, sizeof length);
    XXH3_128bits_update(state, data, bytes);
  };
  auto addText = [&](const std::string &text) { add(text.data(), text.size()); };
  addText(printModule(*anywhere));
  addText(manifestToJson(payload.manifest));
  addText(payload.tokenizerJson);
  addText(payload.chatTemplate);
  for (const KernelCode &kernel : kernels)
    add(kernel.bytes.data(), kernel.bytes.size());
  XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  payload.buildId[0] = hash.low64;
  payload.buildId[1] = hash.high64;
}

} // namespace

GeneratedCode::GeneratedCode(CompileContext &context, mlir::ModuleOp module,
                             std::string tokenizerJson, std::string chatTemplate) {
  ir::ModelOp model = theModel(module);
  glue = glueTarget(targetByName(model.getTarget()->str()));
  kernelCode = generateKernels(model);
  FeatureSet features = glue.features;
  for (const KernelCode &kernel : kernelCode)
    features = features | kernelFeatures(*parseKernelSymbol(kernel.symbol));
  payload.tokenizerJson = std::move(tokenizerJson);
  payload.chatTemplate = std::move(chatTemplate);
  payload.manifest = manifestOf(model, kernelCode, features.bits);
  setBuildId(payload, model, kernelCode);
  mlir::Builder builder(&context.mlir());
  module->setAttr("inf.build_id", builder.getDenseI64ArrayAttr(
                                      {int64_t(payload.buildId[0]), int64_t(payload.buildId[1])}));
  module->setAttr("inf.feature_bits", builder.getI64IntegerAttr(int64_t(features.bits)));
  lowerModule(context, module);
  translate(context, module);
}

GeneratedCode::~GeneratedCode() = default;

void GeneratedCode::translate(CompileContext &context, mlir::ModuleOp module) {
  mlir::registerBuiltinDialectTranslation(context.mlir());
  mlir::registerLLVMDialectTranslation(context.mlir());
  llvmContext = std::make_unique<llvm::LLVMContext>();
  llvmModule = mlir::translateModuleToLLVMIR(module, *llvmContext, "model");
  if (!llvmModule)
    context.failWithDiagnostics(ErrorCode::Internal, "translating the step to LLVM IR failed");
  optimizeModule(*llvmModule, glue);
}

std::string GeneratedCode::llvmText() const { return moduleText(*llvmModule); }

std::string GeneratedCode::assembly() {
  std::vector<uint8_t> bytes = emitModule(*llvmModule, glue, EmitKind::Assembly);
  std::string text(bytes.begin(), bytes.end());
  for (const KernelCode &kernel : kernelCode)
    text += fmt::format("\n# {} ({} bytes)\n{}", kernel.symbol, kernel.codeBytes,
                        disassemble(kernel.bytes.data(), kernel.codeBytes, 0));
  return text;
}

std::vector<uint8_t> GeneratedCode::object() {
  addPayloadPlaceholder(*llvmModule, payloadSectionName);
  return emitModule(*llvmModule, glue, EmitKind::Object);
}

std::vector<std::vector<uint8_t>> GeneratedCode::memoryObjects() {
  return {emitModule(*llvmModule, glue, EmitKind::Object), writeKernelObject(kernelCode)};
}

std::vector<uint8_t> GeneratedCode::link(const std::string &workPath) {
  return linkSharedLibrary({object(), writeKernelObject(kernelCode)}, INF_ABI_SYMBOL, workPath);
}

} // namespace inf
