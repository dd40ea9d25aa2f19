#include "runtime/tokenizer/AddedTokensJson.h"

#include <fmt/format.h>

namespace inf {
namespace {

void addToken(const FieldReader &token, TokenizerParts &parts, AddedByContent &byContent) {
  token.onlyKeys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  std::string content = token.text("content");
  int64_t id = token.integer("id");
  bool special = token.boolean("special", false);
  AddedTokenFlags flags{token.boolean("single_word", false), token.boolean("lstrip", false),
                        token.boolean("rstrip", false)};
  if (!token.boolean("normalized", !special) || parts.normalizer.empty()) {
    parts.addWhole(id, content, special, flags);
  } else {
    SplitPattern::Scratch scratch;
    parts.tokens.add(id, content, special ? TokenKind::Special : TokenKind::Added);
    TokenizerParts::find(parts.normalized, int32_t(id),
                         parts.normalizer.run(content, AddedTokens::longest, scratch), special,
                         flags);
  }
  byContent.emplace(std::move(content), AddedToken{id, special});
}

} // namespace

AddedByContent readAddedTokens(const FieldReader &root, TokenizerParts &parts) {
  AddedByContent byContent;
  if (!root.get("added_tokens"))
    return byContent;
  const Json &list = root.array("added_tokens");
  for (size_t i = 0; i < list.size(); ++i)
    addToken(FieldReader(list[i], fmt::format("added_tokens[{}]", i)), parts, byContent);
  return byContent;
}

} // namespace inf
