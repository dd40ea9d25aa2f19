// LLVM's machine-code layer for x86-64 ELF, as far as the object writer and the disassembler share
// it. Included by .cpp files only: no public header shows LLVM.
#pragma once

#include <memory>
#include <string>

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

namespace inf {

/// Everything an MCStreamer or an MCDisassembler wants, in the order it must be built.
struct McTarget {
  /// Registers the X86 target when nobody has. Fails with Internal when LLVM was built without it.
  McTarget();

  llvm::Triple triple{"x86_64-unknown-linux-gnu"};
  const llvm::Target *target = nullptr;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCObjectFileInfo> objectFile;
};

} // namespace inf
