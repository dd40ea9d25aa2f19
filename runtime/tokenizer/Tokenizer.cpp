#include "runtime/tokenizer/Tokenizer.h"

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Encoder.h"
#include "runtime/tokenizer/TokenizerParts.h"

namespace inf {
Tokenizer::Tokenizer(std::unique_ptr<const TokenizerParts> tokenizerParts)
    : parts(std::move(tokenizerParts)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer &&) noexcept = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) noexcept = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, SpecialTokens specials,
                                       TextEnds ends) const {
  if (text.size() > Encoder::textLimit)
    fail(ErrorCode::TooLong, "the text has {} bytes, expected at most {}; split it", text.size(),
         Encoder::textLimit);
  return Encoder(*parts, text.size()).run(text, specials, ends);
}

std::span<const int32_t> Tokenizer::tokensBefore() const { return parts->before; }
std::span<const int32_t> Tokenizer::tokensAfter() const { return parts->after; }

std::string Tokenizer::decode(std::span<const int32_t> ids, SpecialOutput specials) const {
  std::string out;
  DecodeState state;
  for (int32_t id : ids)
    if (specials == SpecialOutput::Show || !isSpecial(id))
      decodeNext(id, state, out);
  return out;
}

void Tokenizer::decodeNext(int32_t id, DecodeState &state, std::string &out) const {
  needToken(id);
  parts->decoder.append(parts->tokens, id, state, out);
}

std::string_view Tokenizer::tokenBytes(int32_t id) const {
  needToken(id);
  return parts->decoder.bytes(parts->tokens, id);
}

bool Tokenizer::hasToken(int32_t id) const {
  return id >= 0 && id < vocabularySize() && parts->tokens.kind(id) != TokenKind::None;
}

void Tokenizer::needToken(int32_t id) const {
  if (!hasToken(id))
    fail(ErrorCode::BadInput,
         "token id {} has no token, the vocabulary has {} ids; the ids are of another tokenizer",
         id, vocabularySize());
}

int32_t Tokenizer::vocabularySize() const { return parts->tokens.size(); }

bool Tokenizer::isSpecial(int32_t id) const {
  needToken(id);
  return parts->tokens.kind(id) == TokenKind::Special;
}

std::optional<int32_t> Tokenizer::idOf(std::string_view tokenText) const {
  int32_t id = parts->tokens.find(tokenText);
  if (id < 0)
    id = parts->raw.anyAndSpecial.idOf(tokenText); // another of its names
  return id < 0 ? std::nullopt : std::optional(id);
}

} // namespace inf
