// What a Tokenizer is made of: built once by a reader (FromJson, FromRanks), then only read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/AddedTokens.h"
#include "runtime/tokenizer/MergeTable.h"
#include "runtime/tokenizer/SplitPattern.h"
#include "runtime/tokenizer/TokenTable.h"

namespace inf {

struct TokenizerParts {
  TokenTable tokens;
  std::array<int32_t, 256> byteIds{}; ///< the token of each single byte: where merging starts
  MergeTable merges;                  ///< unused when mergeByRank
  bool mergeByRank = false; ///< two tokens merge when their bytes are a token; its id is the rank
  bool wholePieceFirst = false; ///< a piece that is a token is that token, whatever the merges say
  std::vector<SplitPattern> patterns; ///< applied one after the other, each to the pieces before
  AddedTokens added;                  ///< recognised in any text
  AddedTokens addedAndSpecial;        ///< recognised where the caller allows special tokens

  /// Enters an added token everywhere it belongs. Fails as TokenTable::add does.
  void addWhole(int64_t id, std::string_view content, bool special) {
    tokens.add(id, content, special ? TokenKind::Special : TokenKind::Added);
    addedAndSpecial.add(std::string(content), int32_t(id));
    if (!special)
      added.add(std::string(content), int32_t(id));
  }

  /// Another content that is recognised as the special token `id`, but that decoding never gives.
  void addAlias(int32_t id, std::string_view content) {
    tokens.refuseKnown(id, content);
    addedAndSpecial.add(std::string(content), id);
  }

  /// Call when all tokens are in. Fails with BadInput when a byte has no token.
  void seal() {
    added.seal();
    addedAndSpecial.seal();
    byteIds = tokens.singleBytes();
  }

  /// How the neighbours `left` and `right`, whose bytes together are `both`, merge, if at all.
  std::optional<Merge> merge(int32_t left, int32_t right, std::string_view both) const {
    if (!mergeByRank)
      return merges.find(left, right);
    int32_t id = tokens.findOrdinary(both);
    if (id < 0)
      return std::nullopt;
    return Merge{uint32_t(id), id};
  }
};

} // namespace inf
