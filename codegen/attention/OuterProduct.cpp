#include "codegen/attention/OuterProduct.h"

namespace inf {

using Addresses = std::vector<LanesEmitter::Address>;

HeadSums takeHeadSums(LanesEmitter &lanes, unsigned lines, unsigned heads) {
  HeadSums sums;
  for (unsigned line = 0; line < lines; ++line)
    sums.push_back(lanes.takeMany("sums of a line", heads));
  return sums;
}

/// Dword i takes word firstWord + i twice.
static std::vector<uint32_t> doubledWords(uint32_t firstWord) {
  std::vector<uint32_t> words;
  for (uint32_t word = firstWord; word < firstWord + 16; ++word)
    words.push_back(word << 16 | word);
  return words;
}

OuterProduct::OuterProduct(KernelAssembler &assembler, LanesEmitter &lanesEmitter,
                           WeightFormat elements)
    : a(assembler), lanes(lanesEmitter), format(elements) {
  if (format != WeightFormat::BF16 || !isWide(a.isa))
    return;
  tables = WordTables{lanes.take("low words"), lanes.take("high words"),
                      a.registers().take(RegisterFile::Mask, "upper words")};
  lanes.setBits(tables->lowHalf, doubledWords(0));
  lanes.setBits(tables->highHalf, doubledWords(16));
  const Gpr bits = a.takeGeneral("bits of the mask");
  a.mov(bits.cvt32(), 0xAAAAAAAAu);
  a.kmovd(Xbyak::Opmask(tables->upperWords.index()), bits.cvt32());
}

void OuterProduct::load(const VectorRegister &to, const CacheLine &line, unsigned part) const {
  if (line.part == CacheLine::Part::EightAlone)
    return lanes.loadHalf(to, format, line.at);
  if (!tables || line.part == CacheLine::Part::Alone)
    return lanes.loadElements(to, format, line.at, part);
  const bool high = line.part == CacheLine::Part::HighHalf;
  const Xbyak::Zmm target(to.getIdx());
  a.vpermw(target | Xbyak::Opmask(tables->upperWords.index()) | Xbyak::util::T_z,
           Xbyak::Zmm((high ? tables->highHalf : tables->lowHalf).parts[0].getIdx()),
           a.ptr[high ? line.at - 32 : line.at]);
}

void OuterProduct::holdLines(const HeadSums &sums, const std::vector<CacheLine> &lines,
                             const Addresses &scalars) const {
  const std::vector<Lanes16> held = lanes.takeMany("line", static_cast<unsigned>(lines.size()));
  for (size_t l = 0; l < lines.size(); ++l)
    for (unsigned part = 0; part < partsOf(lines[l]); ++part)
      load(held[l].parts[part], lines[l], part);
  for (size_t h = 0; h < scalars.size(); ++h) {
    const VectorRegister scalar = lanes.takeRegister("scalar");
    a.vbroadcastss(scalar, a.dword[scalars[h]]);
    for (size_t l = 0; l < lines.size(); ++l)
      for (unsigned part = 0; part < partsOf(lines[l]); ++part)
        a.vfmadd231ps(sums[l][h].parts[part], held[l].parts[part], scalar);
  }
}

void OuterProduct::holdScalars(const HeadSums &sums, const std::vector<CacheLine> &lines,
                               const Addresses &scalars) const {
  std::vector<VectorRegister> held;
  for (const LanesEmitter::Address &scalar : scalars) {
    held.push_back(lanes.takeRegister("scalar"));
    a.vbroadcastss(held.back(), a.dword[scalar]);
  }
  for (size_t l = 0; l < lines.size(); ++l)
    for (unsigned part = 0; part < partsOf(lines[l]); ++part) {
      const VectorRegister line = lanes.takeRegister("line");
      load(line, lines[l], part);
      for (size_t h = 0; h < held.size(); ++h)
        a.vfmadd231ps(sums[l][h].parts[part], line, held[h]);
    }
}

void OuterProduct::emit(const HeadSums &sums, const std::vector<CacheLine> &lines,
                        const Addresses &scalars) const {
  if (lines.size() * lanes.partCount() <= scalars.size())
    holdLines(sums, lines, scalars);
  else
    holdScalars(sums, lines, scalars);
}

} // namespace inf
