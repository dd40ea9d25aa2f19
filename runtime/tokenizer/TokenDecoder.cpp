#include "runtime/tokenizer/TokenDecoder.h"

#include <charconv>
#include <limits>
#include <utility>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Normalizer.h"

namespace inf {
namespace {

constexpr size_t outputLimit = std::numeric_limits<uint32_t>::max();

std::string byteOf(const std::string &token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
    return token;
  uint8_t byte = 0;
  auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return error == std::errc() && end == token.data() + 5 ? std::string(1, char(byte)) : token;
}

std::string stripped(const StripToken &step, std::string_view token) {
  for (size_t i = 0; i < step.start && token.starts_with(step.character); ++i)
    token.remove_prefix(step.character.size());
  for (size_t i = 0; i < step.stop && token.ends_with(step.character); ++i)
    token.remove_suffix(step.character.size());
  return std::string(token);
}

} // namespace

void TokenDecoder::add(Step step) {
  const auto *space = std::get_if<MetaspaceToken>(&step);
  firstDiffers = firstDiffers || (space && space->dropsFirst);
  steps.push_back(std::move(step));
}

void TokenDecoder::stripText(std::string character, uint32_t count) {
  stripCharacter = std::move(character);
  stripCount = count;
}

std::string TokenDecoder::apply(std::string_view token, bool first,
                                SplitPattern::Scratch &scratch) const {
  std::string text(token);
  for (const Step &step : steps)
    if (const auto *replace = std::get_if<ReplaceInToken>(&step))
      text = replaceAll(replace->pattern, replace->content, text, outputLimit, scratch);
    else if (const auto *strip = std::get_if<StripToken>(&step))
      text = stripped(*strip, text);
    else if (const auto *space = std::get_if<MetaspaceToken>(&step))
      text = replaceAll(TextPattern::literal(space->replacement),
                        first && space->dropsFirst ? "" : " ", text, outputLimit, scratch);
    else
      text = byteOf(text);
  return text;
}

void TokenDecoder::build(const TokenTable &tokens) {
  if (steps.empty())
    return;
  SplitPattern::Scratch scratch;
  outputs.resize(size_t(tokens.size()));
  for (int32_t id = 0; id < tokens.size(); ++id) {
    if (tokens.kind(id) == TokenKind::None)
      continue;
    std::string text = apply(tokens.bytes(id), false, scratch);
    if (text.size() > outputLimit - blob.size())
      fail(ErrorCode::BadInput, "tokenizer.json: the decoder makes more than 4 GiB of the tokens");
    outputs[size_t(id)] = {uint32_t(blob.size()), uint32_t(text.size())};
    blob.insert(blob.end(), text.begin(), text.end());
  }
}

std::string_view TokenDecoder::bytes(const TokenTable &tokens, int32_t id) const {
  if (outputs.empty())
    return tokens.bytes(id);
  return {blob.data() + outputs[size_t(id)].offset, outputs[size_t(id)].length};
}

void TokenDecoder::append(const TokenTable &tokens, int32_t id, DecodeState &state,
                          std::string &out) const {
  std::string begin;
  std::string_view piece = bytes(tokens, id);
  if (std::exchange(state.first, false) && firstDiffers) {
    SplitPattern::Scratch scratch;
    piece = begin = apply(tokens.bytes(id), true, scratch);
  }
  strip(piece, state);
  out += piece;
}

void TokenDecoder::strip(std::string_view &piece, DecodeState &state) const {
  for (; state.stripping && !piece.empty(); ++state.stripped) {
    state.stripping = state.stripped < stripCount && piece.starts_with(stripCharacter);
    if (state.stripping)
      piece.remove_prefix(stripCharacter.size());
  }
}

} // namespace inf
