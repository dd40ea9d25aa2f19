// What Split and Replace look for: a string, or a regular expression.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/tokenizer/SplitPattern.h"

namespace inf {

class TextPattern {
public:
  static TextPattern literal(std::string text) { return TextPattern(std::move(text)); }
  static TextPattern regex(std::string_view regex) { return TextPattern(SplitPattern(regex)); }

  /// The first match at or after byte `from`; an empty literal matches nowhere. For a regular
  /// expression `text` must be well-formed UTF-8; fails as SplitPattern::find does.
  std::optional<SplitPattern::Match> find(std::string_view text, size_t from,
                                          SplitPattern::Scratch &scratch) const {
    if (pattern)
      return pattern->find(text, from, scratch);
    size_t at = words.empty() ? text.npos : text.find(words, from);
    if (at == text.npos)
      return std::nullopt;
    return SplitPattern::Match{at, at + words.size()};
  }

  /// Whether text has to be well-formed UTF-8.
  bool needsUtf8() const { return pattern.has_value(); }

  /// Calls `item(begin, end, isMatch)` for each match, empty ones included, and each non-empty gap
  /// between matches, in order.
  template <typename Item>
  void forEach(std::string_view text, SplitPattern::Scratch &scratch, Item &&item) const {
    size_t done = 0, from = 0;
    while (from < text.size()) {
      std::optional<SplitPattern::Match> match = find(text, from, scratch);
      if (!match)
        break;
      if (match->begin > done)
        item(done, match->begin, false);
      item(match->begin, match->end, true);
      done = match->end;
      from = match->end > match->begin ? match->end : SplitPattern::nextCharacter(text, match->end);
    }
    if (done < text.size())
      item(done, text.size(), false);
  }

private:
  explicit TextPattern(std::string text) : words(std::move(text)) {}
  explicit TextPattern(SplitPattern splitPattern) : pattern(std::move(splitPattern)) {}

  std::string words;
  std::optional<SplitPattern> pattern; ///< when set, `words` means nothing
};

} // namespace inf
