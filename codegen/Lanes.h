// Sixteen floats at a time, on either register family: the one vocabulary kernels are written in.
//
//   AVX-512: a Lanes16 is one zmm;   AVX2: two ymm, lanes 0..7 and 8..15.
//
// Every operation rounds the same way lane by lane on both, so a kernel written in it gives the
// same bits on both. Operands are written destination first. Where NaN matters the operand order is
// part of the operation: max/min return their last operand when either is NaN.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "codegen/KernelAssembler.h"
#include "runtime/abi/WeightFormats.h"

namespace inf {

/// One vector register held under a role: ymm, or zmm on AVX-512.
class VectorRegister : public Xbyak::Ymm {
public:
  VectorRegister(RegisterPool::Lease held, KernelIsa isa)
      : Xbyak::Ymm(held.index(), isWide(isa) ? ZMM : YMM, isWide(isa) ? 512 : 256),
        lease(std::move(held)) {}

private:
  RegisterPool::Lease lease;
};

/// Sixteen lanes of 32 bits. Registers go back to the pool with the value.
struct Lanes16 {
  std::vector<VectorRegister> parts; ///< one zmm or two ymm
};

/// One bit per lane: an opmask, or sign bits in two ymm.
struct LaneMask {
  RegisterPool::Lease opmask;
  std::vector<VectorRegister> parts;
};

class LanesEmitter {
public:
  using Address = Xbyak::RegExp; ///< base + index * scale + displacement

  static std::unique_ptr<LanesEmitter> create(KernelAssembler &assembler);
  virtual ~LanesEmitter() = default;

  Lanes16 take(std::string_view role);
  std::vector<Lanes16> takeMany(std::string_view role, unsigned count);

  // Memory. No alignment needed.
  void load(const Lanes16 &to, const Address &from);
  void store(const Address &to, const Lanes16 &from);
  void storeFirstLane(const Address &to, const Lanes16 &from);
  // Lanes 0..7 alone; loaded lanes 8..15 are 0, and no memory of theirs is touched.
  void loadHalf(const Lanes16 &to, const Address &from);
  virtual void storeHalf(const Address &to, const Lanes16 &from) = 0;
  /// Eight consecutive F32 or BF16 values as f32, to the first register of a line. Exact.
  virtual void loadHalf(const Xbyak::Ymm &to, WeightFormat format, const Address &from) = 0;
  void broadcast(const Lanes16 &to, const Address &scalar);
  void broadcastInteger(const Lanes16 &to, const Xbyak::Reg64 &value); ///< its low 32 bits
  void setConstant(const Lanes16 &to, float value);
  void setBits(const Lanes16 &to, const std::vector<uint32_t> &sixteenWords);
  void setZero(const Lanes16 &to);
  virtual void setZero(const Xbyak::Ymm &to) = 0;
  /// Sixteen consecutive F32, F16 or BF16 values as f32. Exact.
  void loadElements(const Lanes16 &to, WeightFormat format, const Address &from);
  void loadElements(const Xbyak::Ymm &to, WeightFormat format, const Address &from, unsigned part);

  // Arithmetic.
  void copy(const Lanes16 &to, const Lanes16 &from);
  void add(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b);
  void add(const Lanes16 &to, const Lanes16 &a, const Address &b);
  void subtract(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b);
  void multiply(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b);
  void divide(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b);
  void max(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b);
  void min(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b);
  void fma(const Lanes16 &accumulator, const Lanes16 &a, const Lanes16 &b); ///< acc = a * b + acc
  virtual void negate(const Lanes16 &x) = 0;

  // With one float in memory as the other operand; AVX2 borrows a register for it.
  virtual void fmaBroadcast(const Lanes16 &accumulator, const Lanes16 &a,
                            const Address &scalar) = 0;
  virtual void addBroadcast(const Lanes16 &x, const Address &scalar) = 0;
  virtual void multiplyBroadcast(const Lanes16 &x, const Address &scalar) = 0;

  // With a constant as the last operand.
  void addConstant(const Lanes16 &x, float value);
  void multiplyConstant(const Lanes16 &to, const Lanes16 &x, float value);
  void minConstantFirst(const Lanes16 &x, float value); ///< x = min(value, x): NaN stays NaN
  void fmaConstant(const Lanes16 &x, const Lanes16 &y, float value);     ///< x = x * y + value
  void subtractProduct(const Lanes16 &x, const Lanes16 &y, float value); ///< x = x - y * value

