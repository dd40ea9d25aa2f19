// Merging that starts from characters, followed by hand.
#include <random>

#include <gmock/gmock.h>

#include "runtime/tokenizer/PairMerger.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int32_t> scored(std::string_view text) {
  static const Tokenizer tokenizer = Tokenizer::fromJson(test::scoredJson().dump());
  return tokenizer.encode(text, SpecialTokens::AsText);
}

constexpr int32_t firstByte = 3, ab = 259, bc = 260, abc = 261, cd = 262, a = 263, d = 266;

TEST(Characters, TheBestScoreMergesFirst) {
  EXPECT_THAT(scored("abcd"), ElementsAre(ab, cd));
  EXPECT_THAT(scored("abc"), ElementsAre(abc)); // "ab" before "bc": of equals the leftmost
  EXPECT_THAT(scored("aabc"), ElementsAre(a, abc));
  EXPECT_THAT(scored("bcd"), ElementsAre(264, cd));
  EXPECT_THAT(scored("bcbc"), ElementsAre(bc, bc));
  EXPECT_THAT(scored("dd"), ElementsAre(d, d));
}

TEST(Characters, UnknownOnesBecomeBytesUnlessTheyMerge) {
  EXPECT_THAT(scored("é"), ElementsAre(firstByte + 0xC3, firstByte + 0xA9));
  EXPECT_THAT(scored("éé"), ElementsAre(267)); // a token of characters that are none
  EXPECT_THAT(scored("a\xC3"), ElementsAre(a, firstByte + 0xC3));
  EXPECT_THAT(scored(" a"), ElementsAre(firstByte + ' ', a)); // this file marks no spaces
  EXPECT_THAT(scored("\u2581a"), ElementsAre(269));
}

TEST(Characters, TextNeverBecomesASpecialToken) {
  nlohmann::json json = test::scoredJson();
  for (const char *piece : {"<", "s", ">", "<s"})
    json["model"]["vocab"].push_back({piece, 0});
  Tokenizer tokenizer = Tokenizer::fromJson(json.dump());
  EXPECT_THAT(tokenizer.encode("<s>", SpecialTokens::AsText), ElementsAre(273, 272));
  EXPECT_THAT(tokenizer.encode("<s>", SpecialTokens::Allow), ElementsAre(1));
}

TEST(Characters, WithoutByteTokensTheUnknownTokenStands) {
  nlohmann::json json = test::scoredJson();
  json["model"]["byte_fallback"] = false;
  Tokenizer tokenizer = Tokenizer::fromJson(json.dump());
  EXPECT_THAT(tokenizer.encode("aé漢a", SpecialTokens::AsText), ElementsAre(a, 0, 0, a));
}

TEST(Characters, ACharacterThatNothingStandsForIsRefused) {
  nlohmann::json json = test::scoredJson();
  json["model"]["byte_fallback"] = false;
  json["model"]["unk_token"] = nullptr;
  Tokenizer byScore = Tokenizer::fromJson(json.dump());
  json = test::charactersJson();
  json["model"]["byte_fallback"] = false;
  json["model"]["unk_token"] = nullptr;
  Tokenizer byPair = Tokenizer::fromJson(json.dump());
  for (const Tokenizer *tokenizer : {&byScore, &byPair})
    EXPECT_THAT(test::errorOf(ErrorCode::BadInput,
                              [&] { tokenizer->encode("a漢", SpecialTokens::AsText); }),
                HasSubstr("\\xe6\\xbc\\xa2\" has no token"));
}

// Cuts are where no token reaches across; merging all at once must give the same.
TEST(Characters, SafeCutsChangeNothing) {
  SCOPED_TRACE("seed 5, --gtest_filter=Characters.*");
  std::mt19937 random(5);
  for (int vocabulary = 0; vocabulary < 40; ++vocabulary) {
    TokenizerParts parts;
    parts.byteLevel = false;
    parts.mergeByRank = true;
    std::vector<std::string> texts = {"a", "b", "c", "\u2581", "é"};
    for (int i = 0; i < 40; ++i)
      texts.push_back(texts[random() % texts.size()] + texts[random() % texts.size()]);
    for (const std::string &text : texts)
      if (text.size() < 12 && parts.tokens.find(text) < 0)
        parts.tokens.add(parts.tokens.size(), text, TokenKind::Ordinary);
    for (int32_t id = 0; id < parts.tokens.size(); ++id)
      parts.ranks.push_back(random() % 20);
    parts.seal();
    PairMerger merger(parts);
    for (int run = 0; run < 50; ++run) {
      std::string text;
      for (int i = 0; i < 40; ++i)
        text += texts[random() % 5];
      std::vector<int32_t> whole, cut;
      merger.run(text, whole);
      parts.cuts.forEach(text, [&](std::string_view part) { merger.run(part, cut); });
      ASSERT_EQ(cut, whole) << text;
    }
  }
}

TEST(Characters, ALongTextIsCutBetweenWords) {
  TokenizerParts parts;
  parts.byteLevel = false;
  for (const char *token : {"a", "b", "\u2581", "\u2581a", "ab", "\u2581\u2581"})
    parts.tokens.add(parts.tokens.size(), token, TokenKind::Ordinary);
  parts.seal();
  std::vector<std::string> found;
  parts.cuts.forEach("\u2581ab\u2581\u2581aab",
                     [&](std::string_view part) { found.emplace_back(part); });
  EXPECT_THAT(found, ElementsAre("\u2581ab", "\u2581\u2581a", "ab"));
}

} // namespace
} // namespace inf
