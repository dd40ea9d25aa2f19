#include "codegen/Lanes.h"

#include <bit>

#include "runtime/base/Error.h"

namespace inf {

std::unique_ptr<LanesEmitter> LanesEmitter::create(KernelAssembler &assembler) {
  return isWide(assembler.isa) ? createAvx512Lanes(assembler) : createAvx2Lanes(assembler);
}

VectorRegister LanesEmitter::takeRegister(std::string_view role) {
  return VectorRegister(assembler.registers().take(RegisterFile::Vector, role), assembler.isa);
}

Lanes16 LanesEmitter::take(std::string_view role) {
  Lanes16 lanes;
  for (unsigned part = 0; part < partCount(); ++part)
    lanes.parts.push_back(takeRegister(role));
  return lanes;
}

std::vector<Lanes16> LanesEmitter::takeMany(std::string_view role, unsigned count) {
  std::vector<Lanes16> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(take(role));
  return values;
}

Xbyak::Address LanesEmitter::constantOperand(float value) {
  return constantOperand(std::bit_cast<uint32_t>(value));
}

// Memory.

void LanesEmitter::load(const Lanes16 &to, const Address &from) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vmovups(to.parts[part], assembler.ptr[from + part * partFloats() * 4]);
}

void LanesEmitter::store(const Address &to, const Lanes16 &from) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vmovups(assembler.ptr[to + part * partFloats() * 4], from.parts[part]);
}

void LanesEmitter::loadHalf(const Lanes16 &to, const Address &from) {
  loadHalf(to.parts[0], WeightFormat::F32, from);
  for (unsigned part = 1; part < partCount(); ++part)
    setZero(to.parts[part]);
}

void LanesEmitter::storeFirstLane(const Address &to, const Lanes16 &from) {
  assembler.vmovss(assembler.dword[to], Xbyak::Xmm(from.parts[0].getIdx()));
}

void LanesEmitter::broadcast(const Lanes16 &to, const Address &scalar) {
  for (const VectorRegister &part : to.parts)
    assembler.vbroadcastss(part, assembler.dword[scalar]);
}

void LanesEmitter::broadcastInteger(const Lanes16 &to, const Xbyak::Reg64 &value) {
  for (const VectorRegister &part : to.parts) {
    const Xbyak::Xmm low(part.getIdx());
    assembler.vmovd(low, value.cvt32());
    assembler.vpbroadcastd(part, low);
  }
}

void LanesEmitter::setConstant(const Lanes16 &to, float value) {
  const Xbyak::Label &label = assembler.constant({std::bit_cast<uint32_t>(value)});
  for (const VectorRegister &part : to.parts)
    assembler.vbroadcastss(part, assembler.dword[assembler.rip + label]);
}

void LanesEmitter::setZero(const Lanes16 &to) {
  for (const VectorRegister &part : to.parts)
    setZero(part);
}

void LanesEmitter::setBits(const Lanes16 &to, const std::vector<uint32_t> &sixteenWords) {
  for (unsigned part = 0; part < partCount(); ++part) {
    const auto first = sixteenWords.begin() + part * partFloats();
    const Xbyak::Label &label = assembler.constant({first, first + partFloats()});
    assembler.vmovups(to.parts[part], assembler.ptr[assembler.rip + label]);
  }
}

void LanesEmitter::loadElements(const Lanes16 &to, WeightFormat format, const Address &from) {
  for (unsigned part = 0; part < partCount(); ++part)
    loadElements(to.parts[part], format, from, part);
}

void LanesEmitter::loadElements(const Xbyak::Ymm &to, WeightFormat format, const Address &from,
                                unsigned part) {
  const Address half = from + part * partFloats() * 2;
  switch (format) {
  case WeightFormat::F32:
    assembler.vmovups(to, assembler.ptr[from + part * partFloats() * 4]);
    return;
  case WeightFormat::F16:
    assembler.vcvtph2ps(to, assembler.ptr[half]);
    return;
  case WeightFormat::BF16: // the upper half of an f32
    assembler.vpmovzxwd(to, assembler.ptr[half]);
    assembler.vpslld(to, to, 16);
    return;
  default:
    fail(ErrorCode::Internal, "{} has no plain elements: expected f32, f16 or bf16",
         weightFormatName(format));
  }
}

