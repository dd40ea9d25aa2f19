#include "codegen/attention/OuterProduct.h"

namespace inf {

using Addresses = std::vector<LanesEmitter::Address>;

HeadSums takeHeadSums(LanesEmitter &lanes, unsigned lines, unsigned heads) {
  HeadSums sums;
  for (unsigned line = 0; line < lines; ++line)
    sums.push_back(lanes.takeMany("sums of a line", heads));
  return sums;
}

void OuterProduct::load(Take take, const VectorRegister &to, const CacheLine &line,
                        unsigned part) const {
  constexpr uint32_t oddHalf = 0xFFFF0000u;
  constexpr uint8_t evenShift = 16;
  const LanesEmitter::Address at = line.at + part * lanes.partFloats() * 4;
  if (take == Take::Even && isWide(a.isa) && !line.half && !line.mask)
    return a.vpslld(to, a.ptr[at], evenShift);
  loadWhole(to, line, part);
  if (take == Take::Even)
    a.vpslld(to, to, evenShift);
  if (take == Take::Odd)
    lanes.bitAnd(to, oddHalf);
}

void OuterProduct::loadWhole(const VectorRegister &to, const CacheLine &line, unsigned part) const {
  const LanesEmitter::Address at = line.at + part * lanes.partFloats() * 4;
  if (line.half)
    lanes.loadHalf(to, WeightFormat::F32, line.at);
  else
    a.vmovups(to, a.ptr[at]);
  if (!line.mask)
    return;
  if (isWide(a.isa))
    a.vpandd(to, to, a.ptr_b[*line.mask]);
  else
    a.vpand(to, to, a.ptr[*line.mask]);
}

void OuterProduct::broadcast(Take take, const VectorRegister &to,
                             const LanesEmitter::Address &scalar) const {
  a.vbroadcastss(to, a.dword[take == Take::Odd ? scalar + 4 : scalar]);
}

void OuterProduct::multiply(const Xbyak::Ymm &sum, const Xbyak::Ymm &line,
                            const Xbyak::Ymm &scalar) const {
  if (a.isa == KernelIsa::Avx512Bf16)
    a.vdpbf16ps(sum, line, scalar);
  else
    a.vfmadd231ps(sum, line, scalar);
}

void OuterProduct::holdLines(Take take, const HeadSums &sums, const std::vector<CacheLine> &lines,
                             const Addresses &scalars) const {
  const std::vector<Lanes16> held = lanes.takeMany("line", static_cast<unsigned>(lines.size()));
  for (size_t l = 0; l < lines.size(); ++l)
    for (unsigned part = 0; part < partsOf(lines[l]); ++part)
      load(take, held[l].parts[part], lines[l], part);
  for (size_t h = 0; h < scalars.size(); ++h) {
    const VectorRegister scalar = lanes.takeRegister("scalar");
    broadcast(take, scalar, scalars[h]);
    for (size_t l = 0; l < lines.size(); ++l)
      for (unsigned part = 0; part < partsOf(lines[l]); ++part)
        multiply(sums[l][h].parts[part], held[l].parts[part], scalar);
  }
}

void OuterProduct::holdScalars(Take take, const HeadSums &sums, const std::vector<CacheLine> &lines,
                               const Addresses &scalars) const {
  std::vector<VectorRegister> held;
  for (const LanesEmitter::Address &scalar : scalars) {
    held.push_back(lanes.takeRegister("scalar"));
    broadcast(take, held.back(), scalar);
  }
  for (size_t l = 0; l < lines.size(); ++l)
    for (unsigned part = 0; part < partsOf(lines[l]); ++part) {
      const VectorRegister line = lanes.takeRegister("line");
      load(take, line, lines[l], part);
      for (size_t h = 0; h < held.size(); ++h)
        multiply(sums[l][h].parts[part], line, held[h]);
    }
}

void OuterProduct::emit(Take take, const HeadSums &sums, const std::vector<CacheLine> &lines,
                        const Addresses &scalars) const {
  if (lines.size() * lanes.partCount() <= scalars.size())
    holdLines(take, sums, lines, scalars);
  else
    holdScalars(take, sums, lines, scalars);
}

void OuterProduct::emit(const HeadSums &sums, const std::vector<CacheLine> &lines,
                        const Addresses &scalars) const {
  if (spec.kv == WeightFormat::F32 || a.isa == KernelIsa::Avx512Bf16)
    return emit(Take::All, sums, lines, scalars);
  const bool bf16Dots = spec.inputs == InputFormat::BF16;
  emit(bf16Dots ? Take::Odd : Take::Even, sums, lines, scalars);
  emit(bf16Dots ? Take::Even : Take::Odd, sums, lines, scalars);
}

} // namespace inf
