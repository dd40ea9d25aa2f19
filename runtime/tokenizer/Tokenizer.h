// Text to token ids and back: byte-pair encoding, of bytes or (as SentencePiece does it) of
// characters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/TokenDecoder.h"

namespace inf {

struct TokenizerParts;

/// What "<|end|>" inside a text to encode means.
enum class SpecialTokens {
  AsText, ///< those seven characters; the choice for any text that a user or a web page wrote
  Allow,  ///< the special token; only for text the program wrote itself
};

/// Whether a text gets the tokens that the model wants around it: a begin-of-text token, say.
enum class TextEnds {
  Bare,   ///< none
  Begun,  ///< those in front that the tokenizer's file names (its post-processor), if any: what a
          ///< text to be continued begins with
  Marked, ///< those behind it too
};

/// What becomes of special tokens in text to show.
enum class SpecialOutput { Skip, Show };

struct SpecialToken {
  std::string text;
  int32_t id;
};

/// Immutable: every const method may be called from any number of threads at once.
class Tokenizer {
public:
  /// Reads the text of a Hugging Face tokenizer.json with a model of type BPE, or of our own type
  /// ScoredBPE (README.md); normalizers, pre-tokenizers, post-processors and decoders as README.md
  /// lists them. Fails with BadInput for broken files and, by name, for every type, option or key
  /// that is not implemented.
  static Tokenizer fromJson(std::string_view jsonText);

  /// Reads a tiktoken rank file: a line "base64(token) rank" per token, the rank being its id and
  /// the priority of the merge that makes it. `splitPattern` cuts text into pieces; `specials` are
  /// recognised only where allowed; where several share an id (Harmony names 200018 twice), the
  /// first is what decoding gives. Fails with BadInput.
  static Tokenizer fromRanks(std::string_view tiktokenFile, std::string_view splitPattern,
                             std::span<const SpecialToken> specials);

  explicit Tokenizer(std::unique_ptr<const TokenizerParts> tokenizerParts);
  ~Tokenizer();
  Tokenizer(Tokenizer &&) noexcept;
  Tokenizer &operator=(Tokenizer &&) noexcept;

  /// The token ids of a text of any bytes. A byte-level tokenizer without a normalizer, and one of
  /// characters with byte tokens that only marks spaces, lose nothing: decode() gives back exactly
  /// `text`, though bytes that are not well-formed UTF-8 are pieces of their own. Fails with
  /// TooLong above 1 GiB (before or after normalization), with BadInput when a pattern backtracks
  /// without end, or when a character has no token and the vocabulary none for such.
  std::vector<int32_t> encode(std::string_view text, SpecialTokens specials,
                              TextEnds ends = TextEnds::Bare) const;

  /// What TextEnds::Marked puts around a text.
  std::span<const int32_t> tokensBefore() const;
  std::span<const int32_t> tokensAfter() const;

  /// The bytes of all ids joined, decoded as the start of a text; not UTF-8 when the ids are cut
  /// inside a character. Fails with BadInput for an id without a token.
  std::string decode(std::span<const int32_t> ids,
                     SpecialOutput specials = SpecialOutput::Show) const;

  /// Appends to `out` what token `id`, special or not, gives where the text stands. Fails with
  /// BadInput for an id without a token, and then changes nothing.
  void decodeNext(int32_t id, DecodeState &state, std::string &out) const;

  /// The bytes that one token gives inside of a text; valid as long as this object lives. Fails
  /// with BadInput for an id without a token.
  std::string_view tokenBytes(int32_t id) const;

  /// Whether an id, any number, has a token.
  bool hasToken(int32_t id) const;

  /// Highest id + 1; some ids below may have no token.
  int32_t vocabularySize() const;

  /// Fails with BadInput for an id without a token.
  bool isSpecial(int32_t id) const;

  /// The id of the token, ordinary or special, with exactly these bytes (or, for a special token,
  /// another of its names). Where merging starts from characters, the text in the vocabulary
  /// counts: "▁upon", "<0x0A>".
  std::optional<int32_t> idOf(std::string_view tokenText) const;

private:
  void needToken(int32_t id) const;

  std::unique_ptr<const TokenizerParts> parts;
};

} // namespace inf
