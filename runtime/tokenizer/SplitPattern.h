// The regular expression that cuts text into pieces before merging, run by PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace inf {

/// A compiled pattern. Immutable: any number of threads may search with it, each with its own
/// Scratch.
///
/// Patterns are written for Oniguruma (tokenizer.json) or Rust's fancy-regex (tiktoken); what means
/// something else in PCRE2 is refused (`^`, `$`, `\h`, sets inside sets) or rewritten: `\s` and
/// `\S` become the explicit White_Space set of Unicode, because PCRE2 also counts U+180E as space.
/// Letters and numbers are those of the Unicode version PCRE2 was built with.
class SplitPattern {
public:
  struct Match {
    size_t begin, end; ///< bytes of the text; begin == end is an empty match
  };

  /// Working memory of one search at a time.
  class Scratch {
  public:
    Scratch();

  private:
    friend class SplitPattern;
    struct FreeData {
      void operator()(void *data) const;
    };
    struct FreeLimits {
      void operator()(void *context) const;
    };
    std::unique_ptr<void, FreeData> matchData;
    std::unique_ptr<void, FreeLimits> limits;
  };

  /// Fails with BadInput, showing the pattern and the place, when it does not compile or would mean
  /// something else here.
  explicit SplitPattern(std::string_view regex);

  /// The first match at or after byte `from` of `text`, which must be well-formed UTF-8. Work and
  /// memory are bounded: fails with BadInput when the pattern backtracks without end on this text.
  std::optional<Match> find(std::string_view text, size_t from, Scratch &scratch) const;

  /// Where the character after the one at `at` begins.
  static size_t nextCharacter(std::string_view text, size_t at);

private:
  struct FreeCode {
    void operator()(void *code) const;
  };

  std::string source; ///< as given, for messages
  std::unique_ptr<void, FreeCode> code;
};

} // namespace inf
