// Token ids back to text: the decoder of tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/tokenizer/TextPattern.h"
#include "runtime/tokenizer/TokenTable.h"

namespace inf {

/// Where the decoding of one text stands: its beginning is decoded differently.
struct DecodeState {
  bool first = true;     ///< no token has been decoded
  bool stripping = true; ///< so far all text was stripped
  uint32_t stripped = 0; ///< characters stripped from the start
  static DecodeState continuing() { return {false, false, 0}; }
};

struct ReplaceInToken {
  TextPattern pattern;
  std::string content;
};
/// A token written "<0xE4>" is that byte.
struct ByteTokens {};
struct StripToken {
  std::string character;
  size_t start = 0, stop = 0; ///< at most so many of it go at either end
};
/// U+2581 is a space; in the first token it is nothing, if `dropsFirst`.
struct MetaspaceToken {
  std::string replacement;
  bool dropsFirst = true;
};

class TokenDecoder {
public:
  using Step = std::variant<ReplaceInToken, ByteTokens, StripToken, MetaspaceToken>;

  /// Applied in order to each token by itself.
  void add(Step step);
  /// Of the whole text at most `count` of `character` go at its start.
  void stripText(std::string character, uint32_t count);

  /// Call when all tokens are in; without steps a token's bytes are its output. Fails with BadInput
  /// when a step gives up or the outputs are more than 4 GiB.
  void build(const TokenTable &tokens);

  /// What token `id`, which must be one, gives inside of a text; valid as long as this and
  /// `tokens`.
  std::string_view bytes(const TokenTable &tokens, int32_t id) const;
  /// Appends what it gives where the text stands.
  void append(const TokenTable &tokens, int32_t id, DecodeState &state, std::string &out) const;

private:
  struct Output {
    uint32_t offset = 0, length = 0; ///< into blob
  };

  std::string apply(std::string_view token, bool first, SplitPattern::Scratch &scratch) const;
  void strip(std::string_view &piece, DecodeState &state) const;

  std::vector<Step> steps;
  bool firstDiffers = false; ///< some step does something else to the first token
  std::string stripCharacter;
  uint32_t stripCount = 0;
  std::vector<Output> outputs; ///< [tokens.size()], empty without steps
  std::vector<char> blob;
};

} // namespace inf
