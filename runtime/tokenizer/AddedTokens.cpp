#include "runtime/tokenizer/AddedTokens.h"

#include <algorithm>

namespace inf {

void AddedTokens::add(std::string content, int32_t id) {
  firstBytes[uint8_t(content[0])] = true;
  tokens.push_back({std::move(content), id});
}

void AddedTokens::seal() {
  std::sort(tokens.begin(), tokens.end(),
            [](const Token &a, const Token &b) { return a.content < b.content; });
}

AddedTokens::Match AddedTokens::find(std::string_view text, size_t from) const {
  if (!tokens.empty())
    for (size_t at = from; at < text.size(); ++at)
      if (firstBytes[uint8_t(text[at])])
        if (Match match = longestAt(text, at); match.id >= 0)
          return match;
  return {text.size(), text.size(), -1};
}

/// Walks the sorted list as if it were a trie: after d bytes, [low, high) are the tokens that start
/// with those d bytes, and the one that ends there, if any, is the first of them.
AddedTokens::Match AddedTokens::longestAt(std::string_view text, size_t begin) const {
  Match best{begin, begin, -1};
  auto low = tokens.begin(), high = tokens.end();
  for (size_t depth = 0; begin + depth < text.size(); ++depth) {
    uint8_t byte = uint8_t(text[begin + depth]);
    auto before = [&](const Token &token) {
      return token.content.size() <= depth || uint8_t(token.content[depth]) < byte;
    };
    auto upTo = [&](const Token &token) {
      return token.content.size() <= depth || uint8_t(token.content[depth]) <= byte;
    };
    low = std::partition_point(low, high, before);
    high = std::partition_point(low, high, upTo);
    if (low == high)
      break;
    if (low->content.size() == depth + 1)
      best = {begin, begin + depth + 1, low->id};
  }
  return best;
}

} // namespace inf
