// Text to token ids and back: byte-level byte-pair encoding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inf {

struct TokenizerParts;

/// What "<|end|>" inside a text to encode means.
enum class SpecialTokens {
  AsText, ///< those seven characters; the choice for any text that a user or a web page wrote
  Allow,  ///< the special token; only for text the program wrote itself
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
  /// Reads the text of a Hugging Face tokenizer.json: model BPE; pre_tokenizer ByteLevel, or a
  /// Sequence of Split (Regex, Isolated) and a final ByteLevel; decoder ByteLevel. Fails with
  /// BadInput for broken files and, by name, for every type, option or key that is not implemented.
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

  /// The token ids of a text of any bytes, without a begin-of-text token. Bytes that are not
  /// well-formed UTF-8 are pieces of their own, so decode() gives back exactly `text`. Fails with
  /// TooLong above 1 GiB, with BadInput when the split pattern backtracks without end.
  std::vector<int32_t> encode(std::string_view text, SpecialTokens specials) const;

  /// The bytes of all ids joined; not UTF-8 when the ids are cut inside a character. Fails with
  /// BadInput for an id without a token.
  std::string decode(std::span<const int32_t> ids,
                     SpecialOutput specials = SpecialOutput::Show) const;

  /// The bytes of one token; valid as long as this object lives. Fails with BadInput for an id
  /// without a token.
  std::string_view tokenBytes(int32_t id) const;

  /// Whether an id, any number, has a token.
  bool hasToken(int32_t id) const;

  /// Highest id + 1; some ids below may have no token.
  int32_t vocabularySize() const;

  /// Fails with BadInput for an id without a token.
  bool isSpecial(int32_t id) const;

  /// The id of the token, ordinary or special, with exactly these bytes (or, for a special token,
  /// another of its names).
  std::optional<int32_t> idOf(std::string_view tokenText) const;

private:
  std::unique_ptr<const TokenizerParts> parts;
};

} // namespace inf
