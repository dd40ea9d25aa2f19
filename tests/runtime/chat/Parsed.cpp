#include "tests/runtime/chat/Parsed.h"

#include <gtest/gtest.h>

#include "runtime/tokenizer/Utf8.h"

namespace inf::test {
namespace {

void add(const ChatDelta &delta, Parsed &parsed) {
  EXPECT_EQ(validPrefix(delta.text), delta.text.size());
  parsed.joined += delta.text;
  switch (delta.kind) {
  case ChatDelta::Kind::Reasoning:
    parsed.reasoning += delta.text;
    break;
  case ChatDelta::Kind::Content:
    parsed.content += delta.text;
    break;
  case ChatDelta::Kind::ToolCallBegin:
    EXPECT_EQ(delta.index, parsed.calls.size());
    EXPECT_EQ(delta.text, "");
    parsed.calls.push_back({delta.id, delta.name, ""});
    break;
  case ChatDelta::Kind::ToolCallArguments:
    ASSERT_LT(delta.index, parsed.calls.size());
    parsed.calls[delta.index].arguments += delta.text;
    break;
  }
  if (delta.kind != ChatDelta::Kind::ToolCallBegin) {
    EXPECT_NE(delta.text, "");
  }
}

} // namespace

Parsed parseAnswer(ChatParser &parser, std::span<const int32_t> ids, bool stopped) {
  Parsed parsed;
  std::vector<ChatDelta> deltas;
  auto take = [&] {
    for (const ChatDelta &delta : deltas)
      add(delta, parsed);
    deltas.clear();
  };
  for (int32_t id : ids) {
    parser.push(id, deltas);
    take();
  }
  parsed.end = parser.finish(stopped, deltas);
  take();
  parsed.reasoningTokens = parser.reasoningTokens();
  parsed.warning = parser.warning();
  return parsed;
}

} // namespace inf::test
