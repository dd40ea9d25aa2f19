// Which function a tool's answer belongs to.
#pragma once

#include <map>
#include <string>

#include "runtime/chat/Chat.h"

namespace inf {

/// Follows a conversation from its beginning.
class CallNames {
public:
  /// Of an assistant: remembers its calls.
  void see(const ChatMessage &message);
  /// The function that the tool's message `index` answers: by its call's id, else by its name.
  /// Fails with Usage, naming the index, when there is no such call or neither is given.
  std::string answered(const ChatMessage &message, size_t index) const;

private:
  std::map<std::string, std::string> nameOfCall;
};

} // namespace inf
