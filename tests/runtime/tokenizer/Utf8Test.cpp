#include "runtime/tokenizer/Utf8.h"

#include <gtest/gtest.h>

#include "runtime/tokenizer/ByteAlphabet.h"
#include "tests/runtime/tokenizer/SmallJson.h"

namespace inf {
namespace {

const std::string bad = "\xEF\xBF\xBD"; // U+FFFD

TEST(Utf8, WellFormedTextIsUnchanged) {
  for (std::string text : {"", "plain", "é漢😀", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF\xEE\x80\x80"})
    EXPECT_EQ(toWellFormed(text), text);
  EXPECT_EQ(toWellFormed(std::string("a\0b", 3)), std::string("a\0b", 3));
}

// The examples of the Unicode Standard 15.0, tables 3-8 to 3-11.
TEST(Utf8, EachMaximalSubpartBecomesOneReplacement) {
  EXPECT_EQ(toWellFormed("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            bad + bad + bad + bad + bad + bad + bad + bad + "A");
  EXPECT_EQ(toWellFormed("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            bad + bad + bad + bad + bad + bad + bad + bad + "A");
  EXPECT_EQ(toWellFormed("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            bad + bad + bad + bad + bad + "A" + bad + bad + "B");
  EXPECT_EQ(toWellFormed("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), bad + bad + bad + bad + "A");
}

TEST(Utf8, AnUnfinishedTailIsHeldBackAndNothingElse) {
  std::string pending = "ab\xF0\x9F\x98";
  EXPECT_EQ(takeWellFormed(pending), "ab");
  EXPECT_EQ(pending, "\xF0\x9F\x98");
  pending += "\x80!";
  EXPECT_EQ(takeWellFormed(pending), "😀!");
  EXPECT_EQ(pending, "");
  pending = "\xE2\x82\x41";
  EXPECT_EQ(takeWellFormed(pending), bad + "A");
  EXPECT_EQ(toWellFormed("\xF0\x9F\x98"), bad); // one subpart, not three
}

TEST(Utf8, PrefixesMeetAtTheBorderOfValidText) {
  std::string text = "0123456789é\x80\xFFz";
  EXPECT_EQ(validPrefix(text), 12u);
  EXPECT_EQ(invalidPrefix(text.substr(12)), 2u);
  EXPECT_EQ(invalidPrefix("z"), 0u);
  EXPECT_EQ(invalidPrefix("\xE2\x82"), 2u);
}

TEST(ByteAlphabet, EveryByteHasItsCharacter) {
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(bytesOfAlphabet(test::alphabetOf(byte)), std::string(1, char(byte)));
  EXPECT_EQ(bytesOfAlphabet("Ġhé"), " h\xE9");
}

TEST(ByteAlphabet, CharactersOutsideAreRefused) {
  for (std::string text : {" ", "a\n", "漢", "\xC5\x84", "\xC3", "\xFF", "\xC0\x80"})
    EXPECT_EQ(bytesOfAlphabet(text), std::nullopt) << text;
}

} // namespace
} // namespace inf
