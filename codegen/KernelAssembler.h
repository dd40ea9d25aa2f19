// The frame every kernel is written in: prologue, registers by role, loops that take a body,
// constants behind the code, epilogue.
//
//   [push rbx, rbp, r12, ...]  as many as asked for, in this order (the CFI relies on it)
//   [sub rsp, frameBytes]      locals at [rsp + 0 .. frameBytes)
//   body                       args pointer in rdi
//   vzeroupper, add, pops, ret
//   constants                  64-byte aligned, addressed relative to rip
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <xbyak/xbyak.h>

#include "codegen/Kernel.h"
#include "codegen/RegisterPool.h"

namespace inf {

/// A general register held under a role; usable wherever Xbyak wants a register.
class Gpr : public Xbyak::Reg64 {
public:
  Gpr() = default;
  explicit Gpr(RegisterPool::Lease held) : Xbyak::Reg64(held.index()), lease(std::move(held)) {}

private:
  RegisterPool::Lease lease;
};

/// Callee-saved registers in the order they are pushed: rbx, rbp, r12, r13, r14, r15. Their
/// numbers are the hardware's.
inline constexpr std::array<int, 6> calleeSaved = {3, 5, 12, 13, 14, 15};

/// Our own code buffer, so that Xbyak never maps executable memory: bytes are data to us. A base
/// class because it has to exist before CodeGenerator is constructed.
struct CodeBuffer {
  /// The largest kernel (attention, 16 heads of 256, AMX) is about 85 KiB; Xbyak reports an
  /// overflow.
  static constexpr size_t capacity = 256 * 1024;
  std::vector<uint8_t> storage = std::vector<uint8_t>(capacity);
};

class KernelAssembler : private CodeBuffer, public Xbyak::CodeGenerator {
public:
  /// Writes the prologue. `saved` (0..6) callee-saved registers join the nine that need no saving;
  /// `localBytes` is the size of the frame.
  KernelAssembler(KernelIsa isa, unsigned saved, uint32_t localBytes);

  const KernelIsa isa;

  Gpr takeGeneral(std::string_view role) { return Gpr(pool.take(RegisterFile::General, role)); }
  /// The register the argument pointer arrives in.
  Gpr takeArguments();
  RegisterPool &registers() { return pool; }

  /// Where a constant of these words lies (one copy a kernel).
  const Xbyak::Label &constant(const std::vector<uint32_t> &words) { return constants[words]; }

  /// do { body } while ((index += step) < 0): counts up from a negative index to exactly 0.
  template <typename Body> void loopUpToZero(const Xbyak::Reg64 &index, unsigned step, Body body) {
    Xbyak::Label top;
    L(top);
    body();
    add(index, step);
    jl(top);
  }
  /// for (index = 0; index < end; index += step) body(); index ends there.
  template <typename Body>
  void loopBelow(const Xbyak::Reg64 &index, unsigned end, unsigned step, Body body) {
    Xbyak::Label top;
    xor_(index, index);
    if (end == 0)
      return; // no turn
    L(top);
    body();
    add(index, step);
    cmp(index, end);
    jl(top);
  }

  /// Writes epilogue and constants; nothing may be emitted afterwards.
  KernelCode finish(std::string symbol);

private:
  void prologue();
  void epilogue();
  void placeConstants();

  RegisterPool pool;
  const unsigned savedCount;
  KernelCode code; // grows with the prologue and epilogue
  std::map<std::vector<uint32_t>, Xbyak::Label> constants;
};

} // namespace inf
