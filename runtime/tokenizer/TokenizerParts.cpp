#include "runtime/tokenizer/TokenizerParts.h"

#include <algorithm>

#include <fmt/format.h>

namespace inf {
namespace {

std::array<int32_t, 256> byteTokens(const TokenTable &tokens) {
  std::array<int32_t, 256> ids;
  for (int byte = 0; byte < 256; ++byte)
    ids[size_t(byte)] = tokens.findOrdinary(fmt::format("<0x{:02X}>", byte));
  return ids;
}

void fillCuts(const TokenTable &tokens, SafeCuts &cuts) {
  size_t bytes = 0;
  for (int32_t id = 0; id < tokens.size(); ++id)
    bytes += tokens.kind(id) == TokenKind::None ? 0 : tokens.bytes(id).size();
  cuts.reserve(bytes);
  for (int32_t id = 0; id < tokens.size(); ++id)
    if (tokens.kind(id) == TokenKind::Ordinary || tokens.kind(id) == TokenKind::Added)
      cuts.addToken(tokens.bytes(id));
}

void sealWhole(WholeTokens &whole) {
  whole.any.seal();
  whole.anyAndSpecial.seal();
}

} // namespace

void TokenizerParts::seal() {
  sealWhole(raw);
  sealWhole(normalized);
  decoder.build(tokens);
  if (byteLevel) {
    byteIds = tokens.singleBytes();
    return;
  }
  byteIds.fill(-1);
  if (byteFallback)
    byteIds = byteTokens(tokens);
  bool everyByte = std::find(byteIds.begin(), byteIds.end(), -1) == byteIds.end();
  if (mayCut && (everyByte || !fuseUnknown)) // unknown characters may have to be fused over a cut
    fillCuts(tokens, cuts);
}

bool TokenizerParts::hasBytes(std::string_view bytes) const {
  return std::all_of(bytes.begin(), bytes.end(), [&](char c) { return byteIds[uint8_t(c)] >= 0; });
}

} // namespace inf
