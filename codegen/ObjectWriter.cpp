// Kernels as one ELF object:
//   .text      each kernel 64-byte aligned, code then constants
//   symbols    global, hidden, type function, with size
//   .eh_frame  where the return address and the saved registers lie after every push and pop
#include <algorithm>
#include <array>
#include <limits>

#include <llvm/ADT/SmallVector.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCExpr.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/Kernel.h"
#include "codegen/McTarget.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

/// DWARF numbers (System V ABI for x86-64, figure 3.36) of rbx, rbp, r12, r13, r14, r15.
constexpr std::array<int64_t, 6> dwarfSaved = {3, 6, 12, 13, 14, 15};
constexpr int64_t slotBytes = 8;

std::unique_ptr<llvm::MCStreamer> createStreamer(McTarget &mc, llvm::raw_pwrite_stream &stream) {
  std::unique_ptr<llvm::MCAsmBackend> backend(
      mc.target->createMCAsmBackend(*mc.subtarget, *mc.registers, mc.options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(
      mc.target->createMCCodeEmitter(*mc.instructions, *mc.context));
  std::unique_ptr<llvm::MCStreamer> streamer(
      mc.target->createMCObjectStreamer(mc.triple, *mc.context, std::move(backend),
                                        std::move(writer), std::move(emitter), *mc.subtarget));
  if (!streamer)
    fail(ErrorCode::Internal, "LLVM gave no object streamer for {}", mc.triple.str());
  return streamer;
}

/// Writes the bytes of one kernel in pieces, so that CFI lands between the right instructions.
class BodyWriter {
public:
  BodyWriter(llvm::MCStreamer &kernelStreamer, const KernelCode &kernelCode)
      : streamer(kernelStreamer), code(kernelCode) {}

  void write() {
    streamer.emitCFIStartProc(/*IsSimple=*/false);
    int64_t cfa = slotBytes; // distance from rsp to the CFA: the return address
    for (size_t i = 0; i < code.pushEnds.size(); ++i) {
      advance(code.pushEnds[i]);
      streamer.emitCFIDefCfaOffset(cfa += slotBytes);
      streamer.emitCFIOffset(dwarfSaved[i], -cfa);
    }
    if (code.frameBytes != 0) {
      advance(code.frameEnd);
      streamer.emitCFIDefCfaOffset(cfa += code.frameBytes);
      advance(code.frameFreed);
      streamer.emitCFIDefCfaOffset(cfa -= code.frameBytes);
    }
    for (uint32_t popEnd : code.popEnds) {
      advance(popEnd);
      streamer.emitCFIDefCfaOffset(cfa -= slotBytes);
    }
    advance(code.codeBytes);
    streamer.emitCFIEndProc();
    advance(static_cast<uint32_t>(code.bytes.size()));
  }

private:
  void advance(uint32_t end) {
    streamer.emitBytes(
        llvm::StringRef(reinterpret_cast<const char *>(code.bytes.data()) + at, end - at));
    at = end;
  }

  llvm::MCStreamer &streamer;
  const KernelCode &code;
  uint32_t at = 0;
};

/// The offsets drive pointer arithmetic: they must ascend and end inside the bytes.
void check(const KernelCode &code) {
  std::vector<uint32_t> offsets = code.pushEnds;
  if (code.frameBytes != 0)
    offsets.insert(offsets.end(), {code.frameEnd, code.frameFreed});
  offsets.insert(offsets.end(), code.popEnds.begin(), code.popEnds.end());
  offsets.push_back(code.codeBytes);
  if (code.bytes.size() > std::numeric_limits<uint32_t>::max() ||
      code.pushEnds.size() > dwarfSaved.size() || code.popEnds.size() != code.pushEnds.size() ||
      !std::is_sorted(offsets.begin(), offsets.end()) || offsets.back() > code.bytes.size())
    fail(ErrorCode::Internal,
         "kernel {} has {} bytes but its prologue and epilogue offsets do not ascend within them",
         code.symbol, code.bytes.size());
}

void emitKernel(llvm::MCStreamer &streamer, McTarget &mc, const KernelCode &code) {
  check(code);
  llvm::MCSymbol *symbol = mc.context->getOrCreateSymbol(code.symbol);
  if (symbol->isDefined())
    fail(ErrorCode::Internal, "kernel {} is in the list twice: deduplicate by symbol", code.symbol);
  streamer.emitCodeAlignment(llvm::Align(64), mc.subtarget.get());
  streamer.emitSymbolAttribute(symbol, llvm::MCSA_Global);
  streamer.emitSymbolAttribute(symbol, llvm::MCSA_Hidden);
  streamer.emitSymbolAttribute(symbol, llvm::MCSA_ELF_TypeFunction);
  streamer.emitLabel(symbol);
  BodyWriter(streamer, code).write();
  streamer.emitELFSize(
      symbol, llvm::MCConstantExpr::create(static_cast<int64_t>(code.bytes.size()), *mc.context));
}

} // namespace

std::vector<uint8_t> writeKernelObject(const std::vector<KernelCode> &kernels) {
  McTarget mc;
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCStreamer> streamer = createStreamer(mc, stream);
  streamer->initSections(/*NoExecStack=*/true, *mc.subtarget);
  streamer->switchSection(mc.objectFile->getTextSection());
  for (const KernelCode &code : kernels)
    emitKernel(*streamer, mc, code);
  streamer->finish();
  return {object.begin(), object.end()};
}

} // namespace inf
