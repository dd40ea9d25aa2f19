// Packed mxfp4 blocks to what tiles of bf16 multiply: codes times scales.
#pragma once

#include "codegen/linear/LinearContext.h"

namespace inf {

/// The registers and the code that make a tile of 16 lines (line i: columns 2 i and 2 i + 1 of 16
/// outputs) of a block, 32 columns of 16 outputs, whose scale bytes are at most `highestByte`.
///
/// A word of a packed line holds nibbles of neighbouring columns in its two bytes, of four words
/// each; vpmultishiftqb brings a pair's to the low ends of two words; vpermw looks up the lower
/// five bits of each word, the fifth being a neighbour's, so the table is there twice. Values stand
/// in it 2^124 times too large, and a saturating subtraction of (251 - byte) from the exponent
/// leaves a 0 what it is.
///
/// On Emerald Rapids vpermw takes a slot of port 0 and one of port 5, vpsubusw one of port 0,
/// vpmultishiftqb one of port 5: 33 of each for a block. With shifts, of port 0 alone, 45.
class AmxExactWeights {
public:
  using Address = LinearContext::Address;
  static constexpr unsigned highestByte = 251, packedLines = 4;

  explicit AmxExactWeights(LinearContext &context);

  /// Of the block, for lines(): what is subtracted from each word.
  VectorRegister scales(const Address &block) const;
  /// Four of the tile's lines, from one of the four packed ones.
  void line(const Address &block, unsigned packed, const VectorRegister &scales,
            const Address &to) const;

private:
  KernelAssembler &a;
  LanesEmitter &lanes;
  const VectorRegister table, scaleOrder, limit;
  std::vector<VectorRegister> pairs; ///< where vpmultishiftqb finds each pair of nibbles
};

} // namespace inf
