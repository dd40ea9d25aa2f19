// Finds tokens that are recognised as a whole ("<|end|>") in a text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inf {

/// How an added token is found, as tokenizer.json says it.
struct AddedTokenFlags {
  bool singleWord = false; ///< not inside of a word
  bool stripLeft = false;  ///< takes the white space before it along
  bool stripRight = false; ///< and after it
};

class AddedTokens {
public:
  struct Match {
    size_t begin, end; ///< bytes of the text; begin == end when nothing was found
    int32_t id;
  };

  /// Longer ones would make a search slow: it looks at so many bytes at each place of a text.
  static constexpr size_t longest = 1024;

  /// Several adds, then one `seal`. Fails with BadInput for content that is empty or too long.
  void add(std::string content, int32_t id, AddedTokenFlags flags = {});
  void seal();

  /// The leftmost match at or after `from`, the longest one there, with the white space it takes
  /// along (none before `from`); {text.size(), text.size(), -1} if there is none.
  Match find(std::string_view text, size_t from) const;

  /// The id of the token with exactly this content, or -1.
  int32_t idOf(std::string_view content) const;

private:
  struct Token {
    std::string content;
    int32_t id;
    AddedTokenFlags flags;
  };
  struct Found {
    const Token *token;
    size_t begin, end;
  };

  Found longestAt(std::string_view text, size_t begin) const;
  static bool standsAlone(std::string_view text, const Found &found);
  static Match withSpace(std::string_view text, size_t from, const Found &found);

  std::vector<Token> tokens;          ///< sorted by content
  std::array<bool, 256> firstBytes{}; ///< which bytes a token starts with
};

} // namespace inf
