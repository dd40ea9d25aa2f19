// Chat formats given by a TemplateSpec.
#pragma once

#include "runtime/chat/Chat.h"
#include "runtime/chat/templates/TemplateSpec.h"

namespace inf {

class TemplateFormat final : public ChatFormat {
public:
  /// Fails with BadInput, naming it, when the vocabulary lacks a control token. Both must outlive
  /// this object.
  TemplateFormat(const Tokenizer &usedTokenizer, const TemplateSpec &templateSpec);

  std::string_view name() const override { return spec.name; }
  std::vector<int32_t> render(std::span<const ChatMessage> messages,
                              const ChatSettings &settings) const override;
  std::unique_ptr<ChatParser> parser(const ChatSettings &settings) const override;
  std::span<const int32_t> stopTokens() const override { return stops; }
  bool reasons() const override { return spec.thinks; }
  bool hasTools() const override { return spec.tools != ToolStyle::None; }

private:
  const Tokenizer &tokenizer;
  const TemplateSpec &spec;
  std::vector<int32_t> stops;
};

} // namespace inf
