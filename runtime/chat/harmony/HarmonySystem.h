// The texts of the two messages that open a Harmony conversation: system (who the model is, when,
// how hard it thinks, which channels) and developer (instructions, function tools).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat/Chat.h"

namespace inf {

struct HarmonySystem {
  std::string identity = "You are ChatGPT, a large language model trained by OpenAI.";
  std::string knowledgeCutoff = "2024-06"; ///< "" leaves the line out
  std::string date;                        ///< "2025-06-28"; "" leaves the line out
  ReasoningEffort effort = ReasoningEffort::Medium;
  bool browser = false, python = false; ///< declare these built-in tools
  std::vector<std::string> channels = {"analysis", "commentary", "final"};
  bool functions = false; ///< function tools are declared in a developer message
};

std::string harmonySystemText(const HarmonySystem &system);

/// "# Instructions" and "# Tools", each where there is something to say. Fails with Usage for a
/// tool whose parameters are no JSON schema, naming it.
std::string harmonyDeveloperText(std::string_view instructions, std::span<const ChatTool> tools);

} // namespace inf
