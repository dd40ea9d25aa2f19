#include "runtime/tools/chat/AnswerPrinter.h"

namespace inf {
namespace {

constexpr std::string_view dim = "\033[2m", plain = "\033[22m";

} // namespace

std::string visibleControls(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) { // U+0080 … U+009F
      out += "^?";
      ++i;
    } else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      out += '^';
      out += static_cast<char>(byte ^ 0x40);
    } else {
      out += text[i];
    }
  }
  return out;
}

void AnswerPrinter::write(std::string_view text) {
  if (text.empty())
    return;
  out.write(options.terminal ? visibleControls(text) : std::string(text));
  lineOpen = text.back() != '\n';
}

void AnswerPrinter::enter(Part next) {
  if (part == next)
    return;
  if (part == Part::Reasoning) {
    out.write(plain);
    write(lineOpen ? "\n\n" : "\n");
  } else if (part == Part::Content) {
    write(lineOpen ? "\n" : "");
  }
  if (next == Part::Reasoning)
    out.write(dim);
  part = next;
}

void AnswerPrinter::show(const ChatDelta &delta) {
  if (delta.kind == ChatDelta::Kind::Reasoning) {
    if (options.hideReasoning || !options.terminal)
      return;
    enter(Part::Reasoning);
    write(delta.text);
    return;
  }
  enter(Part::Content);
  if (delta.kind == ChatDelta::Kind::ToolCallBegin)
    write((lineOpen ? "\n" : "") + delta.name + " ");
  else
    write(delta.text);
}

void AnswerPrinter::finish() {
  if (part == Part::Reasoning)
    out.write(plain);
  if (lineOpen || part == Part::Nothing)
    out.write("\n");
  part = Part::Nothing;
  lineOpen = false;
}

} // namespace inf
