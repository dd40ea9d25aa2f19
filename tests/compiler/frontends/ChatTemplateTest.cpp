// Where a checkpoint's chat template is found, and by which words a broken one is refused.
#include <gtest/gtest.h>

#include "compiler/frontends/ChatTemplate.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf::test {
namespace {

std::string found(const TempFolder &folder) {
  const std::string path = findChatTemplate(folder / "");
  return path.substr(path.rfind('/') + 1);
}

void write(const TempFolder &folder, const char *name, const char *text) {
  writeBytes(folder / name, std::string(text));
}

TEST(ChatTemplate, ofAFileOfItsOwnComesBeforeThatOfTheConfiguration) {
  TempFolder folder;
  EXPECT_EQ(findChatTemplate(folder / ""), "");
  write(folder, "tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_EQ(findChatTemplate(folder / ""), "");
  write(folder, "tokenizer_config.json", R"({"chat_template": "{{ messages }}"})");
  EXPECT_EQ(found(folder), "tokenizer_config.json");
  write(folder, "chat_template.jinja", "{{ other }}");
  EXPECT_EQ(found(folder), "chat_template.jinja");
}

TEST(ChatTemplate, ofAConfigurationIsItsTextOrTheDefaultOfItsList) {
  const std::string path = "x/tokenizer_config.json";
  EXPECT_EQ(chatTemplateText("x/chat_template.jinja", "{\"a\": 1}"), "{\"a\": 1}");
  EXPECT_EQ(chatTemplateText(path, R"({"chat_template": "a\nb"})"), "a\nb");
  EXPECT_EQ(chatTemplateText(path, R"({"chat_template": [{"name": "tool_use", "template": "t"},
                                                         {"name": "default", "template": "d"}]})"),
            "d");
  EXPECT_EQ(chatTemplateText(path, R"({"chat_template": [{"name": "rag", "template": "r"}]})"),
            "r");
}

TEST(ChatTemplate, thatCanNotBeReadIsRefusedByName) {
  const auto refused = [](const char *text, const std::vector<std::string> &parts) {
    SCOPED_TRACE(text);
    expectFailure(ErrorCode::BadInput, parts, [&] { chatTemplateText("c.json", text); });
  };
  refused("[]", {"c.json", "expected an object"});
  refused("{}", {"chat_template is missing"});
  refused(R"({"chat_template": 3})", {"chat_template is number"});
  refused(R"({"chat_template": [3]})", {"\"name\""});
  refused(R"({"chat_template": [{"name": "a"}]})", {"\"template\""});
  refused(R"({"chat_template": []})", {"expected one named default"});
  refused(R"({"chat_template": [{"name": "a", "template": ""}, {"name": "b", "template": ""}]})",
          {"a, b", "chat_template.jinja"});
  TempFolder folder;
  write(folder, "tokenizer_config.json", "{");
  expectFailure(ErrorCode::BadInput, {"tokenizer_config.json"},
                [&] { findChatTemplate(folder / ""); });
}

} // namespace
} // namespace inf::test
