#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "compiler/frontends/gguf/Gguf.h"
#include "compiler/frontends/gguf/PreTokenizers.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "tests/compiler/frontends/GgufBuilder.h"
#include "tests/compiler/frontends/TestModels.h"

namespace inf {
namespace {

using namespace test;
using testing::ElementsAre, testing::HasSubstr;

GgufModel readModelOf(const GgufBuilder &builder) {
  const TempDir directory;
  directory.write("model.gguf", builder.file());
  return readGguf(directory.file("model.gguf"));
}

std::string refusal(const std::function<void(GgufBuilder &)> &change) {
  GgufBuilder builder = smallGptOss();
  change(builder);
  return badInput([&] { readModelOf(builder); });
}

/// The tokens of smallGptOss().
const std::vector<std::string> tokens = {
    "a", "b", "c", "ab", "<|startoftext|>", "<|endoftext|>", "<|return|>", "<|call|>", "<|end|>"};

/// GPT-2's letter for each byte: itself where it is printable, else one from U+0100 on.
std::vector<std::string> byteLetters() {
  std::vector<std::string> letters;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    const int code = printable ? byte : next++;
    letters.push_back(code < 128 ? std::string(1, char(code))
                                 : std::string{char(0xc0 | code >> 6), char(0x80 | (code & 63))});
  }
  return letters;
}

constexpr int32_t abToken = 256, controlToken = 257; // then endoftext, return, call, end

/// smallGptOss() with a token for every byte, as a real vocabulary has.
GgufBuilder byteLevelGptOss() {
  GgufBuilder builder = smallGptOss();
  std::vector<std::string> all = byteLetters();
  all.insert(all.end(), tokens.begin() + 3, tokens.end());
  std::vector<int32_t> types(all.size(), 1);
  std::fill(types.begin() + controlToken, types.end(), 3);
  builder.texts("tokenizer.ggml.tokens", all).integers("tokenizer.ggml.token_type", types);
  std::mt19937_64 random(8);
  for (const std::string name : {"token_embd.weight", "output.weight"})
    builder.at(name) = {
        name, {64, all.size()}, tQ8_0, randomTensor(tQ8_0, 64 * all.size(), random)};
  return builder;
}

TEST(GgufTokenizer, mergesAndControlTokensWorkInTheTokenizerThatIsMade) {
  const Tokenizer tokenizer = Tokenizer::fromJson(readModelOf(byteLevelGptOss()).tokenizerJson);
  EXPECT_EQ(tokenizer.vocabularySize(), 262);
  EXPECT_THAT(tokenizer.encode("ab<|end|>", SpecialTokens::Allow), ElementsAre(abToken, 261));
  EXPECT_TRUE(tokenizer.isSpecial(261));
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{abToken, 'c'}), "abc");
}

TEST(GgufTokenizer, userDefinedTokensAreFoundInAnyTextAndUnusedOnesAreNotThere) {
  GgufBuilder builder = byteLevelGptOss();
  std::vector<int32_t> types(262, 1);
  types[260] = 4, types[261] = 5; // call, end
  builder.integers("tokenizer.ggml.token_type", types);
  const Tokenizer tokenizer = Tokenizer::fromJson(readModelOf(builder).tokenizerJson);
  EXPECT_THAT(tokenizer.encode("a<|call|>", SpecialTokens::AsText), ElementsAre('a', 260));
  EXPECT_EQ(tokenizer.idOf("<|end|>"), std::nullopt);
}

TEST(GgufTokenizer, aRepeatedMergeCountsOnceAndIsNoted) {
  GgufBuilder builder = byteLevelGptOss();
  builder.texts("tokenizer.ggml.merges", {"a b", "a b"});
  const GgufModel model = readModelOf(builder);
  EXPECT_THAT(model.notes, ElementsAre(HasSubstr("1 of 2 merges")));
  EXPECT_NO_THROW(Tokenizer::fromJson(model.tokenizerJson));
}

TEST(GgufTokenizer, everyKnownPreTokenizerMakesATokenizer) {
  for (const GgufPreTokenizer &known : ggufPreTokenizers()) {
    const std::string pre(known.name);
    GgufBuilder builder = byteLevelGptOss();
    builder.text("tokenizer.ggml.pre", pre);
    const std::string json = readModelOf(builder).tokenizerJson;
    const Tokenizer tokenizer = Tokenizer::fromJson(json);
    EXPECT_THAT(tokenizer.encode("abc", SpecialTokens::AsText), ElementsAre(abToken, 'c')) << pre;
    EXPECT_EQ(nlohmann::json::parse(json)["model"]["ignore_merges"],
              pre.starts_with("llama") || pre == "tekken");
  }
}

