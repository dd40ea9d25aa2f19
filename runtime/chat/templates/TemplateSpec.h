// Chat formats that put marks around each message, as data: what a published Jinja template writes
// for the messages that it takes. TemplateFormat renders by it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace inf {

/// What stands around the text of a message.
struct RoleMarks {
  std::string_view before, after;
};

/// Where instructions go.
enum class SystemPlace : uint8_t {
  Message,   ///< a message of their own
  FirstUser, ///< in front of the first user's text, between `systemMarks`
  LastUser,  ///< likewise in front of the last user's text
};

enum class ToolStyle : uint8_t {
  None,
  Tags,  ///< Qwen: declared in <tools>, called in <tool_call>, answered in <tool_response>
  Llama, ///< Llama 3.1: declared in the first user's text, the whole answer is the call
};

struct TemplateSpec {
  std::string_view name;
  std::span<const std::string_view> controls; ///< control tokens that occur in the marks
  std::string_view begin;                     ///< before everything
  RoleMarks system, user, assistant;
  std::string_view generation; ///< opens the answer
  std::span<const std::string_view> stops;
  SystemPlace systemPlace = SystemPlace::Message;
  std::string_view defaultSystem = ""; ///< when nobody gives instructions
  bool trims = false;                  ///< blanks around texts are taken off
  bool alternates = false;             ///< user and assistant take turns, the user begins
  ToolStyle tools = ToolStyle::None;
  bool thinks = false; ///< reasoning between <think> and </think>
  bool dates = false;  ///< the system message begins with two lines about dates (Llama 3.1)
};

std::span<const TemplateSpec> templateSpecs();
/// Null when there is none of this name.
const TemplateSpec *templateNamed(std::string_view name);
/// The format of a Jinja text, by what it contains; null when it is none of these.
const TemplateSpec *templateOf(std::string_view jinja);

} // namespace inf