  // Folds. All lanes of x get the result; the order is i with i+8, then 4, 2, 1.
  void foldAdd(const Lanes16 &x);
  void foldMax(const Lanes16 &x);

  // The pieces of exp.
  virtual void roundToInteger(const Lanes16 &to, const Lanes16 &x) = 0; ///< nearest, ties to even
  void scaleByPowerOfTwo(const Lanes16 &x,
                         const Lanes16 &n); ///< bits(x) + (int(n) << 23); destroys n

  /// To the nearest bf16, ties to even, as an f32. Denormals become 0 of their sign where MXCSR
  /// takes them for zero; NaN stays NaN.
  void roundToBf16(const Lanes16 &x);

  // Masks.
  virtual LaneMask lessThanConstant(const Lanes16 &x, float value) = 0;
  /// Lanes outside first..last, given as numbers 0..15 in registers.
  virtual LaneMask outside(const Xbyak::Reg64 &first, const Xbyak::Reg64 &last) = 0;
  virtual LaneMask noLanes() = 0;
  /// Adds the lanes in which `predicate` of vcmpps holds for x and one float in memory.
  virtual void joinCompared(const LaneMask &mask, const Lanes16 &x, uint8_t predicate,
                            const Address &scalar) = 0;
  /// Leaves nothing of use in the mask.
  virtual void jumpIfAny(const LaneMask &mask, const Xbyak::Label &target) = 0;
  virtual void replaceWhere(const LaneMask &mask, const Lanes16 &x, float value) = 0;

  // Blocks of 32 columns (runtime/format/Pack.h): lines of codes, then what sixteen outputs scale
  // by.
  /// Whatever codeValues() looks MXFP4 values up in; nothing for other formats.
  virtual Lanes16 takeCodeTable(WeightFormat format) = 0;
  /// The values of the codes at bit `shift` of the 16 dwords of a line, as f32 before scaling.
  void codeValues(const Lanes16 &to, WeightFormat format, const Lanes16 &table, const Address &line,
                  unsigned shift);
  /// Sixteen scales as f32: E8M0 bytes for MXFP4 (2^(s - 127), exact for 0..254), else f16.
  void loadScales(const Lanes16 &to, WeightFormat format, const Address &scales);
  /// Those of one register: the lanes of `part`.
  void loadScales(const Xbyak::Ymm &to, WeightFormat format, const Address &scales, unsigned part);

  virtual void bitAnd(const Xbyak::Ymm &x, uint32_t bits) = 0; ///< in every lane
  /// An operand that is `bits` in every lane.
  virtual Xbyak::Address constantOperand(uint32_t bits) = 0;
  unsigned partCount() const { return isWide(assembler.isa) ? 1 : 2; }
  unsigned partFloats() const { return 16 / partCount(); }
  VectorRegister takeRegister(std::string_view role);

protected:
  explicit LanesEmitter(KernelAssembler &kernelAssembler) : assembler(kernelAssembler) {}

  Xbyak::Address constantOperand(float value);
  virtual void mxfp4Values(const Lanes16 &to, const Lanes16 &table, const Address &line,
                           unsigned shift) = 0;
  enum class Fold { Add, Max };
  /// Lane i of the first register becomes lane i folded with lane i + 8.
  virtual void foldHalves(const Lanes16 &x, Fold fold) = 0;
  void foldInto(const Xbyak::Ymm &x, const Xbyak::Ymm &y, Fold fold);
  /// Swaps neighbouring groups of four lanes.
  virtual void swapFours(const Xbyak::Ymm &to, const Xbyak::Ymm &from) = 0;

  KernelAssembler &assembler;

private:
  void integerCodes(const Lanes16 &to, const Address &line, unsigned shift, uint32_t mask,
                    float offset);
  void fold(const Lanes16 &x, Fold fold);
};

std::unique_ptr<LanesEmitter> createAvx2Lanes(KernelAssembler &assembler);
std::unique_ptr<LanesEmitter> createAvx512Lanes(KernelAssembler &assembler);

} // namespace inf
