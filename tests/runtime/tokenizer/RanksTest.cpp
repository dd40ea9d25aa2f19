// Rank files of tiktoken made by hand.
#include <gmock/gmock.h>

#include "runtime/tokenizer/Tokenizer.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Token i < 256 is the byte i.
std::string byteLines() {
  const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string lines;
  for (unsigned byte = 0; byte < 256; ++byte)
    lines += std::string{digits[byte >> 2], digits[(byte & 3) << 4], '=', '='} + " " +
             std::to_string(byte) + "\n";
  return lines;
}

const std::vector<SpecialToken> specials{{"<|end|>", 300}};

Tokenizer fromLines(const std::string &more) {
  return Tokenizer::fromRanks(byteLines() + more, "[a-z]+", specials);
}

TEST(Ranks, TheRankOfTheMergedTokenDecides) {
  Tokenizer tokenizer = fromLines("YmM= 256\nYWI= 257\nYWJj 258"); // bc, ab, abc
  EXPECT_THAT(tokenizer.encode("abcx", SpecialTokens::AsText), ElementsAre(258, 'x'));
  EXPECT_THAT(tokenizer.encode("abx", SpecialTokens::AsText), ElementsAre(257, 'x'));
  EXPECT_EQ(tokenizer.vocabularySize(), 301);
}

TEST(Ranks, APieceThatIsATokenIsNotMerged) {
  Tokenizer tokenizer = fromLines("YWJj 256\r\n\r\n"); // abc, which no merge reaches; CRLF is fine
  EXPECT_THAT(tokenizer.encode("abc", SpecialTokens::AsText), ElementsAre(256));
  EXPECT_THAT(tokenizer.encode("abcd", SpecialTokens::AsText), ElementsAre('a', 'b', 'c', 'd'));
}

TEST(Ranks, SpecialTokensAreOnlyThoseOfTheText) {
  Tokenizer tokenizer = fromLines("");
  EXPECT_THAT(tokenizer.encode("a<|end|>", SpecialTokens::Allow), ElementsAre('a', 300));
  EXPECT_EQ(tokenizer.encode("<|end|>", SpecialTokens::AsText).size(), 7u);
}

TEST(Ranks, ASpecialTokenMayHaveSeveralNames) {
  std::vector<SpecialToken> names{{"<a>", 300}, {"<b>", 300}};
  Tokenizer tokenizer = Tokenizer::fromRanks(byteLines(), "[a-z]+", names);
  EXPECT_THAT(tokenizer.encode("<b><a>", SpecialTokens::Allow), ElementsAre(300, 300));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{300}), "<a>");
  EXPECT_EQ(tokenizer.idOf("<b>"), 300);
  EXPECT_EQ(tokenizer.idOf("<b"), std::nullopt);
  for (const char *text : {"", "<a>", "x"})
    test::errorOf(ErrorCode::BadInput, [&] {
      Tokenizer::fromRanks(byteLines(), "a", std::vector<SpecialToken>{{"<a>", 300}, {text, 300}});
    });
}

TEST(Ranks, BrokenLinesAreNamedByNumber) {
  for (const char *line : {"YWI=", "YWI= ", "YWI= x", "YWI= 2 3", "YW 256", " 256", "YWI=  256",
                           "YWI= 99999999999999999999", "YWI= 256 "})
    test::errorOf(ErrorCode::BadInput, [&] { fromLines(line); });
  EXPECT_THAT(test::errorOf(ErrorCode::BadInput, [] { fromLines("\n?\n"); }),
              HasSubstr("line 258: \"?\""));
}

TEST(Ranks, BrokenVocabulariesAreRefused) {
  auto message = [](const char *lines) {
    return test::errorOf(ErrorCode::BadInput, [&] { fromLines(lines); });
  };
  EXPECT_THAT(message("YWI= 0"), HasSubstr("id 0 is given twice"));
  EXPECT_THAT(message("YWI= 256\nYWI= 257"), HasSubstr("\"ab\" is given twice"));
  EXPECT_THAT(message("YWI= -1"), HasSubstr("id -1"));
  EXPECT_THAT(message("YWI= 2097152"), HasSubstr("expected 0 to 2097151"));
  EXPECT_THAT(message("YWI= 300"), HasSubstr("id 300 is given twice"));
  EXPECT_THAT(message("PHxlbmR8Pg== 256"), HasSubstr("\"<|end|>\" is given twice"));
  EXPECT_THAT(
      test::errorOf(ErrorCode::BadInput, [] { Tokenizer::fromRanks("YQ== 0\n", "a", specials); }),
      HasSubstr("single byte 0x00"));
}

} // namespace
} // namespace inf