// Arithmetic.

void LanesEmitter::copy(const Lanes16 &to, const Lanes16 &from) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vmovaps(to.parts[part], from.parts[part]);
}

void LanesEmitter::add(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vaddps(to.parts[part], a.parts[part], b.parts[part]);
}

void LanesEmitter::add(const Lanes16 &to, const Lanes16 &a, const Address &b) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vaddps(to.parts[part], a.parts[part], assembler.ptr[b + part * partFloats() * 4]);
}

void LanesEmitter::subtract(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vsubps(to.parts[part], a.parts[part], b.parts[part]);
}

void LanesEmitter::multiply(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vmulps(to.parts[part], a.parts[part], b.parts[part]);
}

void LanesEmitter::divide(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vdivps(to.parts[part], a.parts[part], b.parts[part]);
}

void LanesEmitter::max(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vmaxps(to.parts[part], a.parts[part], b.parts[part]);
}

void LanesEmitter::min(const Lanes16 &to, const Lanes16 &a, const Lanes16 &b) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vminps(to.parts[part], a.parts[part], b.parts[part]);
}

void LanesEmitter::fma(const Lanes16 &accumulator, const Lanes16 &a, const Lanes16 &b) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vfmadd231ps(accumulator.parts[part], a.parts[part], b.parts[part]);
}

void LanesEmitter::addConstant(const Lanes16 &x, float value) {
  for (const VectorRegister &part : x.parts)
    assembler.vaddps(part, part, constantOperand(value));
}

void LanesEmitter::multiplyConstant(const Lanes16 &to, const Lanes16 &x, float value) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vmulps(to.parts[part], x.parts[part], constantOperand(value));
}

void LanesEmitter::minConstantFirst(const Lanes16 &x, float value) {
  const VectorRegister limit = takeRegister("limit");
  assembler.vbroadcastss(
      limit, assembler.dword[assembler.rip + assembler.constant({std::bit_cast<uint32_t>(value)})]);
  for (const VectorRegister &part : x.parts)
    assembler.vminps(part, limit, part);
}

void LanesEmitter::fmaConstant(const Lanes16 &x, const Lanes16 &y, float value) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vfmadd213ps(x.parts[part], y.parts[part], constantOperand(value));
}

void LanesEmitter::subtractProduct(const Lanes16 &x, const Lanes16 &y, float value) {
  for (unsigned part = 0; part < partCount(); ++part)
    assembler.vfnmadd231ps(x.parts[part], y.parts[part], constantOperand(value));
}

void LanesEmitter::scaleByPowerOfTwo(const Lanes16 &x, const Lanes16 &n) {
  for (unsigned part = 0; part < partCount(); ++part) {
    assembler.vcvtps2dq(n.parts[part], n.parts[part]);
    assembler.vpslld(n.parts[part], n.parts[part], 23);
    assembler.vpaddd(x.parts[part], x.parts[part], n.parts[part]);
  }
}

/// bits + 0x7fff + (the last bit kept), then the lower half cleared, of the magnitude. The product
/// makes NaN quiet, so that the smallest of it and the plainest NaN is one that rounding keeps.
void LanesEmitter::roundToBf16(const Lanes16 &x) {
  constexpr uint32_t signBit = 0x80000000u, plainNan = 0x7FC00000u;
  multiplyConstant(x, x, 1.0f);
  for (const VectorRegister &part : x.parts) {
    const VectorRegister sign = takeRegister("sign"), last = takeRegister("last bit kept");
    assembler.vmovaps(sign, part);
    bitAnd(sign, signBit);
    bitAnd(part, ~signBit);
    assembler.vpminud(part, part, constantOperand(plainNan));
    assembler.vpsrld(last, part, 16);
    bitAnd(last, 1);
    assembler.vpaddd(part, part, constantOperand(uint32_t{0x7FFF}));
    assembler.vpaddd(part, part, last);
    bitAnd(part, 0xFFFF0000u);
    assembler.vpaddd(part, part, sign);
  }
}

