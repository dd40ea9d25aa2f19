#include "codegen/DotEmitter.h"

#include "codegen/LaneTables.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr uint32_t lowNibbles = 0x0F0F0F0F;

/// vpermb, which takes 6 bits for an index: nothing is masked before it.
bool looksUpSixBits(WeightFormat format, KernelIsa isa) {
  return format == WeightFormat::MXFP4 && (isa == KernelIsa::Avx512Vbmi || isa == KernelIsa::Amx);
}

bool hasDotInstruction(KernelIsa isa) { return isa != KernelIsa::Avx2 && isa != KernelIsa::Avx512; }

/// Lines of nibbles hold columns 4 l .. 4 l + 3 of the block low, and those 16 later high.
void addNibbleLine(DotPass &pass, unsigned line) {
  pass.steps.push_back({line, CodeBits::Low, 4 * line});
  pass.steps.push_back({line, CodeBits::High, 16 + 4 * line});
}

DotPass byteLines(CodeBits bits, unsigned weight) {
  DotPass pass{{}, weight};
  for (unsigned line = 0; line < 8; ++line)
    pass.steps.push_back({line, bits, 4 * line});
  return pass;
}

/// `pass` of `count` equal ones over the four lines.
DotPass nibbleLines(unsigned pass, unsigned count) {
  DotPass steps;
  for (unsigned line = 4 / count * pass; line < 4 / count * (pass + 1); ++line)
    addNibbleLine(steps, line);
  return steps;
}

std::vector<DotPass> passesOf(WeightFormat format, bool dotInstruction) {
  if (format == WeightFormat::INT8)
    return dotInstruction
               ? std::vector<DotPass>{byteLines(CodeBits::Whole, 1)}
               : std::vector<DotPass>{byteLines(CodeBits::Low, 1), byteLines(CodeBits::High, 16)};
  if (format == WeightFormat::MXFP4 && !dotInstruction)
    return {nibbleLines(0, 2), nibbleLines(1, 2)};
  return {nibbleLines(0, 1)};
}

/// vpdpbusd: EVEX with x straight from memory, VEX with x spread into a register first. So does
/// EVEX for two panels: half the loads.
class DotInstruction final : public DotEmitter {
public:
  using DotEmitter::DotEmitter;

  void start(const RowSums &row, const Address &minus16Sum) override {
    loadStart(row.sums[0], minus16Sum);
    for (size_t panel = 1; panel < row.sums.size(); ++panel)
      assembler.vmovaps(row.sums[panel], row.sums[0]);
    for (const VectorRegister &partial : row.partials)
      lanes.setZero(partial);
  }

  void dots(const RowSums &row, const std::vector<Line> &lines, const Address &x,
            size_t step) override {
    if (isWide(assembler.isa) && row.sums.size() == 1) {
      const bool second = !row.partials.empty() && step % 2 != 0;
      assembler.vpdpbusd(second ? row.partials[0] : row.sums[0], lines[0].codes,
                         assembler.ptr_b[x]);
      return;
    }
    spread(activations(), x);
    const auto encoding = isWide(assembler.isa) ? Xbyak::EvexEncoding : Xbyak::VexEncoding;
    for (size_t panel = 0; panel < row.sums.size(); ++panel)
      assembler.vpdpbusd(row.sums[panel], lines[panel].codes, activations(), encoding);
  }

  void endPass(const RowSums &row, const DotPass & /*pass*/,
               const Address & /*minus16Sum*/) override {
    if (!row.partials.empty())
      assembler.vpaddd(row.sums[0], row.sums[0], row.partials[0]);
  }

protected:
  bool needsProducts(unsigned /*panels*/) const override { return false; }
  unsigned partialsFor(unsigned rows, unsigned panels) const override {
    return assembler.isa == KernelIsa::Amx && rows == 1 && panels == 1 ? 1 : 0;
  }
};

/// vpmaddubsw and vpaddw within a pass, vpmaddwd and vpaddd at its end.
class MultiplyAddPairs final : public DotEmitter {
public:
  using DotEmitter::DotEmitter;

  void start(const RowSums &, const Address &) override {}

