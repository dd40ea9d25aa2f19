// Messages to a prompt by a TemplateSpec.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/chat/CallNames.h"
#include "runtime/chat/Chat.h"
#include "runtime/chat/PromptBuilder.h"
#include "runtime/chat/templates/TemplateSpec.h"

namespace inf {

/// One prompt; made for one call of render().
class TemplateRender {
public:
  /// All must outlive this object.
  TemplateRender(const Tokenizer &tokenizer, const TemplateSpec &templateSpec,
                 std::span<const ChatMessage> allMessages, const ChatSettings &chatSettings);

  /// Fails with Usage, naming the message's index, for an order or a message that the format can't
  /// take, and for settings that it has no place for.
  std::vector<int32_t> run();

private:
  void checkSettings() const;
  void checkTurns() const;
  void systemMessage();
  std::string systemText() const;
  void message(size_t index);
  void user(size_t index);
  void assistant(size_t index);
  void toolAnswer(size_t index);
  void around(const RoleMarks &marks, std::string_view text);
  void mark(std::string_view text);
  std::string_view shown(const std::string &text) const;

  PromptBuilder prompt;
  const TemplateSpec &spec;
  std::span<const ChatMessage> messages;
  const ChatSettings &settings;
  CallNames calls;
  size_t leading = 0;                 ///< messages of instructions at the beginning
  size_t firstUser = 0, lastUser = 0; ///< indices; messages.size() when there is none
};

/// What the prompt writes of the answer when a tool must be called; "" when none must.
std::string requiredOpening(const TemplateSpec &spec, const ChatSettings &settings);

} // namespace inf
