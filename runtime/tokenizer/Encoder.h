// One call of Tokenizer::encode.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/PairMerger.h"
#include "runtime/tokenizer/PieceCache.h"
#include "runtime/tokenizer/Tokenizer.h"

namespace inf {

/// Sections between added tokens are normalized and cut into pieces, pieces are merged.
class Encoder {
public:
  /// Bytes of a text, before and after normalization: offsets and nodes are 32-bit.
  static constexpr size_t textLimit = size_t(1) << 30;

  Encoder(const TokenizerParts &tokenizerParts, size_t textSize);

  /// Fails as Tokenizer::encode does. Call once.
  std::vector<int32_t> run(std::string_view text, SpecialTokens specials, TextEnds ends);

private:
  void section(std::string_view part, SpecialTokens specials, bool atStart);
  void words(std::string_view part, bool atStart);
  void piece(std::string_view bytes);
  void merge(std::string_view bytes);

  const TokenizerParts &parts;
  PairMerger merger;
  PieceCache cache;
  SplitPattern::Scratch scratch;
  std::vector<int32_t> ids;
};

} // namespace inf
