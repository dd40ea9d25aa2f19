#include "runtime/tokenizer/SplitPattern.h"

#include <chrono>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/tokenizer/PreTokenizer.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> piecesOf(const char *regex, std::string_view text) {
  PreTokenizer split;
  split.add(SplitStage{TextPattern::regex(regex)});
  SplitPattern::Scratch scratch;
  std::vector<std::string> pieces;
  auto emit = [&](std::string_view piece) { pieces.emplace_back(piece); };
  split.run(text, true, scratch, emit);
  return pieces;
}

TEST(SplitPattern, MatchesAndGapsAreBothPieces) {
  EXPECT_THAT(piecesOf("\\d+", "ab12cd3"), ElementsAre("ab", "12", "cd", "3"));
  EXPECT_THAT(piecesOf("x", "abc"), ElementsAre("abc"));
  EXPECT_THAT(piecesOf("x", ""), ElementsAre());
}

TEST(SplitPattern, EmptyMatchesCutButMakeNoPieces) {
  EXPECT_THAT(piecesOf("x*", "aéx"), ElementsAre("a", "é", "x"));
  EXPECT_THAT(piecesOf("(?=b)", "abab"), ElementsAre("a", "ba", "b"));
}

TEST(SplitPattern, ClassesAreThoseOfUnicode) {
  EXPECT_THAT(piecesOf("\\p{Lu}", "aÉb"), ElementsAre("a", "É", "b"));
  EXPECT_THAT(piecesOf("\\p{N}+", "a٣٤b"), ElementsAre("a", "٣٤", "b"));
}

// U+180E left White_Space in Unicode 6.3; U+0085 and U+3000 are in it, U+200B is not.
TEST(SplitPattern, SpaceIsTheWhiteSpaceSetOfUnicode) {
  EXPECT_THAT(piecesOf("\\s", "a\u180eb"), ElementsAre("a\u180eb"));
  EXPECT_THAT(piecesOf("[\\s]", "a\u180eb"), ElementsAre("a\u180eb"));
  EXPECT_THAT(piecesOf("[^\\S]", "a\u180eb"), ElementsAre("a\u180eb"));
  EXPECT_THAT(piecesOf("\\s", "a\u0085b\u3000c"), ElementsAre("a", "\u0085", "b", "\u3000", "c"));
  EXPECT_THAT(piecesOf("\\S+", "a\u200b b"), ElementsAre("a\u200b", " ", "b"));
}

TEST(SplitPattern, SpaceAndItsOppositeMeetWithoutGap) {
  SplitPattern pattern("[\\s\\S]"), other("[^\\s]"), outside("\\S");
  SplitPattern::Scratch scratch;
  for (uint32_t c = 1; c < 0x3100; ++c) {
    if (c >= 0x800 && c < 0x1600)
      continue; // nothing changes there
    std::string text = c < 0x80    ? std::string{char(c)}
                       : c < 0x800 ? std::string{char(0xC0 | c >> 6), char(0x80 | (c & 0x3F))}
                                   : std::string{char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 0x3F)),
                                                 char(0x80 | (c & 0x3F))};
    EXPECT_TRUE(pattern.find(text, 0, scratch)) << c;
    EXPECT_EQ(other.find(text, 0, scratch).has_value(), outside.find(text, 0, scratch).has_value())
        << c;
  }
}

TEST(SplitPattern, WhatMeansSomethingElseInPcreIsRefused) {
  for (const char *regex : {"^a", "a$", "\\h", "[\\h]", "\\Qa\\E", "a\\Kb", "[a&&b]", "[a[bc]]",
                            "[]a]", "[^]a]", "[[:alpha"})
    EXPECT_THAT(test::errorOf(ErrorCode::BadInput, [&] { SplitPattern pattern(regex); }),
                AllOf(HasSubstr("expected what regex engines read alike"),
                      HasSubstr("not supported. Compile with --no-tokenizer")))
        << regex;
  EXPECT_THAT(piecesOf("[[:digit:]]\\^\\$?", "a1^$b"), ElementsAre("a", "1^$", "b"));
}

TEST(SplitPattern, ABrokenPatternIsShownWithItsReason) {
  for (const char *regex : {"(", "[a", "a**(", "\\p{Nonsense}", "\\", "(?<", "\\C"})
    EXPECT_THAT(test::errorOf(ErrorCode::BadInput, [&] { SplitPattern pattern(regex); }),
                HasSubstr("does not compile"))
        << regex;
  std::string deep(100000, '(');
  test::errorOf(ErrorCode::BadInput, [&] { SplitPattern pattern(deep); });
}

TEST(SplitPattern, RunawayBacktrackingIsAnErrorNotAHang) {
  std::string text = std::string(40, 'a') + "bc";
  auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(test::errorOf(ErrorCode::BadInput, [&] { piecesOf("(?:a|a)+(?:a|a)+c", text); }),
              HasSubstr("gave up on the text at byte 0 of 42"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(SplitPattern, DeepRecursionUsesTheHeapWithinItsLimit) {
  std::string text = std::string(2000000, '(') + std::string(10, ')');
  SplitPattern pattern("\\((?R)?\\)|(?:(?:\\()(?R))?x");
  SplitPattern::Scratch scratch;
  try { // either answer will do; a crash will not
    pattern.find(text, 0, scratch);
  } catch (const Error &error) {
    EXPECT_EQ(error.code, ErrorCode::BadInput);
  }
}

} // namespace
} // namespace inf
