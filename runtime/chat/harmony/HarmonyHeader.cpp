#include "runtime/chat/harmony/HarmonyHeader.h"

#include <string_view>

namespace inf {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::string_view wordEnds = " \t\r\n<";

/// The word at the front of `text` after blanks, taken off; "" when there is none.
std::string takeWord(std::string &text) {
  size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos)
    return "";
  size_t end = std::min(text.find_first_of(wordEnds, begin), text.size());
  std::string word = text.substr(begin, end - begin);
  if (!word.empty())
    text.erase(0, end);
  return word;
}

/// "to=NAME" as a word of its own, taken out of `text`.
std::string takeRecipient(std::string &text) {
  constexpr std::string_view key = "to=";
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    if (at > 0 && blanks.find(text[at - 1]) == std::string_view::npos)
      continue;
    size_t end = std::min(text.find_first_of(wordEnds, at), text.size());
    std::string name = text.substr(at + key.size(), end - at - key.size());
    size_t begin = at > 0 ? at - 1 : 0; // with the blank in front
    text.erase(begin, end - begin);
    return name;
  }
  return "";
}

bool blank(std::string_view text) {
  return text.find_first_not_of(blanks) == std::string_view::npos;
}

void readChannel(std::string text, HarmonyHeader &header) {
  std::string recipient = takeRecipient(text);
  header.channel = takeWord(text);
  if (!recipient.empty())
    header.recipient = recipient;
  // "commentary to=browser.search code": a type without <|constrain|>
  if (!header.recipient.empty() && header.type.empty() && !blank(text))
    header.type = takeWord(text);
  if (!blank(text))
    header.rest += text;
}

void readRole(std::string text, bool opened, HarmonyHeader &header) {
  std::string recipient = takeRecipient(text);
  if (!recipient.empty())
    header.recipient = recipient;
  std::string before = text, word = takeWord(text);
  if (!opened)
    header.author = word;
  else if (word != "assistant")
    text = before;
  if (!blank(text))
    header.rest += text;
}

void readConstrain(std::string text, HarmonyHeader &header) {
  std::string recipient = takeRecipient(text);
  if (!recipient.empty() && header.recipient.empty())
    header.recipient = recipient;
  header.type = takeWord(text);
  if (!blank(text))
    header.rest += text;
}

} // namespace

HarmonyHeader parseHeader(const std::vector<HeaderPart> &parts, bool opened) {
  HarmonyHeader header;
  if (opened)
    header.author = "assistant";
  for (const HeaderPart &part : parts)
    switch (part.kind) {
    case HeaderPart::Kind::Role:
      readRole(part.text, opened, header);
      break;
    case HeaderPart::Kind::Channel:
      readChannel(part.text, header);
      break;
    case HeaderPart::Kind::Constrain:
      readConstrain(part.text, header);
      break;
    }
  return header;
}

} // namespace inf
