// What a Tokenizer is made of: built once by a reader (FromJson, FromRanks), then only read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/AddedTokens.h"
#include "runtime/tokenizer/MergeTable.h"
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/tokenizer/PreTokenizer.h"
#include "runtime/tokenizer/SafeCuts.h"
#include "runtime/tokenizer/TokenDecoder.h"
#include "runtime/tokenizer/TokenTable.h"

namespace inf {

/// Added tokens, by what the caller allows to be found.
struct WholeTokens {
  AddedTokens any;           ///< recognised in any text
  AddedTokens anyAndSpecial; ///< recognised where the caller allows special tokens
};

struct TokenizerParts {
  TokenTable tokens;
  bool byteLevel = true;     ///< merging starts from single bytes, else from characters
  bool byteFallback = false; ///< a character without a token becomes byte tokens ("<0xE4>")
  bool fuseUnknown = false;  ///< a run of unknown characters is one unknown token
  int32_t unknown = -1;      ///< the token of what has no other; -1: such a text is refused
  std::array<int32_t, 256> byteIds{}; ///< the token of each single byte; -1: none
  MergeTable merges;                  ///< unused when mergeByRank
  bool mergeByRank = false;     ///< two tokens merge when their bytes are a token; its rank decides
  std::vector<uint32_t> ranks;  ///< [ids] for mergeByRank; empty: the id is the rank
  bool wholePieceFirst = false; ///< a piece that is a token is that token, whatever the merges say
  bool mayCut = true;           ///< characters merge by their own tokens alone, so SafeCuts holds
  SafeCuts cuts;                ///< empty for byte level, whose pieces are short
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  WholeTokens raw;                    ///< found in the text as it was given
  WholeTokens normalized;             ///< found in normalized text
  std::vector<int32_t> before, after; ///< what the model wants around a text
  TokenDecoder decoder;

  /// Enters an added token everywhere it belongs. Fails as TokenTable::add and AddedTokens::add do.
  void addWhole(int64_t id, std::string_view content, bool special, AddedTokenFlags flags = {}) {
    tokens.add(id, content, special ? TokenKind::Special : TokenKind::Added);
    find(raw, int32_t(id), std::string(content), special, flags);
  }

  /// Has token `id` found in `in` by `content`.
  static void find(WholeTokens &in, int32_t id, std::string content, bool special,
                   AddedTokenFlags flags) {
    if (!special)
      in.any.add(content, id, flags);
    in.anyAndSpecial.add(std::move(content), id, flags);
  }

  /// Another content that is recognised as the special token `id`, but that decoding never gives.
  void addAlias(int32_t id, std::string_view content) {
    tokens.refuseKnown(id, content);
    raw.anyAndSpecial.add(std::string(content), id);
  }

  /// Call when all tokens are in. Fails with BadInput when a byte of a byte-level vocabulary has no
  /// token.
  void seal();

  /// How the neighbours `left` and `right`, whose bytes together are `both`, merge, if at all.
  std::optional<Merge> merge(int32_t left, int32_t right, std::string_view both) const {
    if (!mergeByRank)
      return merges.find(left, right);
    int32_t id = tokens.findOrdinary(both);
    if (id < 0)
      return std::nullopt;
    return Merge{ranks.empty() ? uint32_t(id) : ranks[size_t(id)], id};
  }

  /// Whether each byte of `bytes` has a token of its own.
  bool hasBytes(std::string_view bytes) const;
};

} // namespace inf
