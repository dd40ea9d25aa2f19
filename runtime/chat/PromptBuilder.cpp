#include "runtime/chat/PromptBuilder.h"

#include <optional>
#include <utility>

#include "runtime/base/Error.h"

namespace inf {

int32_t controlToken(const Tokenizer &tokenizer, std::string_view text, std::string_view format) {
  std::optional<int32_t> id = tokenizer.idOf(text);
  if (!id)
    fail(ErrorCode::BadInput,
         "the chat format '{}' needs the token {}, which this model's vocabulary lacks. Choose "
         "another format, or give the prompt without one.",
         format, text);
  return *id;
}

void PromptBuilder::flush() {
  if (pending.empty())
    return;
  std::vector<int32_t> encoded = tokenizer.encode(pending, SpecialTokens::AsText);
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  pending.clear();
}

void PromptBuilder::control(int32_t id) {
  flush();
  ids.push_back(id);
}

void PromptBuilder::marks(std::string_view bytes, std::span<const std::string_view> controls,
                          std::string_view format) {
  while (!bytes.empty()) {
    size_t first = std::string_view::npos;
    std::string_view found;
    for (std::string_view name : controls)
      if (size_t at = bytes.find(name); at < first) {
        first = at;
        found = name;
      }
    text(bytes.substr(0, first));
    if (found.empty())
      return;
    control(controlToken(tokenizer, found, format));
    bytes.remove_prefix(first + found.size());
  }
}

std::vector<int32_t> PromptBuilder::take() {
  flush();
  return std::exchange(ids, {});
}

} // namespace inf
