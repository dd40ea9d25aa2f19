// The rank file of o200k (the vocabulary of gpt-oss-20b) against vectors of its reference
// tokenizer.
#include <nlohmann/json.hpp>

#include "runtime/tokenizer/Tokenizer.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

using Json = nlohmann::json;

class O200k : public testing::Test {
protected:
  void SetUp() override {
    auto folder = test::sharedFolder();
    if (!folder)
      GTEST_SKIP() << "the folder ../shared does not exist";
    shared = *folder;
  }

  void check(const std::string &name, SpecialTokens specials, size_t atLeast) {
    Tokenizer tokenizer = test::o200kTokenizer(shared);
    size_t count = 0;
    for (const std::string &line : test::readLines(shared + "/tokenizer/" + name)) {
      Json json = Json::parse(line);
      std::string text = json["text"];
      std::vector<int32_t> ids = json["ids"];
      EXPECT_EQ(tokenizer.encode(text, specials), ids) << line.substr(0, 300);
      EXPECT_EQ(tokenizer.decode(ids), text);
      ++count;
    }
    EXPECT_GE(count, atLeast);
  }

  std::string shared;
};

TEST_F(O200k, OrdinaryTextGivesTheReferenceIds) {
  check("o200k_vectors.jsonl", SpecialTokens::AsText, 575);
}

TEST_F(O200k, HarmonyTextGivesTheReferenceIds) {
  check("o200k_harmony_special_vectors.jsonl", SpecialTokens::Allow, 22);
}

TEST_F(O200k, SpecialTokensInTextAreOrdinaryUnlessAllowed) {
  Tokenizer tokenizer = test::o200kTokenizer(shared);
  for (int32_t id : tokenizer.encode("<|start|>user<|end|>", SpecialTokens::AsText))
    EXPECT_LT(id, 199998);
  EXPECT_EQ(tokenizer.vocabularySize(), 201088);
}

} // namespace
} // namespace inf
