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
  explicit Expansion(AmxContext &amxContext)
      : context(amxContext), a(context.a), lanes(*context.linear.lanes),
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

  void panel(unsigned panel, unsigned blocks) {
    Xbyak::Label top;
    a.lea(context.source, a.ptr[context.linear.cursor + context.stride * static_cast<int>(panel)]);
    a.xor_(context.offset, context.offset);
    a.L(top);
    prefetch();
    for (unsigned line = 0; line < blockCodeBytes(format) / AmxContext::lineBytes; ++line)
      expandLine(panel, line);
    expandScales(panel);
    a.add(context.source, static_cast<uint32_t>(blockBytes));
    a.add(context.offset, AmxContext::expandedBytes);
    a.cmp(context.offset, blocks * AmxContext::expandedBytes);
    a.jl(top);
  }

  uint32_t packedBytes(unsigned blocks) const { return blocks * static_cast<uint32_t>(blockBytes); }

private:
  /// A chunk ahead: the tiles of this one take longer than memory does.
  void prefetch() {
    const int ahead = static_cast<int>(AmxContext::mostBlocks) * blockBytes;
    for (int line = 0; line < blockBytes; line += AmxContext::lineBytes)
      a.prefetcht1(a.ptr[context.source + ahead + line]);
  }

  void expandLine(unsigned panel, unsigned line) {
    const VectorRegister codes = lanes.takeRegister("line of codes");
    const LinearContext::Address from =
        context.source + static_cast<int>(line * AmxContext::lineBytes);
    if (format == WeightFormat::INT8) { // code + 128, modulo 256
      a.vpxord(codes, mask, a.ptr[from]);
      return store(panel, line, codes);
    }
    const VectorRegister low = lanes.takeRegister("low nibbles");
    a.vmovups(codes, a.ptr[from]);
    nibbles(low, codes);
    store(panel, line, low);
    a.vpsrld(codes, codes, 4); // the bits of the neighbour are masked
    nibbles(codes, codes);
    store(panel, line + 4, codes);
  }

  void nibbles(const Xbyak::Ymm &to, const Xbyak::Ymm &from) {
    a.vpandd(to, from, mask);
    if (lookedUp)
      a.vpshufb(to, table, to);
  }

  void expandScales(unsigned panel) {
    const Lanes16 values = lanes.take("scales or minimums");
    const LinearContext::Address scales = context.source + static_cast<int>(blockCodeBytes(format));
    lanes.loadScales(values, format, scales);
    store(panel, AmxContext::scalesLine, values.parts[0]);
    if (format != WeightFormat::INT4A)
      return;
    lanes.loadScales(values, format, scales + static_cast<int>(16 * sizeof(uint16_t)));
    store(panel, AmxContext::minimumsLine, values.parts[0]);
  }

  void store(unsigned panel, unsigned line, const Xbyak::Ymm &values) {
    a.vmovups(a.ptr[context.frame + context.offset + AmxContext::expanded(panel, 0, line)], values);
  }

  AmxContext &context;
  KernelAssembler &a;
  LanesEmitter &lanes;
  const WeightFormat format;
  const int blockBytes;
  const bool lookedUp;
  const VectorRegister mask, table;
};

} // namespace

void emitExpandedWeights(AmxContext &context, unsigned panels, unsigned blocks) {
  Expansion expansion(context);
  for (unsigned panel = 0; panel < panels; ++panel)
    expansion.panel(panel, blocks);
  context.a.add(context.linear.cursor, expansion.packedBytes(blocks));
}

} // namespace inf
