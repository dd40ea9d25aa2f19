#include "codegen/LlvmObject.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr char triple[] = "x86_64-unknown-linux-gnu";

std::unique_ptr<llvm::TargetMachine> createMachine(const Target &target) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
  std::string message;
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!llvmTarget)
    fail(ErrorCode::Internal, "LLVM does not know the target {}: {}", triple, message);
  llvm::TargetOptions options;
  // Only fma asked for is fused: contraction would change bits from one LLVM to the next.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(llvmTarget->createTargetMachine(
      triple, target.llvmCpu, target.llvmFeatures, options, llvm::Reloc::PIC_));
}

void setTarget(llvm::Module &module, const Target &target, llvm::TargetMachine &machine) {
  module.setTargetTriple(triple);
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  for (llvm::Function &function : module) {
    function.addFnAttr("target-cpu", target.llvmCpu);
    function.addFnAttr("target-features", target.llvmFeatures);
    // 16 lanes are one register where there are 512 bits; LLVM would halve them by default.
    if (target.isa == KernelIsa::Avx512)
      function.addFnAttr("prefer-vector-width", "512");
  }
}

/// A library of no functions.
llvm::TargetLibraryInfoImpl noLibrary() {
  llvm::TargetLibraryInfoImpl library{llvm::Triple(triple)};
  library.disableAllFunctions();
  return library;
}

} // namespace

void optimizeModule(llvm::Module &module, const Target &target) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target);
  setTarget(module, target, *machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get());
  functions.registerPass([] { return llvm::TargetLibraryAnalysis(noLibrary()); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

std::vector<uint8_t> emitModule(llvm::Module &module, const Target &target, EmitKind kind) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target);
  setTarget(module, target, *machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(noLibrary()));
  auto type = kind == EmitKind::Object ? llvm::CodeGenFileType::ObjectFile
                                       : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type))
    fail(ErrorCode::Internal, "LLVM can't emit code for {}", triple);
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

void addPayloadPlaceholder(llvm::Module &module, const std::string &section) {
  module.appendModuleInlineAsm(fmt::format(".section {},\"\",@progbits\n"
                                           ".byte 0\n"
                                           ".section .note.inf,\"a\",@note\n"
                                           ".balign 4\n"
                                           ".long 4, 4, 1\n"
                                           ".asciz \"INF\"\n"
                                           ".long 0\n"
                                           ".text\n",
                                           section));
}

std::string moduleText(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

} // namespace inf
