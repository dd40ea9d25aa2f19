// What is rewritten in a text before it is cut into pieces.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/tokenizer/TextPattern.h"
#include "runtime/tokenizer/UnicodeForms.h"

namespace inf {

struct PrependStep {
  std::string text; ///< put in front of a text that is not empty
};

struct ReplaceStep {
  TextPattern pattern;
  std::string content; ///< taken literally
};

/// White space at the ends goes.
struct TrimStep {
  bool left = true, right = true;
};

class Normalizer {
public:
  using Step = std::variant<PrependStep, ReplaceStep, TrimStep, UnicodeForm>;

  void add(Step step) { steps.push_back(std::move(step)); }
  bool empty() const { return steps.empty(); }

  /// All steps in order. Bytes that are not UTF-8 stay as they are. Fails with BadInput as
  /// SplitPattern::find does, and with TooLong when the text grows beyond `limit` bytes.
  std::string run(std::string_view text, size_t limit, SplitPattern::Scratch &scratch) const;

private:
  std::vector<Step> steps;
};

/// `text` with every match replaced. Fails as Normalizer::run.
std::string replaceAll(const TextPattern &pattern, std::string_view content, std::string_view text,
                       size_t limit, SplitPattern::Scratch &scratch);

} // namespace inf