  void dots(const RowSums &row, const std::vector<Line> &lines, const Address &x,
            size_t step) override {
    const bool first = step == 0;
    spread(activations(), x);
    for (size_t panel = 0; panel < lines.size(); ++panel) {
      const Xbyak::Ymm &sum = partials(row)[panel];
      const Xbyak::Ymm &product = first ? sum : lines.size() > 1 ? products() : activations();
      assembler.vpmaddubsw(product, lines[panel].codes, activations());
      if (!first)
        assembler.vpaddw(sum, sum, product);
    }
  }

  void endPass(const RowSums &row, const DotPass &pass, const Address &minus16Sum) override {
    const bool first = &pass == &passes().front();
    if (first && !startsAtZero())
      loadStart(activations(), minus16Sum);
    for (size_t panel = 0; panel < row.sums.size(); ++panel) {
      const Xbyak::Ymm &sum = row.sums[panel], &partial = partials(row)[panel];
      assembler.vpmaddwd(partial, partial, twoWords(pass.weight));
      if (!first)
        assembler.vpaddd(sum, sum, partial);
      else if (!startsAtZero())
        assembler.vpaddd(sum, activations(), partial);
    }
  }

protected:
  bool needsProducts(unsigned panels) const override { return panels > 1; }
  unsigned partialsFor(unsigned /*rows*/, unsigned panels) const override {
    return blockPasses.size() > 1 ? panels : 0;
  }

private:
  static const std::vector<VectorRegister> &partials(const RowSums &row) {
    return row.partials.empty() ? row.sums : row.partials;
  }

  /// `value` in every word; words have no embedded broadcast.
  Xbyak::Address twoWords(uint32_t value) {
    const std::vector<uint32_t> words(lanes.partFloats(), value << 16 | value);
    return assembler.ptr[assembler.rip + assembler.constant(words)];
  }
};

} // namespace

std::unique_ptr<DotEmitter> DotEmitter::create(KernelAssembler &assembler, LanesEmitter &lanes,
                                               WeightFormat format) {
  if (!isBlockFormat(format))
    fail(ErrorCode::Internal, "{} has no codes: expected a block format", weightFormatName(format));
  if (hasDotInstruction(assembler.isa))
    return std::make_unique<DotInstruction>(assembler, lanes, format);
  return std::make_unique<MultiplyAddPairs>(assembler, lanes, format);
}

DotEmitter::DotEmitter(KernelAssembler &kernelAssembler, LanesEmitter &lanesEmitter,
                       WeightFormat weights)
    : assembler(kernelAssembler), lanes(lanesEmitter), format(weights),
      blockPasses(passesOf(weights, hasDotInstruction(kernelAssembler.isa))) {}

void DotEmitter::prepare(unsigned panels) {
  takeTable();
  spreadActivations.emplace(lanes.takeRegister("spread activations or scale"));
  if (needsProducts(panels))
    productsRegister.emplace(lanes.takeRegister("products"));
}

void DotEmitter::finish() {
  table.reset(), nibbles.reset(), spreadActivations.reset(), productsRegister.reset();
}

/// Nibbles are masked by a register where there is one to spare, else from memory.
void DotEmitter::takeTable() {
  const bool lookedUp = format == WeightFormat::MXFP4;
  if (lookedUp) {
    table.emplace(lanes.takeRegister("code table"));
    const Xbyak::Label &label = assembler.constant(mxfp4CodeBytes(lanes.partFloats()));
    assembler.vmovups(*table, assembler.ptr[assembler.rip + label]);
  }
  const bool whole = blockPasses[0].steps[0].bits == CodeBits::Whole;
  const bool masked = !whole && !looksUpSixBits(format, assembler.isa);
  if (!masked || (lookedUp && !isWide(assembler.isa)))
    return;
  nibbles.emplace(lanes.takeRegister("nibble mask"));
  const Xbyak::Label &label = assembler.constant({lowNibbles});
  assembler.vpbroadcastd(*nibbles, assembler.dword[assembler.rip + label]);
}

DotEmitter::Line DotEmitter::takeLine() {
  return {lanes.takeRegister("line of codes"), lanes.takeRegister("decoded codes or scales")};
}

DotEmitter::RowSums DotEmitter::takeSums(unsigned rows, unsigned panels) {
  RowSums row;
  for (unsigned panel = 0; panel < panels; ++panel)
    row.sums.push_back(lanes.takeRegister("block sum"));
  for (unsigned partial = 0; partial < partialsFor(rows, panels); ++partial)
    row.partials.push_back(lanes.takeRegister("other sum of a block"));
  return row;
}

