#include "runtime/chat/RequiredTool.h"

#include <algorithm>

#include "runtime/base/Error.h"

namespace inf {

std::string requiredToolName(const ChatSettings &settings) {
  if (settings.tools.empty())
    fail(ErrorCode::Usage, "a tool must be called, but no tools are given. Give some.");
  if (settings.requiredTool.empty())
    return settings.tools.size() == 1 ? settings.tools.front().name : "";
  bool declared =
      std::any_of(settings.tools.begin(), settings.tools.end(),
                  [&](const ChatTool &tool) { return tool.name == settings.requiredTool; });
  if (!declared)
    fail(ErrorCode::Usage, "the tool '{}' must be called, but it isn't among the {} tools given.",
         settings.requiredTool, settings.tools.size());
  return settings.requiredTool;
}

} // namespace inf
