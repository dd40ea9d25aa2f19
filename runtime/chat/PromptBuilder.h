// Pieces of a prompt to ids: control tokens apart from text, so that nobody's text becomes control.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/Tokenizer.h"

namespace inf {

/// The id of a control token. Fails with BadInput, naming it and the format, when the vocabulary
/// has none.
int32_t controlToken(const Tokenizer &tokenizer, std::string_view text, std::string_view format);

/// Text between two control tokens is encoded as one, as if the whole prompt had been written first
/// and cut at its control tokens afterwards: the ids that models have seen in training.
class PromptBuilder {
public:
  /// `tokenizer` must outlive this object.
  explicit PromptBuilder(const Tokenizer &usedTokenizer) : tokenizer(usedTokenizer) {}

  void control(int32_t id);
  /// Anybody's text: control tokens written out in it are ordinary characters.
  void text(std::string_view bytes) { pending += bytes; }
  /// Marks of a format: the `controls` in it are control tokens, the rest is text. Fails with
  /// BadInput when the vocabulary lacks one.
  void marks(std::string_view bytes, std::span<const std::string_view> controls,
             std::string_view format);
  std::vector<int32_t> take();

private:
  void flush();

  const Tokenizer &tokenizer;
  std::vector<int32_t> ids;
  std::string pending;
};

} // namespace inf
