// Behaviour of Tokenizer on a vocabulary small enough to follow by hand.
#include "runtime/tokenizer/Tokenizer.h"

#include <thread>

#include <gmock/gmock.h>

#include "tests/runtime/tokenizer/SmallJson.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int32_t> encode(const nlohmann::json &json, std::string_view text,
                            SpecialTokens specials = SpecialTokens::AsText) {
  return Tokenizer::fromJson(json.dump()).encode(text, specials);
}

TEST(Tokenizer, MergesByRankLeftmostFirst) {
  auto json = test::smallJson();
  EXPECT_THAT(encode(json, "hello"), ElementsAre(259));
  EXPECT_THAT(encode(json, "help"), ElementsAre(256, 'l', 'p'));
  EXPECT_THAT(encode(json, "aaaaaaa"), ElementsAre(261, 260, 'a'));
  EXPECT_THAT(encode(json, ""), ElementsAre());
}

TEST(Tokenizer, MergesMayBeWrittenAsOneString) {
  auto json = test::smallJson();
  for (auto &merge : json["model"]["merges"])
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  EXPECT_THAT(encode(json, "hello"), ElementsAre(259));
}

TEST(Tokenizer, PiecesAreNotMergedAcross) {
  auto json = test::smallJson();
  json["model"]["vocab"]["o!"] = 270;
  json["model"]["merges"].push_back({"o", "!"});
  EXPECT_THAT(encode(json, "o!"), ElementsAre('o', '!'));
}

TEST(Tokenizer, IgnoreMergesTakesAWholePieceFirst) {
  auto json = test::smallJson();
  json["model"]["vocab"]["xyz"] = 270; // no merge leads there
  EXPECT_THAT(encode(json, "xyz"), ElementsAre('x', 'y', 'z'));
  json["model"]["ignore_merges"] = true;
  EXPECT_THAT(encode(json, "xyz"), ElementsAre(270));
  EXPECT_THAT(encode(json, "xyzz"), ElementsAre('x', 'y', 'z', 'z'));
}

