#include "runtime/chat/templates/TemplateFormat.h"

#include "runtime/chat/PromptBuilder.h"
#include "runtime/chat/templates/TaggedParser.h"
#include "runtime/chat/templates/TemplateRender.h"

namespace inf {

TemplateFormat::TemplateFormat(const Tokenizer &usedTokenizer, const TemplateSpec &templateSpec)
    : tokenizer(usedTokenizer), spec(templateSpec) {
  for (std::string_view control : spec.controls)
    controlToken(tokenizer, control, spec.name);
  for (std::string_view stop : spec.stops)
    stops.push_back(controlToken(tokenizer, stop, spec.name));
}

std::vector<int32_t> TemplateFormat::render(std::span<const ChatMessage> messages,
                                            const ChatSettings &settings) const {
  return TemplateRender(tokenizer, spec, messages, settings).run();
}

std::unique_ptr<ChatParser> TemplateFormat::parser(const ChatSettings &settings) const {
  TaggedOptions options;
  options.thinks = spec.thinks;
  options.callTags = spec.tools == ToolStyle::Tags;
  options.wholeCall = spec.tools == ToolStyle::Llama && !settings.tools.empty();
  options.beginFinal = "\n</think>\n\n";
  return std::make_unique<TaggedParser>(tokenizer, options, requiredOpening(spec, settings));
}

} // namespace inf