// Folds.

void LanesEmitter::foldAdd(const Lanes16 &x) { fold(x, Fold::Add); }
void LanesEmitter::foldMax(const Lanes16 &x) { fold(x, Fold::Max); }

void LanesEmitter::foldInto(const Xbyak::Ymm &x, const Xbyak::Ymm &y, Fold fold) {
  if (fold == Fold::Add)
    assembler.vaddps(x, x, y);
  else
    assembler.vmaxps(x, x, y);
}

/// A butterfly: each step adds to every lane the lane `distance` away, so lane 0 is folded in the
/// stated order and, addition being commutative, every other lane gets the same bits.
void LanesEmitter::fold(const Lanes16 &x, Fold fold) {
  foldHalves(x, fold); // distance 8
  const VectorRegister swapped = takeRegister("swapped lanes");
  const Xbyak::Ymm &first = x.parts[0];
  swapFours(swapped, first); // distance 4
  foldInto(first, swapped, fold);
  assembler.vpermilps(swapped, first, 0b01'00'11'10); // distance 2
  foldInto(first, swapped, fold);
  assembler.vpermilps(swapped, first, 0b10'11'00'01); // distance 1
  foldInto(first, swapped, fold);
  for (unsigned part = 1; part < partCount(); ++part)
    assembler.vmovaps(x.parts[part], first);
}

// Blocks.

void LanesEmitter::codeValues(const Lanes16 &to, WeightFormat format, const Lanes16 &table,
                              const Address &line, unsigned shift) {
  switch (format) {
  case WeightFormat::MXFP4:
    return mxfp4Values(to, table, line, shift);
  case WeightFormat::INT8: // stored + 128
    return integerCodes(to, line, shift, 0xFF, -128);
  case WeightFormat::INT4: // stored + 8
    return integerCodes(to, line, shift, 0xF, -8);
  case WeightFormat::INT4A:
    return integerCodes(to, line, shift, 0xF, 0);
  case WeightFormat::F32:
  case WeightFormat::F16:
  case WeightFormat::BF16:
    break;
  }
  fail(ErrorCode::Internal, "{} has no codes: expected a block format", weightFormatName(format));
}

/// to = float((dword >> shift) & mask) + offset, exact.
void LanesEmitter::integerCodes(const Lanes16 &to, const Address &line, unsigned shift,
                                uint32_t mask, float offset) {
  load(to, line);
  for (const VectorRegister &part : to.parts) {
    if (shift != 0)
      assembler.vpsrld(part, part, static_cast<uint8_t>(shift));
    bitAnd(part, mask);
    assembler.vcvtdq2ps(part, part);
  }
  if (offset != 0)
    addConstant(to, offset);
}

void LanesEmitter::loadScales(const Lanes16 &to, WeightFormat format, const Address &scales) {
  for (unsigned part = 0; part < partCount(); ++part)
    loadScales(to.parts[part], format, scales, part);
}

/// An E8M0 byte is the exponent field. Byte 0 means 2^-127, the denormal 0x00400000, which no shift
/// of 0 gives; as integers it lies below the pattern of every other scale, so a maximum does.
void LanesEmitter::loadScales(const Xbyak::Ymm &to, WeightFormat format, const Address &scales,
                              unsigned part) {
  if (format != WeightFormat::MXFP4)
    return loadElements(to, WeightFormat::F16, scales, part);
  assembler.vpmovzxbd(to, assembler.ptr[scales + part * partFloats()]);
  assembler.vpslld(to, to, 23);
  assembler.vpmaxud(to, to, constantOperand(0x00400000u));
}

} // namespace inf
