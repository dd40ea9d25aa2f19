// Flags of a chat: `infrun chat`, and `infrun --prompt … --chat`.
#pragma once

#include <memory>
#include <string>

#include "runtime/chat/Chat.h"
#include "runtime/loader/Model.h"
#include "runtime/tools/Arguments.h"
#include "runtime/tools/chat/Conversation.h"

namespace inf {

struct ChatOptions {
  std::string system;
  std::string effort = "medium";
  std::string format; ///< "": the model's
  std::string date;   ///< "": today's; "none": no date
};

/// --system, --effort, --chat-format, --date.
void addChatOptions(CLI::App &app, ChatOptions &options);

/// Fails with Usage for an unknown effort or a date that is none.
ConversationOptions conversationOptions(const ChatOptions &options);

/// Fails with BadInput when the model's chat template is unknown, Usage for an unknown name.
std::unique_ptr<const ChatFormat> chatFormat(const Model &model, const ChatOptions &options);

} // namespace inf
