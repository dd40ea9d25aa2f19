// A packed block of 16 outputs has the order of a tile already (runtime/format/Pack.h):
//
//   line j, 64 bytes    o0 o0 o0 o0 | o1 o1 o1 o1 | ...    columns 4 j .. 4 j + 3 of 16 outputs
//                       = row j of the 8 rows that 32 columns make of tdpbssd's second operand
//
// So expanding is nothing but decoding each byte: a line of nibbles gives lines l (low) and 4 + l.
#include "codegen/linear/AmxWeights.h"

#include "codegen/LaneTables.h"

namespace inf {
namespace {

constexpr uint32_t lowNibbles = 0x0F0F0F0F, signBits = 0x80808080;

/// The value of code 0..15: mxfp4's counted twice, int4's without its offset.
int codeValue(WeightFormat format, unsigned code) {
  if (format == WeightFormat::INT4)
    return static_cast<int>(code) - 8;
  const int twice = static_cast<int>(2 * mxfp4Magnitudes[code % 8]);
  return code < 8 ? twice : -twice;
}

/// Four times the sixteen bytes, for vpshufb.
std::vector<uint32_t> valueTable(WeightFormat format) {
  std::vector<uint32_t> words(16);
  for (unsigned i = 0; i < 64; ++i)
    words[i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(codeValue(format, i % 16)))
                    << (8 * (i % 4));
  return words;
}

class Expansion {
public:
  Expansion(AmxContext &amxContext, const Gpr &from, const Gpr &to)
      : context(amxContext), a(context.a), lanes(*context.linear.lanes), source(from), target(to),
        format(context.linear.spec.weights),
        blockBytes(static_cast<int>(weightBytes(format, panelRows * blockColumns))),
        lookedUp(format == WeightFormat::MXFP4 || format == WeightFormat::INT4),
        mask(lanes.takeRegister("nibble mask or sign bits")),
        table(lanes.takeRegister("code table")) {
    const uint32_t bits = format == WeightFormat::INT8 ? signBits : lowNibbles;
    a.vpbroadcastd(mask, a.dword[a.rip + a.constant({bits})]);
    if (lookedUp)
      a.vmovups(table, a.ptr[a.rip + a.constant(valueTable(format))]);
  }

  void panel() {
    Xbyak::Label top;
    a.mov(context.linear.temp, context.stride);
    a.add(context.linear.temp, source);
    a.L(top);
    prefetch();
    for (unsigned line = 0; line < blockCodeBytes(format) / AmxContext::lineBytes; ++line)
      expandLine(line);
    expandScales();
    a.add(source, static_cast<uint32_t>(blockBytes));
    a.add(target, amxblock::bytes);
    a.cmp(source, context.linear.temp);
    a.jl(top);
  }

private:
  void prefetch() {
    constexpr int blocksAhead = 8;
    for (int line = 0; line < blockBytes; line += AmxContext::lineBytes)
      a.prefetcht1(a.ptr[source + blocksAhead * blockBytes + line]);
  }

  void expandLine(unsigned line) {
    const VectorRegister codes = lanes.takeRegister("line of codes");
    const LinearContext::Address from = source + static_cast<int>(line * AmxContext::lineBytes);
    if (format == WeightFormat::INT8) { // code + 128, modulo 256
      a.vpxord(codes, mask, a.ptr[from]);
      return store(lineAt(line), codes);
    }
    const VectorRegister low = lanes.takeRegister("low nibbles");
    a.vmovups(codes, a.ptr[from]);
    nibbles(low, codes);
    store(lineAt(line), low);
    a.vpsrld(codes, codes, 4); // the bits of the neighbour are masked
    nibbles(codes, codes);
    store(lineAt(line + 4), codes);
  }

  void nibbles(const Xbyak::Ymm &to, const Xbyak::Ymm &from) {
    a.vpandd(to, from, mask);
    if (lookedUp)
      a.vpshufb(to, table, to);
  }

  void expandScales() {
    const Lanes16 values = lanes.take("scales or minimums");
    const LinearContext::Address scales = source + static_cast<int>(blockCodeBytes(format));
    lanes.loadScales(values, format, scales);
    store(amxblock::scalesAt, values.parts[0]);
    if (format != WeightFormat::INT4A)
      return;
    lanes.loadScales(values, format, scales + static_cast<int>(16 * sizeof(uint16_t)));
    store(amxblock::minimumsAt, values.parts[0]);
  }

  static int lineAt(unsigned line) { return static_cast<int>(line * AmxContext::lineBytes); }
  void store(int at, const Xbyak::Ymm &values) { a.vmovups(a.ptr[target + at], values); }

  AmxContext &context;
  KernelAssembler &a;
  LanesEmitter &lanes;
  const Gpr &source, &target;
  const WeightFormat format;
  const int blockBytes;
  const bool lookedUp;
  const VectorRegister mask, table;
};

} // namespace

void emitExpandedPanel(AmxContext &context, const Gpr &from, const Gpr &to) {
  Expansion(context, from, to).panel();
}

} // namespace inf