TEST(Tokenizer, ByteLevelAloneSplitsByItsOwnRegex) {
  auto json = test::smallJson();
  json["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  json["model"]["vocab"]["aĠ"] = 270;
  json["model"]["merges"].push_back({"a", "Ġ"});
  EXPECT_THAT(encode(json, "a b"), ElementsAre('a', ' ', 'b'));
  json["pre_tokenizer"]["use_regex"] = false; // then the text is one piece
  EXPECT_THAT(encode(json, "a b"), ElementsAre(270, 'b'));
}

TEST(Tokenizer, SeveralSplitsWorkOneAfterTheOther) {
  auto json = test::smallJson();
  auto &stages = json["pre_tokenizer"]["pretokenizers"];
  auto second = stages[0];
  second["pattern"]["Regex"] = "e";
  stages.insert(stages.begin() + 1, second);
  EXPECT_THAT(encode(json, "hello"), ElementsAre('h', 'e', 257, 'o'));
}

TEST(Tokenizer, SpecialTokensAreTextUnlessAllowed) {
  auto json = test::smallJson();
  EXPECT_THAT(encode(json, "a<|end|>a", SpecialTokens::Allow), ElementsAre('a', 300, 'a'));
  EXPECT_THAT(encode(json, "<|end|>"), ElementsAre('<', '|', 'e', 'n', 'd', '|', '>'));
  EXPECT_THAT(encode(json, "<|end|", SpecialTokens::Allow),
              ElementsAre('<', '|', 'e', 'n', 'd', '|'));
}

// A vocabulary may repeat its special tokens (GPT-2 does); a piece must not find them there.
TEST(Tokenizer, AWholePieceIsNeverASpecialToken) {
  auto json = test::smallJson();
  json["model"]["ignore_merges"] = true;
  json["model"]["vocab"]["<|end|>"] = 300;
  json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "[^ ]+";
  EXPECT_THAT(encode(json, "<|end|>"), ElementsAre('<', '|', 'e', 'n', 'd', '|', '>'));
}

TEST(Tokenizer, AddedTokensThatAreNotSpecialAreAlwaysWhole) {
  EXPECT_THAT(encode(test::smallJson(), "a<tool>a"), ElementsAre('a', 301, 'a'));
}

// GPT-NeoX has runs of spaces among the added tokens and, under other ids, in the vocabulary.
TEST(Tokenizer, AnAddedTokenMayHaveTheBytesOfAnOrdinaryOne) {
  auto json = test::smallJson();
  json["model"]["vocab"]["ĠĠ"] = 270;
  json["model"]["merges"].push_back({"Ġ", "Ġ"});
  EXPECT_THAT(encode(json, "a  a"), ElementsAre('a', 270, 'a'));
  json["added_tokens"].push_back({{"id", 302}, {"content", "  "}, {"special", false}});
  EXPECT_THAT(encode(json, "a  a"), ElementsAre('a', 302, 'a'));
  EXPECT_EQ(Tokenizer::fromJson(json.dump()).decode(std::vector<int32_t>{270, 302}), "    ");
}

TEST(Tokenizer, InvalidBytesArePiecesOfTheirOwn) {
  EXPECT_THAT(encode(test::smallJson(), "aa\xFF\xFE"
                                        "aa"),
              ElementsAre(260, 0xFF, 0xFE, 260));
  EXPECT_THAT(encode(test::smallJson(), "aa\xF0\x9F"), ElementsAre(260, 0xF0, 0x9F));
}

TEST(Tokenizer, RepeatedPiecesOfALongTextEncodeAsTheFirst) {
  auto json = test::smallJson();
  std::string text;
  std::vector<int32_t> expected;
  for (int i = 0; i < 2000; ++i) {
    text += i % 3 ? "hello " : "help ";
    for (int32_t id :
         i % 3 ? std::vector<int32_t>{259, ' '} : std::vector<int32_t>{256, 'l', 'p', ' '})
      expected.push_back(id);
  }
  EXPECT_EQ(encode(json, text), expected);
}

TEST(Tokenizer, HolesAndIdsOutOfRangeAreErrors) {
  Tokenizer tokenizer = Tokenizer::fromJson(test::smallJson().dump());
  EXPECT_EQ(tokenizer.vocabularySize(), 302);
  for (int32_t id : {-1, 299, 302, INT32_MIN, INT32_MAX}) {
    auto message = [&](auto action) { return test::errorOf(ErrorCode::BadInput, action); };
    EXPECT_THAT(message([&] { tokenizer.tokenBytes(id); }),
                HasSubstr("token id " + std::to_string(id)));
    message([&] { tokenizer.isSpecial(id); });
    message([&] { tokenizer.decode(std::vector<int32_t>{'a', id}); });
  }
}

TEST(Tokenizer, DecodeShowsOrSkipsSpecialTokens) {
  Tokenizer tokenizer = Tokenizer::fromJson(test::smallJson().dump());
  std::vector<int32_t> ids{259, 300, 'a', 301};
  EXPECT_EQ(tokenizer.decode(ids), "hello<|end|>a<tool>");
  EXPECT_EQ(tokenizer.decode(ids, SpecialOutput::Skip), "helloa<tool>");
}

TEST(Tokenizer, ManyThreadsMayEncodeAtOnce) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "Once upon a time, there was a girl named Lily. ";
  auto expected = tokenizer.encode(text, SpecialTokens::AsText);
  std::vector<std::vector<int32_t>> results(4);
  std::vector<std::thread> threads;
  for (auto &result : results)
    threads.emplace_back([&] { result = tokenizer.encode(text, SpecialTokens::AsText); });
  for (auto &thread : threads)
    thread.join();
  for (auto &result : results)
    EXPECT_EQ(result, expected);
}

} // namespace
} // namespace inf
