// gpt-oss-tiny against the ids and texts its reference tokenizer gave.
#include <nlohmann/json.hpp>

#include "runtime/tokenizer/Detokenizer.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

using Json = nlohmann::json;

void checkPrompts(const std::string &path) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  auto lines = test::readLines(path);
  ASSERT_GE(lines.size(), 5u);
  for (const std::string &line : lines) {
    Json json = Json::parse(line);
    std::vector<int32_t> ids = json["ids"];
    if (json["text"].is_string()) { // one prompt is given as ids alone
      std::string text = json["text"];
      EXPECT_EQ(tokenizer.encode(text, SpecialTokens::Allow), ids) << text;
      EXPECT_EQ(tokenizer.decode(ids), text);
    }
    EXPECT_EQ(tokenizer.decode(json["greedy"].get<std::vector<int32_t>>()), json["greedy_text"]);
  }
}

TEST(Vectors, PromptsInTheRepositoryEncodeAndDecodeAsTheReferenceDid) {
  checkPrompts(INF_SOURCE_DIR "/tests/data/tokenizer/gpt_oss_tiny_prompts.jsonl");
}

TEST(Vectors, PromptsInTheSharedFolderEncodeAndDecodeAsTheReferenceDid) {
  auto shared = test::sharedFolder();
  if (!shared)
    GTEST_SKIP() << "the folder ../shared does not exist";
  checkPrompts(*shared + "/golden/prompts.jsonl");
}

TEST(Vectors, TheVocabularyIsThatOfTheModel) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  EXPECT_EQ(tokenizer.vocabularySize(), 4096);
  EXPECT_EQ(tokenizer.idOf("<|startoftext|>"), 4080);
  EXPECT_EQ(tokenizer.tokenBytes(4080), "<|startoftext|>");
  EXPECT_TRUE(tokenizer.isSpecial(4080));
  EXPECT_FALSE(tokenizer.isSpecial(491));
  EXPECT_EQ(tokenizer.tokenBytes(475), " upon");
  EXPECT_EQ(tokenizer.idOf(" upon"), 475);
  EXPECT_EQ(tokenizer.idOf("no such token"), std::nullopt);
}

} // namespace
} // namespace inf
