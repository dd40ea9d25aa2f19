// Whatever goes in comes out.
#include <random>

#include "runtime/tokenizer/Detokenizer.h"
#include "runtime/tokenizer/Utf8.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

constexpr uint32_t seed = 4711; // printed with each failure
constexpr char repeat[] = "seed 4711, --gtest_filter=RoundTrip.*";

// Strings per tokenizer. Sanitizers make each twenty times as slow.
#ifdef __SANITIZE_ADDRESS__
constexpr int stringCount = 10000;
#else
constexpr int stringCount = 500000;
#endif

void appendUtf8(std::string &text, uint32_t c) {
  if (c < 0x80) {
    text += char(c);
  } else if (c < 0x800) {
    text += {char(0xC0 | c >> 6), char(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    text += {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 0x3F)), char(0x80 | (c & 0x3F))};
  } else {
    text += {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 0x3F)), char(0x80 | (c >> 6 & 0x3F)),
             char(0x80 | (c & 0x3F))};
  }
}

/// Not U+2581, which a tokenizer of characters takes for a space.
uint32_t randomCodePoint(std::mt19937 &random) {
  constexpr uint32_t limits[] = {0x80, 0x800, 0x3100, 0x10000, 0x110000};
  uint32_t c = random() % limits[random() % 5];
  return (c >= 0xD800 && c < 0xE000) || c == 0x2581 ? ' ' : c;
}

/// Both kinds: of bytes, and of characters with tokens for bytes.
std::vector<const Tokenizer *> bothKinds() {
  return {&test::tinyTokenizer(), &test::charactersTokenizer()};
}

std::string streamed(const Tokenizer &tokenizer, const std::vector<int32_t> &ids) {
  Detokenizer detokenizer(tokenizer, SpecialOutput::Show);
  std::string whole;
  for (int32_t id : ids)
    whole += detokenizer.push(id);
  return whole + detokenizer.finish();
}

TEST(RoundTrip, AMillionRandomStringsComeBackWholeAndInPieces) {
  SCOPED_TRACE(repeat);
  std::mt19937 random(seed);
  for (const Tokenizer *tokenizer : bothKinds())
    for (int run = 0; run < stringCount; ++run) {
      std::string text;
      for (uint32_t length = random() % 24; length > 0; --length)
        appendUtf8(text, randomCodePoint(random));
      ASSERT_EQ(validPrefix(text), text.size());
      auto ids = tokenizer->encode(text, SpecialTokens::AsText);
      ASSERT_EQ(tokenizer->decode(ids), text) << run;
      ASSERT_EQ(streamed(*tokenizer, ids), text) << run;
    }
}

TEST(RoundTrip, RandomBytesComeBack) {
  SCOPED_TRACE(repeat);
  std::mt19937 random(seed);
  for (const Tokenizer *tokenizer : bothKinds())
    for (int run = 0; run < 20000; ++run) {
      std::string text;
      for (uint32_t length = random() % 60; length > 0; --length)
        random() % 3 ? text += char(random()) : text += "<|end|> the"[random() % 11];
      auto ids = tokenizer->encode(text, SpecialTokens::AsText);
      ASSERT_EQ(tokenizer->decode(ids), text) << run;
      ASSERT_EQ(streamed(*tokenizer, ids), toWellFormed(text)) << run;
    }
}

TEST(RoundTrip, LongTextOfBothComesBack) {
  SCOPED_TRACE(repeat);
  std::mt19937 random(seed);
  const Tokenizer &tokenizer = test::tinyTokenizer();
  std::string text;
  while (text.size() < 300000)
    switch (random() % 4) {
    case 0:
      text += char(random());
      break;
    case 1:
      appendUtf8(text, randomCodePoint(random));
      break;
    default:
      text += random() % 2 ? " the" : "<|end|>";
    }
  for (auto specials : {SpecialTokens::AsText, SpecialTokens::Allow})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, specials)), text);
}

} // namespace
} // namespace inf
