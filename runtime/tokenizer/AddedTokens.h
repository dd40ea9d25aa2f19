// Finds tokens that are recognised as a whole ("<|end|>") in a text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inf {

class AddedTokens {
public:
  struct Match {
    size_t begin, end; ///< bytes of the text; begin == end when nothing was found
    int32_t id;
  };

  /// Content must be non-empty; several adds, then one `seal`.
  void add(std::string content, int32_t id);
  void seal();

  /// The leftmost match at or after `from`, the longest one there; {text.size(), text.size(), -1}
  /// if there is none.
  Match find(std::string_view text, size_t from) const;

private:
  struct Token {
    std::string content;
    int32_t id;
  };

  Match longestAt(std::string_view text, size_t begin) const;

  std::vector<Token> tokens;          ///< sorted by content
  std::array<bool, 256> firstBytes{}; ///< which bytes a token starts with
};

} // namespace inf
