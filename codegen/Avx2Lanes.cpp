// Sixteen lanes in two ymm registers: AVX, AVX2, FMA, F16C.
#include <bit>

#include "codegen/LaneTables.h"
#include "codegen/Lanes.h"

namespace inf {
namespace {

class Avx2Lanes final : public LanesEmitter {
public:
  explicit Avx2Lanes(KernelAssembler &kernelAssembler) : LanesEmitter(kernelAssembler) {}

  using LanesEmitter::setZero;
  void setZero(const Xbyak::Ymm &to) override { assembler.vxorps(to, to, to); }

  using LanesEmitter::loadHalf;
  void loadHalf(const Xbyak::Ymm &to, WeightFormat format, const Address &from) override {
    loadElements(to, format, from, 0);
  }

  void storeHalf(const Address &to, const Lanes16 &from) override {
    assembler.vmovups(assembler.ptr[to], from.parts[0]);
  }

  void negate(const Lanes16 &x) override {
    for (const VectorRegister &part : x.parts)
      assembler.vxorps(part, part, constantOperand(signBit));
  }

  void fmaBroadcast(const Lanes16 &accumulator, const Lanes16 &a, const Address &scalar) override {
    const VectorRegister factor = takeRegister("broadcast factor");
    assembler.vbroadcastss(factor, assembler.dword[scalar]);
    for (unsigned part = 0; part < 2; ++part)
      assembler.vfmadd231ps(accumulator.parts[part], a.parts[part], factor);
  }

  void addBroadcast(const Lanes16 &x, const Address &scalar) override {
    const VectorRegister term = takeRegister("broadcast term");
    assembler.vbroadcastss(term, assembler.dword[scalar]);
    for (const VectorRegister &part : x.parts)
      assembler.vaddps(part, part, term);
  }

  void multiplyBroadcast(const Lanes16 &x, const Address &scalar) override {
    const VectorRegister factor = takeRegister("broadcast factor");
    assembler.vbroadcastss(factor, assembler.dword[scalar]);
    for (const VectorRegister &part : x.parts)
      assembler.vmulps(part, part, factor);
  }

  void roundToInteger(const Lanes16 &to, const Lanes16 &x) override {
    for (unsigned part = 0; part < 2; ++part)
      assembler.vroundps(to.parts[part], x.parts[part], nearestEven);
  }

  LaneMask lessThanConstant(const Lanes16 &x, float value) override {
    LaneMask mask = takeMask("lanes below");
    for (unsigned part = 0; part < 2; ++part)
      assembler.vcmpltps(mask.parts[part], x.parts[part],
                         constantOperand(std::bit_cast<uint32_t>(value)));
    return mask;
  }

  LaneMask outside(const Xbyak::Reg64 &first, const Xbyak::Reg64 &last) override {
    LaneMask mask = takeMask("lanes outside");
    const Lanes16 lane = take("lane number"), bound = take("bound");
    setBits(lane, laneNumbers());
    broadcastInteger(bound, first);
    for (unsigned part = 0; part < 2; ++part)
      assembler.vpcmpgtd(mask.parts[part], bound.parts[part], lane.parts[part]);
    broadcastInteger(bound, last);
    for (unsigned part = 0; part < 2; ++part) {
      assembler.vpcmpgtd(lane.parts[part], lane.parts[part], bound.parts[part]);
      assembler.vpor(mask.parts[part], mask.parts[part], lane.parts[part]);
    }
    return mask;
  }

  LaneMask noLanes() override {
    LaneMask mask = takeMask("no lanes");
    for (const VectorRegister &part : mask.parts)
      setZero(part);
    return mask;
  }

  void joinCompared(const LaneMask &mask, const Lanes16 &x, uint8_t predicate,
                    const Address &scalar) override {
    const VectorRegister other = takeRegister("compared with");
    assembler.vbroadcastss(other, assembler.dword[scalar]);
    for (unsigned part = 0; part < 2; ++part) {
      const VectorRegister holds = takeRegister("lanes compared");
      assembler.vcmpps(holds, x.parts[part], other, predicate);
      assembler.vpor(mask.parts[part], mask.parts[part], holds);
    }
  }

  void jumpIfAny(const LaneMask &mask, const Xbyak::Label &target) override {
    const Gpr signs = assembler.takeGeneral("signs");
    assembler.vpor(mask.parts[0], mask.parts[0], mask.parts[1]);
    assembler.vmovmskps(signs.cvt32(), mask.parts[0]);
    assembler.test(signs.cvt32(), signs.cvt32());
    assembler.jne(target);
  }

  void replaceWhere(const LaneMask &mask, const Lanes16 &x, float value) override {
    for (unsigned part = 0; part < 2; ++part)
      assembler.vblendvps(x.parts[part], x.parts[part],
                          constantOperand(std::bit_cast<uint32_t>(value)), mask.parts[part]);
  }

  /// vpermps looks at 3 bits of an index: the 8 magnitudes, in one ymm; the sign bit is moved over.
  Lanes16 takeCodeTable(WeightFormat format) override {
    Lanes16 table;
    if (format != WeightFormat::MXFP4)
      return table;
    table.parts.push_back(takeRegister("code table"));
    const std::vector<uint32_t> values = mxfp4CodeBits();
    const Xbyak::Label &label = assembler.constant({values.begin(), values.begin() + 8});
    assembler.vmovups(table.parts[0], assembler.ptr[assembler.rip + label]);
    return table;
  }

  Xbyak::Address constantOperand(uint32_t bits) override {
    return assembler.ptr[assembler.rip + assembler.constant(std::vector<uint32_t>(8, bits))];
  }

  void bitAnd(const Xbyak::Ymm &x, uint32_t bits) override {
    assembler.vpand(x, x, constantOperand(bits));
  }

protected:
  void mxfp4Values(const Lanes16 &to, const Lanes16 &table, const Address &line,
                   unsigned shift) override {
    const VectorRegister sign = takeRegister("code signs");
    for (unsigned part = 0; part < 2; ++part) {
      const Xbyak::Ymm &value = to.parts[part];
      assembler.vmovdqu(sign, assembler.ptr[line + part * 32]);
      assembler.vpsrld(value, sign, static_cast<uint8_t>(shift));
      assembler.vpermps(value, value, table.parts[0]);
      assembler.vpslld(sign, sign, static_cast<uint8_t>(28 - shift)); // bit 3 of the code to bit 31
      assembler.vpand(sign, sign, constantOperand(signBit));
      assembler.vpor(value, value, sign);
    }
  }

  /// Lanes 8 apart are the two registers; only the first half is folded on.
  void foldHalves(const Lanes16 &x, Fold fold) override { foldInto(x.parts[0], x.parts[1], fold); }

  void swapFours(const Xbyak::Ymm &to, const Xbyak::Ymm &from) override {
    assembler.vperm2f128(to, from, from, 1);
  }

private:
  static constexpr uint32_t signBit = 0x80000000u;
  static constexpr uint8_t nearestEven = 8; // and no inexact exception

  LaneMask takeMask(std::string_view role) {
    LaneMask mask;
    for (unsigned part = 0; part < 2; ++part)
      mask.parts.push_back(takeRegister(role));
    return mask;
  }
};

} // namespace

std::unique_ptr<LanesEmitter> createAvx2Lanes(KernelAssembler &assembler) {
  return std::make_unique<Avx2Lanes>(assembler);
}

} // namespace inf
