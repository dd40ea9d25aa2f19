#include "runtime/tokenizer/AddedTokens.h"

#include <algorithm>
#include <utility>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Quote.h"
#include "runtime/tokenizer/UnicodeForms.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {
namespace {

bool isWord(std::string_view character) {
  return firstSequence(character).kind == Utf8Kind::Valid &&
         isWordCharacter(codePointOf(character));
}

bool endsWithWord(std::string_view text) {
  return !text.empty() && isWord(text.substr(lastSequence(text)));
}

bool startsWithWord(std::string_view text) {
  return !text.empty() && isWord(text.substr(0, firstSequence(text).length));
}

} // namespace

void AddedTokens::add(std::string content, int32_t id, AddedTokenFlags flags) {
  if (content.empty() || content.size() > longest)
    fail(ErrorCode::BadInput, "added token {} ({}) has {} bytes, expected 1 to {}", id,
         quote(content), content.size(), longest);
  firstBytes[uint8_t(content[0])] = true;
  tokens.push_back({std::move(content), id, flags});
}

void AddedTokens::seal() {
  std::sort(tokens.begin(), tokens.end(),
            [](const Token &a, const Token &b) { return a.content < b.content; });
}

AddedTokens::Match AddedTokens::find(std::string_view text, size_t from) const {
  for (size_t at = from; at < text.size() && !tokens.empty(); ++at) {
    if (!firstBytes[uint8_t(text[at])])
      continue;
    Found found = longestAt(text, at);
    if (!found.token)
      continue;
    if (!found.token->flags.singleWord || standsAlone(text, found))
      return withSpace(text, from, found);
    at = found.end - 1;
  }
  return {text.size(), text.size(), -1};
}

int32_t AddedTokens::idOf(std::string_view content) const {
  Found found{nullptr, 0, 0};
  if (!content.empty())
    found = longestAt(content, 0);
  return found.token && found.end == content.size() ? found.token->id : -1;
}

/// Walks the sorted list as if it were a trie: after d bytes, [low, high) are the tokens that start
/// with those d bytes, and the one that ends there, if any, is the first of them.
AddedTokens::Found AddedTokens::longestAt(std::string_view text, size_t begin) const {
  Found best{nullptr, begin, begin};
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
      best = {&*low, begin, begin + depth + 1};
  }
  return best;
}

bool AddedTokens::standsAlone(std::string_view text, const Found &found) {
  return !endsWithWord(text.substr(0, found.begin)) && !startsWithWord(text.substr(found.end));
}

AddedTokens::Match AddedTokens::withSpace(std::string_view text, size_t from, const Found &found) {
  Match match{found.begin, found.end, found.token->id};
  if (found.token->flags.stripLeft)
    match.begin -= whiteSpaceSuffix(text.substr(from, match.begin - from));
  if (found.token->flags.stripRight)
    match.end += whiteSpacePrefix(text.substr(match.end));
  return match;
}

} // namespace inf
