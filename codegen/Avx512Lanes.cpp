// Sixteen lanes in one zmm register. Only AVX512F instructions (and AVX for vzeroupper and scalar
// moves): whole zmm registers need no VL, integer logic stands in for the float logic of DQ.
#include <bit>

#include "codegen/LaneTables.h"
#include "codegen/Lanes.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

class Avx512Lanes final : public LanesEmitter {
public:
  explicit Avx512Lanes(KernelAssembler &kernelAssembler) : LanesEmitter(kernelAssembler) {}

  using LanesEmitter::setZero;
  void setZero(const Xbyak::Ymm &to) override { assembler.vpxord(to, to, to); }

  using LanesEmitter::loadHalf;
  void loadHalf(const Xbyak::Ymm &to, WeightFormat format, const Address &from) override {
    const LaneMask low = lowLanes();
    const Xbyak::Zmm masked = Xbyak::Zmm(to.getIdx()) | opmask(low) | Xbyak::util::T_z;
    if (format == WeightFormat::F32)
      return assembler.vmovups(masked, assembler.ptr[from]);
    if (format != WeightFormat::BF16)
      fail(ErrorCode::Internal, "half a line of {} asked for: expected f32 or bf16",
           weightFormatName(format));
    assembler.vpmovzxwd(masked, assembler.ptr[from]);
    assembler.vpslld(to, to, 16);
  }

  void storeHalf(const Address &to, const Lanes16 &from) override {
    const LaneMask low = lowLanes();
    assembler.vmovups(assembler.ptr[to] | opmask(low), from.parts[0]);
  }

  void negate(const Lanes16 &x) override {
    assembler.vpxord(x.parts[0], x.parts[0], constantOperand(0x80000000u));
  }

  void fmaBroadcast(const Lanes16 &accumulator, const Lanes16 &a, const Address &scalar) override {
    assembler.vfmadd231ps(accumulator.parts[0], a.parts[0], assembler.ptr_b[scalar]);
  }

  void addBroadcast(const Lanes16 &x, const Address &scalar) override {
    assembler.vaddps(x.parts[0], x.parts[0], assembler.ptr_b[scalar]);
  }

  void multiplyBroadcast(const Lanes16 &x, const Address &scalar) override {
    assembler.vmulps(x.parts[0], x.parts[0], assembler.ptr_b[scalar]);
  }

  void roundToInteger(const Lanes16 &to, const Lanes16 &x) override {
    assembler.vrndscaleps(to.parts[0], x.parts[0], 8); // nearest even, no inexact exception
  }

  LaneMask lessThanConstant(const Lanes16 &x, float value) override {
    LaneMask mask = takeMask("lanes below");
    assembler.vcmpltps(opmask(mask), x.parts[0], constantOperand(std::bit_cast<uint32_t>(value)));
    return mask;
  }

  LaneMask outside(const Xbyak::Reg64 &first, const Xbyak::Reg64 &last) override {
    LaneMask mask = takeMask("lanes outside");
    const LaneMask above = takeMask("lanes above");
    const Lanes16 lane = take("lane number"), bound = take("bound");
    setBits(lane, laneNumbers());
    broadcastInteger(bound, first);
    assembler.vpcmpgtd(opmask(mask), bound.parts[0], lane.parts[0]);
    broadcastInteger(bound, last);
    assembler.vpcmpgtd(opmask(above), lane.parts[0], bound.parts[0]);
    assembler.korw(opmask(mask), opmask(mask), opmask(above));
    return mask;
  }

  LaneMask noLanes() override {
    LaneMask mask = takeMask("no lanes");
    assembler.kxorw(opmask(mask), opmask(mask), opmask(mask));
    return mask;
  }

  void joinCompared(const LaneMask &mask, const Lanes16 &x, uint8_t predicate,
                    const Address &scalar) override {
    const LaneMask compared = takeMask("lanes compared");
    assembler.vcmpps(opmask(compared), x.parts[0], assembler.ptr_b[scalar], predicate);
    assembler.korw(opmask(mask), opmask(mask), opmask(compared));
  }

  void jumpIfAny(const LaneMask &mask, const Xbyak::Label &target) override {
    assembler.kortestw(opmask(mask), opmask(mask));
    assembler.jne(target);
  }

  void replaceWhere(const LaneMask &mask, const Lanes16 &x, float value) override {
    const Xbyak::Ymm &part = x.parts[0];
    assembler.vblendmps(part | opmask(mask), part, constantOperand(std::bit_cast<uint32_t>(value)));
  }

  /// vpermps looks at 4 bits of an index: all 16 values in one zmm.
  Lanes16 takeCodeTable(WeightFormat format) override {
    if (format != WeightFormat::MXFP4)
      return {};
    Lanes16 table = take("code table");
    setBits(table, mxfp4CodeBits());
    return table;
  }

  Xbyak::Address constantOperand(uint32_t bits) override {
    return assembler.ptr_b[assembler.rip + assembler.constant({bits})];
  }

  void bitAnd(const Xbyak::Ymm &x, uint32_t bits) override {
    assembler.vpandd(x, x, constantOperand(bits));
  }

protected:
  void mxfp4Values(const Lanes16 &to, const Lanes16 &table, const Address &line,
                   unsigned shift) override {
    const Xbyak::Ymm &value = to.parts[0];
    if (shift == 0)
      assembler.vmovups(value, assembler.ptr[line]);
    else
      assembler.vpsrld(value, assembler.ptr[line], static_cast<uint8_t>(shift));
    assembler.vpermps(value, value, table.parts[0]);
  }

  void foldHalves(const Lanes16 &x, Fold fold) override {
    const VectorRegister swapped = takeRegister("swapped halves");
    assembler.vshuff64x2(swapped, x.parts[0], x.parts[0], 0b01'00'11'10);
    foldInto(x.parts[0], swapped, fold);
  }

  void swapFours(const Xbyak::Ymm &to, const Xbyak::Ymm &from) override {
    assembler.vshuff64x2(to, from, from, 0b10'11'00'01);
  }

private:
  static Xbyak::Opmask opmask(const LaneMask &mask) { return Xbyak::Opmask(mask.opmask.index()); }

  /// Made anew for each use: what needs it is rare, and a mask held would be one less for others.
  LaneMask lowLanes() {
    LaneMask mask = takeMask("lanes 0..7");
    const Gpr bits = assembler.takeGeneral("bits of the mask");
    assembler.mov(bits.cvt32(), 0xffu);
    assembler.kmovw(opmask(mask), bits.cvt32());
    return mask;
  }

  LaneMask takeMask(std::string_view role) {
    LaneMask mask;
    mask.opmask = assembler.registers().take(RegisterFile::Mask, role);
    return mask;
  }
};

} // namespace

std::unique_ptr<LanesEmitter> createAvx512Lanes(KernelAssembler &assembler) {
  return std::make_unique<Avx512Lanes>(assembler);
}

} // namespace inf
