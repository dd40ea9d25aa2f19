#include "runtime/tokenizer/AddedTokens.h"

#include <gtest/gtest.h>

namespace inf {
namespace {

AddedTokens tokensOf(std::initializer_list<const char *> contents) {
  AddedTokens tokens;
  int32_t id = 0;
  for (const char *content : contents)
    tokens.add(content, id++);
  tokens.seal();
  return tokens;
}

TEST(AddedTokens, TheLeftmostIsFoundAndTheLongestThere) {
  AddedTokens tokens = tokensOf({"<a", "<a>", "<ab>", "b>"});
  auto match = tokens.find("x<ab><a>", 0);
  EXPECT_EQ(match.begin, 1u);
  EXPECT_EQ(match.end, 5u);
  EXPECT_EQ(match.id, 2);
  match = tokens.find("x<ab><a>", 5);
  EXPECT_EQ(match.id, 1);
  EXPECT_EQ(tokens.find("<ax", 0).id, 0); // falls back to the shorter one
}

TEST(AddedTokens, NothingFoundIsTheEndOfTheText) {
  AddedTokens tokens = tokensOf({"<a>"});
  for (const char *text : {"", "<", "<a", "a>", "<<<<a"}) {
    auto match = tokens.find(text, 0);
    EXPECT_EQ(match.id, -1) << text;
    EXPECT_EQ(match.begin, std::string_view(text).size());
  }
  EXPECT_EQ(AddedTokens().find("<a>", 0).id, -1);
}

TEST(AddedTokens, BytesAboveAsciiAreComparedUnsigned) {
  AddedTokens tokens = tokensOf({"\xFF\x01", "a\xFF", "az"});
  EXPECT_EQ(tokens.find("\xFF\x01", 0).id, 0);
  EXPECT_EQ(tokens.find("a\xFF", 0).id, 1);
  EXPECT_EQ(tokens.find("az", 0).id, 2);
}

} // namespace
} // namespace inf
