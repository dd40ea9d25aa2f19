#include "runtime/tokenizer/Detokenizer.h"

#include <random>

#include "runtime/tokenizer/Utf8.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

// Pushes all ids, checks that each piece is well-formed UTF-8, returns them joined.
std::string streamed(const Tokenizer &tokenizer, const std::vector<int32_t> &ids,
                     SpecialOutput specials) {
  Detokenizer detokenizer(tokenizer, specials);
  std::string whole;
  auto take = [&](const std::string &piece) {
    EXPECT_EQ(validPrefix(piece), piece.size());
    whole += piece;
  };
  for (int32_t id : ids)
    take(detokenizer.push(id));
  take(detokenizer.finish());
  return whole;
}

TEST(Detokenizer, CharactersSplitOverTokensArriveWhole) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  for (std::string text : {"A 😀 smile", "漢字とかな", "👩‍👩‍👧‍👦 family",
                           "e\u0301 naïve", "🇩🇪🇫🇷", "plain"}) {
    std::vector<int32_t> ids = tokenizer.encode(text, SpecialTokens::AsText);
    EXPECT_EQ(streamed(tokenizer, ids, SpecialOutput::Show), text);
  }
}

TEST(Detokenizer, AnUnfinishedCharacterIsHeldBack) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("\xF0")), "");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("\x9F")), "");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("\x98")), "");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("\x80")), "😀");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("\xF0")), "");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("a")), "\uFFFDa");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("\xE2")), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD");
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST(Detokenizer, SpecialTokensAreSkippedOrShown) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  auto ids = tokenizer.encode("a<|end|>b", SpecialTokens::Allow);
  EXPECT_EQ(streamed(tokenizer, ids, SpecialOutput::Skip), "ab");
  EXPECT_EQ(streamed(tokenizer, ids, SpecialOutput::Show), "a<|end|>b");
}

TEST(Detokenizer, AnIdWithoutTokenIsAnErrorAndChangesNothing) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  for (auto specials : {SpecialOutput::Skip, SpecialOutput::Show}) {
    Detokenizer detokenizer(tokenizer, specials);
    detokenizer.push(*tokenizer.idOf("\xC3"));
    for (int32_t id : {-1, 4096})
      test::errorOf(ErrorCode::BadInput, [&] { detokenizer.push(id); });
    EXPECT_EQ(detokenizer.push(*tokenizer.idOf("\xA9")), "é");
  }
}

TEST(Detokenizer, OnlyTheVeryFirstSpaceIsLeftOut) {
  const Tokenizer &tokenizer = test::charactersTokenizer();
  std::vector<int32_t> ids = tokenizer.encode(" the cat", SpecialTokens::AsText);
  EXPECT_EQ(streamed(tokenizer, ids, SpecialOutput::Show), " the cat");
  ids = tokenizer.encode("the cat", SpecialTokens::AsText);
  EXPECT_EQ(streamed(tokenizer, ids, SpecialOutput::Show), "the cat");
  std::string whole;
  Detokenizer continued(tokenizer, SpecialOutput::Show, TextPlace::Continuation);
  for (int32_t id : ids)
    whole += continued.push(id);
  EXPECT_EQ(whole + continued.finish(), " the cat");
}

TEST(Detokenizer, SkippedSpecialTokensAreNotTheStartOfATextAndShownOnesAre) {
  const Tokenizer &tokenizer = test::charactersTokenizer();
  std::vector<int32_t> ids = tokenizer.encode("<s>the", SpecialTokens::Allow);
  EXPECT_EQ(ids[0], 1);
  EXPECT_EQ(streamed(tokenizer, ids, SpecialOutput::Skip), "the");
  EXPECT_EQ(streamed(tokenizer, ids, SpecialOutput::Show), "<s> the");
}

TEST(Detokenizer, ByteTokensJoinToCharacters) {
  const Tokenizer &tokenizer = test::charactersTokenizer();
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("<0xE6>")), "");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("<0xBC>")), "");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("<0xA2>")), "漢");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("<0xE6>")), "");
  EXPECT_EQ(detokenizer.push(*tokenizer.idOf("a")), "\uFFFDa");
  EXPECT_EQ(tokenizer.tokenBytes(*tokenizer.idOf("<0xE6>")), "\xE6");
  EXPECT_EQ(tokenizer.tokenBytes(*tokenizer.idOf("\u2581")), " ");
}

TEST(Detokenizer, AfterFinishATextStartsAgain) {
  const Tokenizer &tokenizer = test::charactersTokenizer();
  Detokenizer detokenizer(tokenizer);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(detokenizer.push(*tokenizer.idOf("\u2581")), "");
    EXPECT_EQ(detokenizer.push(*tokenizer.idOf("\u2581")), " ");
    EXPECT_EQ(detokenizer.finish(), "");
  }
}

TEST(Detokenizer, PiecesOfRandomIdsOfCharactersJoinToTheWhole) {
  SCOPED_TRACE("seed 98, --gtest_filter=Detokenizer.*");
  std::mt19937 random(98);
  const Tokenizer &tokenizer = test::charactersTokenizer();
  for (int run = 0; run < 5000; ++run) {
    std::vector<int32_t> ids(random() % 30);
    for (int32_t &id : ids)
      id = int32_t(random() % uint32_t(random() % 2 ? 259 : tokenizer.vocabularySize()));
    for (auto specials : {SpecialOutput::Skip, SpecialOutput::Show})
      ASSERT_EQ(streamed(tokenizer, ids, specials), toWellFormed(tokenizer.decode(ids, specials)))
          << run;
  }
}

TEST(Detokenizer, PiecesOfRandomIdsJoinToTheWhole) {
  SCOPED_TRACE("seed 99, --gtest_filter=Detokenizer.*");
  std::mt19937 random(99);
  const Tokenizer &tokenizer = test::tinyTokenizer();
  for (int run = 0; run < 5000; ++run) {
    std::vector<int32_t> ids(random() % 30);
    for (int32_t &id : ids) // half of them single bytes, which seldom fit together
      id =
          random() % 2 ? *tokenizer.idOf(std::string(1, char(random()))) : int32_t(random() % 4096);
    for (auto specials : {SpecialOutput::Skip, SpecialOutput::Show})
      ASSERT_EQ(streamed(tokenizer, ids, specials), toWellFormed(tokenizer.decode(ids, specials)))
          << run;
  }
}

} // namespace
} // namespace inf