void DotEmitter::decode(const DotStep &step, const Line &line, const Address &lineStart,
                        bool loaded) {
  if (step.bits == CodeBits::Whole)
    return assembler.vmovups(line.codes, assembler.ptr[lineStart]);
  if (!loaded)
    assembler.vmovups(line.raw, assembler.ptr[lineStart]);
  if (step.bits == CodeBits::High) // the bits of the neighbour are masked
    assembler.vpsrld(line.raw, line.raw, 4);
  if (looksUpSixBits(format, assembler.isa)) {
    assembler.vpermb(line.codes, line.raw, *table); // 6 bits of index, the table 4 times
    return;
  }
  keepNibble(line.codes, line.raw);
  if (format == WeightFormat::MXFP4)
    assembler.vpshufb(line.codes, *table, line.codes);
}

void DotEmitter::keepNibble(const Xbyak::Ymm &to, const Xbyak::Ymm &from) {
  if (isWide(assembler.isa))
    assembler.vpandd(to, from, *nibbles);
  else if (nibbles)
    assembler.vpand(to, from, *nibbles);
  else
    assembler.vpand(to, from, lanes.constantOperand(lowNibbles));
}

/// minus16Sum times offset / 16: a shift, right ones exact.
void DotEmitter::loadStart(const Xbyak::Ymm &sum, const Address &minus16Sum) {
  if (startsAtZero()) {
    lanes.setZero(sum);
    return;
  }
  spread(sum, minus16Sum);
  if (format == WeightFormat::INT4)
    assembler.vpsrad(sum, sum, 1);
  else if (format == WeightFormat::INT8)
    assembler.vpslld(sum, sum, 3);
}

void DotEmitter::spread(const Xbyak::Ymm &to, const Address &dword) {
  assembler.vpbroadcastd(to, assembler.dword[dword]);
}

void DotEmitter::multiplyByScale(const Xbyak::Ymm &to, const Xbyak::Ymm &w, const Address &a) {
  if (isWide(assembler.isa))
    return assembler.vmulps(to, w, assembler.ptr_b[a]);
  assembler.vbroadcastss(to, assembler.dword[a]);
  assembler.vmulps(to, to, w);
}

void DotEmitter::scale(const Xbyak::Ymm &total, const Xbyak::Ymm &sum, const Xbyak::Ymm &w,
                       const Address &a) {
  assembler.vcvtdq2ps(sum, sum);
  multiplyByScale(activations(), w, a);
  assembler.vfmadd231ps(total, sum, activations());
}

/// 1.5 * 2^23 * w: 23 more in the exponent field, and the first bit of the fraction.
void DotEmitter::loadOrigin(const Xbyak::Ymm &origin, const Address &scales) {
  assembler.vpmovzxbd(origin, assembler.ptr[scales]);
  assembler.vpslld(origin, origin, 23);
  assembler.vpaddd(origin, origin, lanes.constantOperand(23u << 23 | 1u << 22));
}

void DotEmitter::startAtOrigins(const RowSums &row, const std::vector<Line> &origins,
                                const Address &minus16Sum) {
  for (size_t panel = 0; panel < row.sums.size(); ++panel)
    assembler.vpaddd(row.sums[panel], origins[panel].codes, assembler.ptr_b[minus16Sum]);
}

void DotEmitter::scaleFromOrigin(const Xbyak::Ymm &total, const Xbyak::Ymm &sum,
                                 const Xbyak::Ymm &origin, const Address &a) {
  assembler.vsubps(sum, sum, origin);
  assembler.vfmadd231ps(total, sum, assembler.ptr_b[a]);
}

void DotEmitter::loadNegativeSum(const Xbyak::Ymm &negativeSum, const Address &minus16Sum) {
  spread(negativeSum, minus16Sum);
  assembler.vpsrad(negativeSum, negativeSum, 4);
  assembler.vcvtdq2ps(negativeSum, negativeSum);
}

void DotEmitter::addMinimum(const Xbyak::Ymm &total, const Xbyak::Ymm &minimum, const Address &a,
                            const Xbyak::Ymm &negativeSum) {
  multiplyByScale(activations(), minimum, a);
  assembler.vfnmadd231ps(total, activations(), negativeSum);
}

} // namespace inf
