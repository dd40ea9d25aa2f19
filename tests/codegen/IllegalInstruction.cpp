#include "tests/codegen/IllegalInstruction.h"

#include <cerrno>
#include <cstring>

#include "runtime/base/Error.h"

namespace inf::test {
namespace {

/// A signal handler is given nothing but the frame, so this is the one way to it.
Emulate current = nullptr;

/// A general register by the hardware's number.
uint64_t general(const ucontext_t &context, unsigned number) {
  constexpr int places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<uint64_t>(context.uc_mcontext.gregs[places[number]]);
}

/// `bytes` (1 or 4) at `at`, sign-extended.
uint64_t displacement(const uint8_t *at, unsigned bytes) {
  if (bytes == 1)
    return static_cast<uint64_t>(int64_t{static_cast<int8_t>(*at)});
  int32_t value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<uint64_t>(int64_t{value});
}

/// Base, index and displacement behind `modrm`, whose place in the instruction is `at`.
void decodeMemory(VexInstruction &instruction, const ucontext_t &context, const uint8_t *code,
                  bool x, bool b, unsigned at) {
  const unsigned mod = code[at] >> 6, rm = code[at] & 7;
  unsigned next = at + 1, base = rm;
  if (rm == 4) {
    const unsigned sib = code[next++], index = (sib >> 3 & 7) + (x ? 8 : 0);
    base = sib & 7;
    if (index != 4)
      instruction.stride = general(context, index) << (sib >> 6);
  }
  const bool noBase = mod == 0 && base == 5;
  const unsigned bytes = mod == 1 ? 1 : mod == 2 || noBase ? 4 : 0;
  instruction.bytes = next + bytes;
  if (!noBase)
    instruction.base = general(context, base + (b ? 8 : 0));
  else if (rm != 4) // relative to the next instruction
    instruction.base = reinterpret_cast<uint64_t>(code) + instruction.bytes;
  if (bytes != 0)
    instruction.base += displacement(code + next, bytes);
}

void onIllegalInstruction(int, siginfo_t *, void *frame) {
  auto &context = *static_cast<ucontext_t *>(frame);
  const std::optional<VexInstruction> instruction = decodeVex(context);
  if (instruction && current && current(*instruction, context))
    context.uc_mcontext.gregs[REG_RIP] += instruction->bytes;
  else
    signal(SIGILL, SIG_DFL); // the instruction is met again, and nobody catches it
}

} // namespace

std::optional<VexInstruction> decodeVex(const ucontext_t &context) {
  const auto *code = reinterpret_cast<const uint8_t *>(context.uc_mcontext.gregs[REG_RIP]);
  if (code[0] != 0xC4)
    return std::nullopt;
  const bool r = !(code[1] & 0x80), x = !(code[1] & 0x40), b = !(code[1] & 0x20);
  const unsigned modrm = code[4];
  VexInstruction instruction{};
  instruction.map = code[1] & 0x1F, instruction.prefix = code[2] & 3;
  instruction.opcode = code[3];
  instruction.wide = code[2] & 0x80, instruction.ymm = code[2] & 4;
  instruction.vvvv = ~code[2] >> 3 & 15;
  instruction.reg = (modrm >> 3 & 7) + (r ? 8 : 0);
  instruction.hasMemory = modrm >> 6 != 3;
  instruction.bytes = 5;
  if (instruction.hasMemory)
    decodeMemory(instruction, context, code, x, b, 4);
  else
    instruction.rm = (modrm & 7) + (b ? 8 : 0);
  return instruction;
}

IllegalInstructionHandler::IllegalInstructionHandler(Emulate emulate) : previous(current) {
  current = emulate;
  struct sigaction action {};
  action.sa_sigaction = onIllegalInstruction;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGILL, &action, &previousAction) != 0)
    fail(ErrorCode::Internal, "sigaction for SIGILL: {}", errnoText(errno));
}

IllegalInstructionHandler::~IllegalInstructionHandler() {
  sigaction(SIGILL, &previousAction, nullptr);
  current = previous;
}

} // namespace inf::test
