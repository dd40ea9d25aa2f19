// What emulations of instructions that this machine lacks share: SIGILL brings them a decoded
// instruction and the registers, and they do in software what it would have done. Anything that
// nobody emulates still ends the test.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>

#include <sys/ucontext.h>

namespace inf::test {

/// An instruction with a three-byte VEX prefix (Intel SDM volume 2, 2.3), inversions undone.
struct VexInstruction {
  unsigned map, prefix, opcode; ///< prefix 0..3: none, 66, F3, F2
  bool wide, ymm;               ///< W, L
  unsigned reg, vvvv;           ///< the operands that are always registers
  bool hasMemory;
  unsigned rm;         ///< without memory: the third register
  uint64_t base = 0;   ///< with memory: base and displacement
  uint64_t stride = 0; ///< index times scale
  unsigned bytes;      ///< its length
};

/// The instruction that rip points at; nothing when it has no such prefix.
std::optional<VexInstruction> decodeVex(const ucontext_t &context);

/// True when it was emulated: execution goes on behind it.
using Emulate = bool (*)(const VexInstruction &instruction, ucontext_t &context);

/// Calls `emulate` for illegal instructions for the lifetime of the object; one at a time, the
/// last made.
class IllegalInstructionHandler {
public:
  explicit IllegalInstructionHandler(Emulate emulate);
  ~IllegalInstructionHandler();
  IllegalInstructionHandler(const IllegalInstructionHandler &) = delete;
  IllegalInstructionHandler &operator=(const IllegalInstructionHandler &) = delete;

private:
  struct sigaction previousAction {};
  Emulate previous = nullptr;
};

} // namespace inf::test
