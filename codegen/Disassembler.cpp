#include <fmt/format.h>

#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/Kernel.h"
#include "codegen/McTarget.h"
#include "runtime/base/Error.h"

namespace inf {

static constexpr unsigned intelSyntax = 1;

static std::string hexBytes(llvm::ArrayRef<uint8_t> bytes) {
  std::string hex;
  for (uint8_t byte : bytes)
    hex += fmt::format("{:02x} ", byte);
  return hex;
}

/// The instruction as Intel syntax, one space between mnemonic and operands.
static std::string printed(llvm::MCInstPrinter &printer, const llvm::MCInst &instruction,
                           uint64_t address, const llvm::MCSubtargetInfo &subtarget) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printer.printInst(&instruction, address, "", subtarget, stream);
  stream.flush();
  text.erase(0, text.find_first_not_of(" \t"));
  for (char &c : text)
    if (c == '\t')
      c = ' ';
  return text;
}

std::string disassemble(const uint8_t *bytes, uint64_t size, uint64_t address) {
  McTarget mc;
  std::unique_ptr<llvm::MCDisassembler> disassembler(
      mc.target->createMCDisassembler(*mc.subtarget, *mc.context));
  std::unique_ptr<llvm::MCInstPrinter> printer(mc.target->createMCInstPrinter(
      mc.triple, intelSyntax, *mc.asmInfo, *mc.instructions, *mc.registers));
  if (!disassembler || !printer)
    fail(ErrorCode::Internal, "LLVM was built without the X86 disassembler");

  std::string lines;
  for (uint64_t offset = 0; offset < size;) {
    llvm::MCInst instruction;
    uint64_t length = 0;
    const llvm::ArrayRef<uint8_t> rest(bytes + offset, size - offset);
    const bool known = disassembler->getInstruction(instruction, length, rest, address + offset,
                                                    llvm::nulls()) == llvm::MCDisassembler::Success;
    if (!known || length == 0)
      length = 1; // resynchronize at the next byte
    lines += fmt::format("{:6x}: {:<36} {}\n", address + offset, hexBytes(rest.take_front(length)),
                         known ? printed(*printer, instruction, address + offset, *mc.subtarget)
                               : "(bad)");
    offset += length;
  }
  return lines;
}

} // namespace inf
