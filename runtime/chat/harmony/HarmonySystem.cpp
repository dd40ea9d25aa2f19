#include "runtime/chat/harmony/HarmonySystem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chat/Effort.h"
#include "runtime/chat/harmony/BuiltinTools.h"
#include "runtime/chat/harmony/TypeScript.h"

namespace inf {
namespace {

std::string headLines(const HarmonySystem &system) {
  std::vector<std::string> lines;
  if (!system.identity.empty())
    lines.push_back(system.identity);
  if (!system.knowledgeCutoff.empty())
    lines.push_back("Knowledge cutoff: " + system.knowledgeCutoff);
  if (!system.date.empty())
    lines.push_back("Current date: " + system.date);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string channelLines(const HarmonySystem &system) {
  std::string text =
      fmt::format("# Valid channels: {}. Channel must be included for every message.",
                  fmt::join(system.channels, ", "));
  if (system.functions)
    text += "\nCalls to these tools must go to the commentary channel: 'functions'.";
  return text;
}

void addCommented(std::string &text, std::string_view lines) {
  while (!lines.empty()) {
    size_t end = lines.find('\n');
    text += fmt::format("// {}\n", lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

std::string functionTools(std::span<const ChatTool> tools) {
  std::string text = "## functions\n\nnamespace functions {\n\n";
  for (const ChatTool &tool : tools) {
    addCommented(text, tool.description);
    text += tool.parameters.empty()
                ? fmt::format("type {} = () => any;\n\n", tool.name)
                : fmt::format("type {} = (_: {}) => any;\n\n", tool.name, typeScriptOf(tool));
  }
  return text + "} // namespace functions";
}

} // namespace

std::string harmonySystemText(const HarmonySystem &system) {
  std::vector<std::string> sections;
  if (std::string head = headLines(system); !head.empty())
    sections.push_back(head);
  sections.push_back(fmt::format("Reasoning: {}", effortName(system.effort)));
  if (system.browser || system.python)
    sections.push_back("# Tools");
  if (system.browser)
    sections.emplace_back(browserToolText());
  if (system.python)
    sections.emplace_back(pythonToolText());
  if (!system.channels.empty())
    sections.push_back(channelLines(system));
  return fmt::format("{}", fmt::join(sections, "\n\n"));
}

std::string harmonyDeveloperText(std::string_view instructions, std::span<const ChatTool> tools) {
  std::vector<std::string> sections;
  if (!instructions.empty()) {
    sections.push_back("# Instructions");
    sections.emplace_back(instructions);
  }
  if (!tools.empty()) {
    sections.push_back("# Tools");
    sections.push_back(functionTools(tools));
  }
  return fmt::format("{}", fmt::join(sections, "\n\n"));
}

} // namespace inf
