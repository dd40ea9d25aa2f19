#include "codegen/McTarget.h"

#include <mutex>

#include <llvm/Support/TargetSelect.h>

#include "runtime/base/Error.h"

namespace inf {

/// LLVM keeps its targets in one registry a process and registering is not safe against a second
/// thread; once is enough for every module that asks.
static void registerX86() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
  });
}

McTarget::McTarget() {
  registerX86();
  std::string error;
  target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!target)
    fail(ErrorCode::Internal, "LLVM does not know the target {}: {}; link an LLVM built with X86",
         triple.str(), error);
  registers.reset(target->createMCRegInfo(triple.str()));
  asmInfo.reset(target->createMCAsmInfo(*registers, triple.str(), options));
  instructions.reset(target->createMCInstrInfo());
  subtarget.reset(target->createMCSubtargetInfo(triple.str(), "x86-64", ""));
  context = std::make_unique<llvm::MCContext>(triple, asmInfo.get(), registers.get(),
                                              subtarget.get(), nullptr, &options);
  objectFile.reset(target->createMCObjectFileInfo(*context, /*PIC=*/true));
  context->setObjectFileInfo(objectFile.get());
}

} // namespace inf
