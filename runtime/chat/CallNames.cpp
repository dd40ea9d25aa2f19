#include "runtime/chat/CallNames.h"

#include "runtime/base/Error.h"

namespace inf {

void CallNames::see(const ChatMessage &message) {
  for (const ChatToolCall &call : message.toolCalls)
    nameOfCall[call.id] = call.name;
}

std::string CallNames::answered(const ChatMessage &message, size_t index) const {
  if (nameOfCall.empty())
    fail(ErrorCode::Usage,
         "message {} is a tool's answer, but no assistant's message before it calls a tool. Give "
         "the call first.",
         index);
  auto found = nameOfCall.find(message.toolCallId);
  if (found != nameOfCall.end())
    return found->second;
  if (message.toolCallId.empty() && !message.name.empty())
    return message.name;
  fail(ErrorCode::Usage,
       "message {} answers the tool call '{}', which no assistant's message before it makes. Give "
       "the id of one of its calls.",
       index, message.toolCallId);
}

} // namespace inf
