// Vocabularies of SentencePiece in a GGUF file: what the keys mean, and what is refused.
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/frontends/gguf/Metadata.h"
#include "compiler/frontends/gguf/Tokenizer.h"
#include "runtime/base/Error.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "tests/compiler/frontends/GgufBuilder.h"
#include "tests/compiler/frontends/TestModels.h"

namespace inf {
namespace {

using namespace test;
using testing::ElementsAre, testing::HasSubstr;

std::string jsonOf(const std::string &bytes) {
  const TempDir directory;
  directory.write("vocabulary.gguf", bytes);
  const GgufFile file(directory.file("vocabulary.gguf"));
  GgufMetadata metadata(file);
  std::vector<std::string> notes;
  return ggufTokenizerJson(metadata, notes);
}

Tokenizer tokenizerOf(const GgufBuilder &builder) {
  return Tokenizer::fromJson(jsonOf(builder.file()));
}

constexpr int32_t mark = 259, markA = 260, ab = 261, user = 262, unused = 263; // then a, b, x

/// "<unk>", "<s>", "</s>", the bytes, then the tokens above.
GgufBuilder scored() {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {2, 3, 3};
  std::vector<float> scores(259 + 8, 0);
  for (int byte = 0; byte < 256; ++byte) {
    texts.push_back(fmt::format("<0x{:02X}>", byte));
    types.push_back(6);
  }
  const std::tuple<const char *, int, float> more[] = {
      {"\u2581", 1, -10}, {"\u2581a", 1, -2}, {"ab", 1, -1}, {"<user>", 4, 0},
      {"xx", 5, -3},      {"a", 1, -11},      {"b", 1, -12}, {"x", 1, -13}};
  for (const auto &[text, type, score] : more) {
    scores[texts.size()] = score;
    texts.push_back(text);
    types.push_back(type);
  }
  GgufBuilder builder;
  builder.text("general.name", "small").text("tokenizer.ggml.model", "llama");
  builder.texts("tokenizer.ggml.tokens", texts).integers("tokenizer.ggml.token_type", types);
  builder.reals("tokenizer.ggml.scores", scores);
  builder.number("tokenizer.ggml.bos_token_id", 1).number("tokenizer.ggml.eos_token_id", 2);
  builder.number("tokenizer.ggml.unknown_token_id", 0);
  return builder;
}

std::vector<int32_t> encode(const GgufBuilder &builder, std::string_view text,
                            TextEnds ends = TextEnds::Bare) {
  return tokenizerOf(builder).encode(text, SpecialTokens::AsText, ends);
}

TEST(GgufScored, TheBestScoreMergesFirstAndEachTypeHasItsMeaning) {
  EXPECT_THAT(encode(scored(), "ab"), ElementsAre(mark, ab)); // "ab" scores above "▁a"
  EXPECT_THAT(encode(scored(), "a"), ElementsAre(markA));
  EXPECT_THAT(encode(scored(), "a<user>a"), ElementsAre(markA, user, markA));
  EXPECT_THAT(encode(scored(), "xx"), ElementsAre(mark, unused)); // as llama.cpp does
  EXPECT_THAT(encode(scored(), "\n"), ElementsAre(mark, 3 + '\n'));
  EXPECT_TRUE(tokenizerOf(scored()).isSpecial(0));
  EXPECT_FALSE(tokenizerOf(scored()).isSpecial(user));
}

TEST(GgufScored, KeysDecideAboutSpacesAndEnds) {
  EXPECT_THAT(encode(scored(), "a", TextEnds::Marked), ElementsAre(1, markA));
  GgufBuilder builder = scored();
  builder.flag("tokenizer.ggml.add_bos_token", false).flag("tokenizer.ggml.add_eos_token", true);
  EXPECT_THAT(encode(builder, "a", TextEnds::Marked), ElementsAre(markA, 2));
  builder.flag("tokenizer.ggml.add_space_prefix", false);
  EXPECT_THAT(encode(builder, "ab a"), ElementsAre(ab, markA));
  EXPECT_EQ(tokenizerOf(builder).decode(std::vector<int32_t>{markA}), " a");
  EXPECT_EQ(tokenizerOf(scored()).decode(std::vector<int32_t>{markA}), "a");
  builder = scored().flag("tokenizer.ggml.remove_extra_whitespaces", true);
  EXPECT_THAT(encode(builder, "  a   a "), ElementsAre(markA, markA));
}

std::string refusal(const std::function<void(GgufBuilder &)> &change) {
  GgufBuilder builder = scored();
  change(builder);
  return badInput([&] { tokenizerOf(builder); });
}

TEST(GgufScored, WhatIsBrokenIsNamed) {
  const auto remove = [](const char *key) {
    return refusal([=](GgufBuilder &b) { b.remove(key); });
  };
  EXPECT_THAT(remove("tokenizer.ggml.scores"), HasSubstr("scores\" is missing"));
  EXPECT_THAT(remove("tokenizer.ggml.token_type"), HasSubstr("token_type\" is missing"));
  const auto scores = [](std::vector<float> values) {
    return refusal([&](GgufBuilder &b) { b.reals("tokenizer.ggml.scores", values); });
  };
  EXPECT_THAT(scores({1, 2}), HasSubstr("has 2 scores, expected one for each of 267"));
  std::vector<float> broken(267, 0);
  broken[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(scores(broken), HasSubstr("nan at 7"));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.integers("tokenizer.ggml.scores", {1}); }),
              HasSubstr("expected one of f32"));
  const auto number = [](const char *key, uint32_t value) {
    return refusal(
        [=](GgufBuilder &b) { b.number(key, value).flag("tokenizer.ggml.add_eos_token", true); });
  };
  EXPECT_THAT(number("tokenizer.ggml.unknown_token_id", 267), HasSubstr("is 267"));
  EXPECT_THAT(number("tokenizer.ggml.eos_token_id", 300), HasSubstr("is 300"));
  EXPECT_THAT(refusal([](GgufBuilder &b) {
                b.remove("tokenizer.ggml.eos_token_id").flag("tokenizer.ggml.add_eos_token", true);
              }),
              HasSubstr("eos_token_id\" is missing, but"));
  std::vector<int32_t> types(267, 1);
  types[5] = 7;
  EXPECT_THAT(refusal([&](GgufBuilder &b) { b.integers("tokenizer.ggml.token_type", types); }),
              HasSubstr("the type 7"));
  types[5] = 1, types[265] = 6;
  EXPECT_THAT(refusal([&](GgufBuilder &b) { b.integers("tokenizer.ggml.token_type", types); }),
              HasSubstr("token 265, \"b\", is a byte"));
}

TEST(GgufScored, RandomlyDamagedFilesNeverCrash) {
  SCOPED_TRACE("seed 21, --gtest_filter=GgufScored.*");
  std::mt19937 random(21);
  const std::string original = scored().file();
  for (int run = 0; run < 2000; ++run) {
    std::string bytes = original;
    for (uint32_t i = random() % 4 + 1; i > 0; --i)
      bytes[random() % bytes.size()] = char(random());
    try {
      Tokenizer::fromJson(jsonOf(bytes)).encode("ab x\xff é", SpecialTokens::Allow);
    } catch (const Error &error) {
      ASSERT_EQ(error.code, ErrorCode::BadInput) << error.what();
    }
  }
}

} // namespace
} // namespace inf
