#include "runtime/chat/templates/CallText.h"

#include <nlohmann/json.hpp>

namespace inf {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Behind the string that begins at `at`; the end of the text for one that is cut.
size_t afterString(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at)
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      return at + 1;
  return text.size();
}

/// Walks over JSON without judging it; knows how deep it is.
struct Walk {
  std::string_view text;
  size_t at = 0;
  int depth = 0;

  bool atEnd() const { return at >= text.size(); }
  void next() {
    char c = text[at];
    if (c == '"') {
      at = afterString(text, at);
      return;
    }
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    ++at;
  }
};

/// The value that begins at `at`, up to the ',' or '}' that ends it.
std::string_view valueAt(std::string_view text, size_t at) {
  Walk walk{text, at};
  while (!walk.atEnd()) {
    char c = text[walk.at];
    if (walk.depth == 0 && (c == ',' || c == '}'))
      break;
    walk.next();
  }
  return trimmed(text.substr(at, walk.at - at));
}

/// The text of a member of the outermost object; nullopt when there is none.
std::optional<std::string_view> member(std::string_view text, std::string_view key) {
  bool keyMayCome = true;
  for (Walk walk{text}; !walk.atEnd();) {
    size_t begin = walk.at;
    char c = text[begin];
    walk.next();
    if (walk.depth == 1 && c == ',')
      keyMayCome = true;
    if (walk.depth != 1 || c != '"' || !keyMayCome)
      continue;
    keyMayCome = false;
    size_t colon = text.find_first_not_of(blanks, walk.at);
    if (colon != std::string_view::npos && text[colon] == ':' && walk.at - begin >= 2 &&
        text.substr(begin + 1, walk.at - begin - 2) == key)
      return valueAt(text, colon + 1);
  }
  return std::nullopt;
}

} // namespace

std::optional<CallText> readCallText(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('{'))
    return std::nullopt;
  std::optional<std::string_view> name = member(text, "name");
  nlohmann::json parsed = name ? nlohmann::json::parse(*name, nullptr, false) : nlohmann::json();
  if (!parsed.is_string())
    return std::nullopt;
  std::optional<std::string_view> arguments = member(text, "arguments");
  if (!arguments)
    arguments = member(text, "parameters");
  return CallText{parsed.get<std::string>(), std::string(arguments.value_or("{}")),
                  nlohmann::json::accept(text)};
}

} // namespace inf
