// How text is cut into the pieces that are merged, each by itself.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/tokenizer/SplitBehavior.h"
#include "runtime/tokenizer/TextPattern.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {

struct SplitStage {
  TextPattern pattern;
  SplitBehavior behavior = SplitBehavior::Isolated;
  bool invert = false; ///< gaps are what was looked for
};

/// A space in front of every piece that has none.
struct PrefixSpaceStage {};

enum class PrependScheme { Always, First, Never };

/// Spaces become `replacement` (U+2581), which begins a word.
struct MetaspaceStage {
  std::string replacement;
  PrependScheme prepend = PrependScheme::Always;
  bool split = true; ///< before every replacement
};

class PreTokenizer {
public:
  using Stage = std::variant<SplitStage, PrefixSpaceStage, MetaspaceStage>;

  void add(Stage stage) { stages.push_back(std::move(stage)); }

  /// Calls `emit(std::string_view)` for each piece, none of them empty, which is valid during the
  /// call. `atStart`: `text` begins the text that the caller gave. Bytes that are not UTF-8 are
  /// pieces of their own where a stage looks for a pattern. Fails as SplitPattern::find does.
  template <typename Emit>
  void run(std::string_view text, bool atStart, SplitPattern::Scratch &scratch, Emit &emit) const {
    apply(0, text, atStart, scratch, emit);
  }

private:
  template <typename Emit>
  void apply(size_t index, std::string_view text, bool atStart, SplitPattern::Scratch &scratch,
             Emit &emit) const {
    if (text.empty())
      return;
    if (index == stages.size())
      return emit(text);
    auto next = [&](std::string_view piece) {
      apply(index + 1, piece, atStart && piece.data() == text.data(), scratch, emit);
    };
    if (const auto *split = std::get_if<SplitStage>(&stages[index]))
      cutValidRuns(*split, text, scratch, next);
    else if (const auto *space = std::get_if<MetaspaceStage>(&stages[index]))
      cutWords(*space, text, atStart, scratch, [&](std::string_view piece, bool first) {
        apply(index + 1, piece, atStart && first, scratch, emit);
      });
    else if (text.front() == ' ')
      next(text);
    else
      apply(index + 1, std::string(1, ' ').append(text), atStart, scratch, emit);
  }

  template <typename Next>
  static void cutValidRuns(const SplitStage &stage, std::string_view text,
                           SplitPattern::Scratch &scratch, Next &next) {
    while (!text.empty()) {
      size_t valid = validPrefix(text);
      cut(stage, text.substr(0, valid), scratch, next);
      text.remove_prefix(valid);
      size_t invalid = invalidPrefix(text);
      if (invalid > 0)
        next(text.substr(0, invalid));
      text.remove_prefix(invalid);
    }
  }

  template <typename Next>
  static void cut(const SplitStage &stage, std::string_view text, SplitPattern::Scratch &scratch,
                  Next &next) {
    auto emit = [&](size_t begin, size_t end) { next(text.substr(begin, end - begin)); };
    PieceJoiner joiner(stage.behavior, emit);
    stage.pattern.forEach(text, scratch, [&](size_t begin, size_t end, bool isMatch) {
      joiner.add(begin, end, isMatch != stage.invert);
    });
    joiner.flush();
  }

  template <typename Next>
  static void cutWords(const MetaspaceStage &stage, std::string_view text, bool atStart,
                       SplitPattern::Scratch &scratch, Next &&next) {
    std::string words = withoutSpaces(stage, text, atStart);
    if (!stage.split)
      return next(words, true);
    auto emit = [&](size_t begin, size_t end) {
      next(std::string_view(words).substr(begin, end - begin), begin == 0);
    };
    PieceJoiner joiner(SplitBehavior::MergedWithNext, emit);
    TextPattern::literal(stage.replacement)
        .forEach(words, scratch,
                 [&](size_t begin, size_t end, bool match) { joiner.add(begin, end, match); });
    joiner.flush();
  }

  static std::string withoutSpaces(const MetaspaceStage &stage, std::string_view text,
                                   bool atStart);

  std::vector<Stage> stages; ///< applied one after the other, each to the pieces before
};

} // namespace inf
