// Which chat format a model has.
#include "runtime/base/Error.h"
#include "runtime/chat/Chat.h"
#include "runtime/chat/harmony/HarmonyFormat.h"
#include "runtime/chat/templates/TemplateFormat.h"

namespace inf {
namespace {

std::string knownNames() {
  std::string names = "harmony";
  for (const TemplateSpec &spec : templateSpecs())
    names.append(", ").append(spec.name);
  return names;
}

} // namespace

std::unique_ptr<const ChatFormat> ChatFormat::named(const Tokenizer &tokenizer,
                                                    std::string_view name) {
  if (name == "harmony")
    return std::make_unique<HarmonyFormat>(tokenizer);
  if (const TemplateSpec *spec = templateNamed(name))
    return std::make_unique<TemplateFormat>(tokenizer, *spec);
  fail(ErrorCode::Usage, "there is no chat format '{}'. Known: {}.", name, knownNames());
}

std::unique_ptr<const ChatFormat> ChatFormat::choose(const Tokenizer &tokenizer,
                                                     std::string_view architecture,
                                                     std::string_view chatTemplate) {
  if (architecture == "gpt_oss" || chatTemplate.find("<|channel|>") != std::string_view::npos)
    return named(tokenizer, "harmony");
  if (const TemplateSpec *spec = templateOf(chatTemplate))
    return std::make_unique<TemplateFormat>(tokenizer, *spec);
  fail(ErrorCode::BadInput,
       "{} Known formats: {}. Choose one by name, or give the prompt without a chat format.",
       chatTemplate.empty() ? "the model has no chat template."
                            : "the model's chat template is none of those known here.",
       knownNames());
}

} // namespace inf
