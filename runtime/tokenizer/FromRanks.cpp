// Tokenizer::fromRanks: the rank files of tiktoken.
#include "runtime/tokenizer/Tokenizer.h"

#include <charconv>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Base64.h"
#include "runtime/tokenizer/Quote.h"
#include "runtime/tokenizer/TokenizerParts.h"

namespace inf {
namespace {

void addLine(TokenTable &tokens, std::string_view line, size_t number) {
  size_t space = line.find(' ');
  std::string_view rankText = space == line.npos ? "" : line.substr(space + 1);
  std::optional<std::string> bytes = decodeBase64(line.substr(0, space));
  int64_t rank = -1;
  auto [end, error] = std::from_chars(rankText.data(), rankText.data() + rankText.size(), rank);
  if (!bytes || error != std::errc() || end != rankText.data() + rankText.size())
    fail(ErrorCode::BadInput, "rank file, line {}: {}, expected base64, a space and a number",
         number, quote(line));
  tokens.add(rank, *bytes, TokenKind::Ordinary);
}

void addLines(TokenTable &tokens, std::string_view file) {
  for (size_t number = 1; !file.empty(); ++number) {
    size_t end = std::min(file.find('\n'), file.size());
    std::string_view line = file.substr(0, end);
    file.remove_prefix(std::min(end + 1, file.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (!line.empty())
      addLine(tokens, line, number);
  }
}

} // namespace

Tokenizer Tokenizer::fromRanks(std::string_view tiktokenFile, std::string_view splitPattern,
                               std::span<const SpecialToken> specials) {
  auto parts = std::make_unique<TokenizerParts>();
  parts->mergeByRank = true;
  parts->wholePieceFirst = true; // tiktoken looks a piece up before it merges
  addLines(parts->tokens, tiktokenFile);
  for (const SpecialToken &special : specials) {
    parts->tokens.refuseKnown(special.id, special.text);
    if (special.id >= 0 && special.id < parts->tokens.size() &&
        parts->tokens.kind(special.id) == TokenKind::Special)
      parts->addAlias(special.id, special.text);
    else
      parts->addWhole(special.id, special.text, /*special=*/true);
  }
  parts->preTokenizer.add(SplitStage{TextPattern::regex(splitPattern)});
  parts->seal();
  return Tokenizer(std::move(parts));
}

} // namespace inf