TEST(GgufTokenizer, aFileWithoutOneGivesNone) {
  GgufBuilder builder = smallGptOss();
  builder.remove("tokenizer.ggml.model");
  EXPECT_EQ(readModelOf(builder).tokenizerJson, "");
}

TEST(GgufTokenizer, whatIsNotImplementedIsRefusedByName) {
  const auto text = [](const char *key, const char *value) {
    return refusal([=](GgufBuilder &b) { b.text(key, value); });
  };
  EXPECT_THAT(text("tokenizer.ggml.model", "bert"), HasSubstr("\"bert\""));
  EXPECT_THAT(text("tokenizer.ggml.pre", "klingon"), HasSubstr("\"klingon\""));
  EXPECT_THAT(text("tokenizer.ggml.pre", "klingon"), HasSubstr("expected one of gpt-2, mpt"));
  EXPECT_THAT(text("tokenizer.ggml.pre", "klingon"), HasSubstr("--no-tokenizer"));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.remove("tokenizer.ggml.pre"); }),
              HasSubstr("tokenizer.ggml.pre\" is missing"));
  const auto types = [](std::vector<int32_t> values) {
    return refusal([&](GgufBuilder &b) { b.integers("tokenizer.ggml.token_type", values); });
  };
  EXPECT_THAT(types({1, 1, 1, 1, 3, 3, 3, 3, 6}), HasSubstr("the type 6"));
  EXPECT_THAT(types({1, 1, 1, 1, 3, 3, 3, 3}), HasSubstr("9 tokens"));
  auto twice = tokens;
  twice[2] = "a";
  EXPECT_THAT(refusal([&](GgufBuilder &b) { b.texts("tokenizer.ggml.tokens", twice); }),
              HasSubstr("token \"a\" twice"));
  auto broken = tokens;
  broken[2] = "\xff";
  EXPECT_THAT(refusal([&](GgufBuilder &b) { b.texts("tokenizer.ggml.tokens", broken); }),
              HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.number("tokenizer.ggml.tokens", 1); }),
              HasSubstr("expected an array"));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.integers("tokenizer.ggml.tokens", {1}); }),
              HasSubstr("strings"));
}

TEST(GgufTokenizer, stopTokensBeyondTheVocabularyAreRefused) {
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.number("tokenizer.ggml.eot_token_id", 12); }),
              HasSubstr("eos_tokens"));
}

/// Tokens, types and merges of a tokenizer.json as a converter writes them.
void takeTokenizer(const nlohmann::json &json, GgufBuilder &builder) {
  std::map<int, std::pair<std::string, int>> byId;
  for (const auto &item : json["model"]["vocab"].items())
    byId[item.value()] = {item.key(), 1};
  for (const auto &token : json["added_tokens"])
    byId[token["id"]] = {token["content"], 3};
  std::vector<std::string> texts, merges;
  std::vector<int32_t> types;
  for (const auto &[id, token] : byId) {
    ASSERT_EQ(size_t(id), texts.size());
    texts.push_back(token.first), types.push_back(token.second);
  }
  for (const auto &merge : json["model"]["merges"])
    merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  builder.texts("tokenizer.ggml.tokens", texts).texts("tokenizer.ggml.merges", merges);
  builder.integers("tokenizer.ggml.token_type", types);
}

TEST(GgufTokenizer, theTokenizerOfGptOssTinyEncodesAsItsOwnJsonDoes) {
  if (!std::filesystem::exists(inSource("../shared")))
    GTEST_SKIP() << "the ../shared folder is not here";
  std::ifstream in(inSource("../shared/models/gpt-oss-tiny/tokenizer.json"));
  const nlohmann::json json = nlohmann::json::parse(in);
  GgufBuilder builder = smallGptOss();
  takeTokenizer(json, builder);
  std::mt19937_64 random(7);
  for (const std::string name : {"token_embd.weight", "output.weight"})
    builder.at(name) = {name, {64, 5000}, tQ8_0, randomTensor(tQ8_0, 64 * 5000, random)};
  const Tokenizer expected = Tokenizer::fromJson(json.dump());
  const Tokenizer found = Tokenizer::fromJson(readModelOf(builder).tokenizerJson);
  EXPECT_EQ(found.vocabularySize(), expected.vocabularySize());
  for (const std::string text :
       {"Once upon a time, there was a little girl's cat.\n\nIt's 12345 o'clock!",
        "ÄÖÜ ß 漢字 \xff", "<|start|>user<|message|>Hello<|end|>", "  \t\n  x"})
    for (SpecialTokens specials : {SpecialTokens::Allow, SpecialTokens::AsText})
      EXPECT_EQ(found.encode(text, specials), expected.encode(text, specials)) << text;
}

} // namespace
} // namespace inf
