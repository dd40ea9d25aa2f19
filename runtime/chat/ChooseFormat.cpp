// Which chat format a model has.
#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/chat/Chat.h"
#include "runtime/chat/harmony/HarmonyFormat.h"

namespace inf {
namespace {

constexpr std::string_view knownNames = "harmony";

} // namespace

std::unique_ptr<const ChatFormat> ChatFormat::named(const Tokenizer &tokenizer,
                                                    std::string_view name) {
  if (name == "harmony")
    return std::make_unique<HarmonyFormat>(tokenizer);
  fail(ErrorCode::Usage, "there is no chat format '{}'. Known: {}.", name, knownNames);
}

std::unique_ptr<const ChatFormat> ChatFormat::choose(const Tokenizer &tokenizer,
                                                     std::string_view architecture,
                                                     std::string_view chatTemplate) {
  if (architecture == "gpt_oss" || chatTemplate.find("<|channel|>") != std::string_view::npos)
    return named(tokenizer, "harmony");
  fail(ErrorCode::BadInput,
       "{} Known formats: {}. Choose one by name, or give the prompt without a chat format.",
       chatTemplate.empty() ? "the model has no chat template."
                            : "the model's chat template is none of those known here.",
       knownNames);
}

} // namespace inf
