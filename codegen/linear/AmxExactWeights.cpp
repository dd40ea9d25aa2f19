#include "codegen/linear/AmxExactWeights.h"

#include <array>
#include <bit>

#include "codegen/LaneTables.h"

namespace inf {
namespace {

constexpr int lineBytes = 64, scalesInBlock = 256;
/// Bits of a dword of a packed line where the first nibble of a pair is, the second being 8 behind
/// it; and the line of the tile they go to, but for 2 lines a packed one.
struct Pair {
  uint8_t bit;
  int tileLine;
};
constexpr std::array<Pair, 4> nibblePairs = {Pair{0, 0}, {4, 8}, {16, 1}, {20, 9}};

/// A small integer times 2^124, as a bf16.
uint32_t tableValue(unsigned code) {
  const float twice = 2 * mxfp4Magnitudes[code % 8];
  if (twice == 0)
    return 0;
  const uint32_t bits = std::bit_cast<uint32_t>(code < 8 ? twice : -twice);
  return (bits >> 16) + (124u << 7);
}

std::vector<uint32_t> valueTable() {
  std::vector<uint32_t> words(16);
  for (unsigned i = 0; i < 32; ++i)
    words[i / 2] |= tableValue(i % 16) << (16 * (i % 2));
  return words;
}

/// Of each 8 bytes, two dwords: words whose low bytes begin with the pair's nibbles.
std::vector<uint32_t> placesOf(const Pair &pair) {
  std::vector<uint32_t> words(16);
  for (unsigned i = 0; i < 16; ++i) {
    const uint32_t first = pair.bit + i % 2 * 32;
    words[i] = first | first << 8 | (first + 8) << 16 | (first + 8) << 24;
  }
  return words;
}

/// vpshufb: byte i of 16, there in each 128 bits, to both words of dword i, 0 above it.
std::vector<uint32_t> scalePlaces() {
  std::vector<uint32_t> words(16);
  for (uint32_t i = 0; i < 16; ++i)
    words[i] = 0x80008000 | i | i << 16;
  return words;
}

} // namespace

AmxExactWeights::AmxExactWeights(LinearContext &context)
    : a(context.a), lanes(*context.lanes), table(lanes.takeRegister("values of codes")),
      scaleOrder(lanes.takeRegister("places of scales")), limit(lanes.takeRegister("251")) {
  const auto set = [&](const VectorRegister &to, const std::vector<uint32_t> &words) {
    a.vmovups(to, a.ptr[a.rip + a.constant(words)]);
  };
  set(table, valueTable());
  set(scaleOrder, scalePlaces());
  set(limit, std::vector<uint32_t>(16, highestByte << 16 | highestByte));
  for (const Pair &pair : nibblePairs) {
    pairs.push_back(lanes.takeRegister("places of nibbles"));
    set(pairs.back(), placesOf(pair));
  }
}

VectorRegister AmxExactWeights::scales(const Address &block) const {
  VectorRegister words = lanes.takeRegister("251 - scale, as exponents of two words");
  a.vbroadcasti32x4(words, a.ptr[block + scalesInBlock]);
  a.vpshufb(words, words, scaleOrder);
  a.vpsubw(words, limit, words);
  a.vpsllw(words, words, 7);
  return words;
}

void AmxExactWeights::line(const Address &block, unsigned packed, const VectorRegister &scales,
                           const Address &to) const {
  const VectorRegister codes = lanes.takeRegister("line of codes"),
                       values = lanes.takeRegister("values");
  a.vmovups(codes, a.ptr[block + static_cast<int>(packed) * lineBytes]);
  for (size_t i = 0; i < nibblePairs.size(); ++i) {
    a.vpmultishiftqb(values, pairs[i], codes);
    a.vpermw(values, values, table);
    a.vpsubusw(values, values, scales);
    a.vmovups(a.ptr[to + (nibblePairs[i].tileLine + 2 * static_cast<int>(packed)) * lineBytes],
              values);
  }
}

} // namespace inf
