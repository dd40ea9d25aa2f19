#include "runtime/chat/templates/ToolTexts.h"

#include <fmt/format.h>

#include "runtime/chat/Schema.h"

namespace inf {
namespace {

SchemaJson declaration(const ChatTool &tool) {
  SchemaJson function = {{"name", tool.name}, {"description", tool.description}};
  if (!tool.parameters.empty())
    function["parameters"] = parseToolSchema(tool);
  return {{"type", "function"}, {"function", function}};
}

/// "31 Jan 2026" of "2026-01-31"; as it is when it is no such date.
std::string llamaDate(const std::string &date) {
  constexpr std::string_view months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (date.size() != 10 || date[4] != '-' || date[7] != '-')
    return date;
  int month = (date[5] - '0') * 10 + (date[6] - '0');
  if (month < 1 || month > 12)
    return date;
  return fmt::format("{} {} {}", date.substr(8), months[month - 1], date.substr(0, 4));
}

} // namespace

std::string qwenToolText(const std::vector<ChatTool> &tools) {
  std::string text = "# Tools\n\nYou may call one or more functions to assist with the user "
                     "query.\n\nYou are provided with function signatures within <tools></tools> "
                     "XML tags:\n<tools>";
  for (const ChatTool &tool : tools)
    text.append("\n").append(pythonJson(declaration(tool)));
  return text + "\n</tools>\n\nFor each function call, return a json object with function name and "
                "arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": "
                "<function-name>, \"arguments\": <args-json-object>}\n</tool_call>";
}

std::string llamaToolText(const std::vector<ChatTool> &tools) {
  std::string text =
      "Given the following functions, please respond with a JSON for a function call with its "
      "proper arguments that best answers the given prompt.\n\nRespond in the format {\"name\": "
      "function name, \"parameters\": dictionary of argument name and its value}.Do not use "
      "variables.\n\n";
  for (const ChatTool &tool : tools)
    text.append(pythonJson(declaration(tool), 4)).append("\n\n");
  return text;
}

std::string llamaDateText(const std::string &date, bool tools) {
  return fmt::format("{}Cutting Knowledge Date: December 2023\nToday Date: {}\n\n",
                     tools ? "Environment: ipython\n" : "",
                     date.empty() ? "26 Jul 2024" : llamaDate(date));
}

} // namespace inf
