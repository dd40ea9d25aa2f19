// Vocabularies of published models against the ids that llama.cpp gives.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>

#include "compiler/frontends/gguf/Metadata.h"
#include "compiler/frontends/gguf/Tokenizer.h"
#include "runtime/tokenizer/Detokenizer.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "tests/compiler/frontends/TestModels.h"

namespace inf {
namespace {

using namespace test;

std::string textOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot read the test's file " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Tokenizer tokenizerOf(const std::string &path) {
  const GgufFile file(path);
  GgufMetadata metadata(file);
  std::vector<std::string> notes;
  return Tokenizer::fromJson(ggufTokenizerJson(metadata, notes));
}

/// Texts with a line "__ggml_vocab_test__" between them.
std::vector<std::string> textsOf(const std::string &path) {
  const std::string all = textOf(path), between = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  size_t at = 0;
  for (size_t end; (end = all.find(between, at)) != all.npos; at = end + between.size())
    texts.push_back(all.substr(at, end - at));
  EXPECT_EQ(at, all.size()); // one ends the file
  return texts;
}

/// A line of ids per text.
std::vector<std::vector<int32_t>> idsOf(const std::string &path) {
  std::vector<std::vector<int32_t>> result;
  std::istringstream lines(textOf(path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    result.emplace_back(std::istream_iterator<int32_t>(numbers), std::istream_iterator<int32_t>());
  }
  return result;
}

std::string streamed(const Tokenizer &tokenizer, const std::vector<int32_t> &ids) {
  Detokenizer detokenizer(tokenizer);
  std::string whole;
  for (int32_t id : ids)
    whole += detokenizer.push(id);
  return whole + detokenizer.finish();
}

/// `path`.inp and `path`.out hold texts and their ids.
void checkVocabulary(const std::string &path) {
  const Tokenizer tokenizer = tokenizerOf(path);
  const auto texts = textsOf(path + ".inp");
  const auto ids = idsOf(path + ".out");
  ASSERT_GE(texts.size(), 40u);
  ASSERT_EQ(texts.size(), ids.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(texts[i], SpecialTokens::AsText), ids[i]) << texts[i];
    EXPECT_EQ(tokenizer.decode(ids[i]), texts[i]);
    EXPECT_EQ(streamed(tokenizer, ids[i]), texts[i]);
  }
}

/// A file beside the repository, or nothing when that folder does not exist at all.
std::optional<std::string> sharedFile(const std::string &name) {
  if (!std::filesystem::exists(inSource("../shared")))
    return std::nullopt;
  return inSource("../shared/" + name);
}

TEST(GgufVocabulary, Phi3EncodesAsLlamaCppDoes) {
  checkVocabulary(inSource("tests/data/tokenizer/ggml-vocab-phi-3.gguf"));
}

TEST(GgufVocabulary, LlamaSpmEncodesAsLlamaCppDoes) {
  const auto path = sharedFile("tokenizer/ggml-vocab/ggml-vocab-llama-spm.gguf");
  if (!path)
    GTEST_SKIP() << "the folder ../shared does not exist";
  checkVocabulary(*path);
}

TEST(GgufVocabulary, Gpt2EncodesAsLlamaCppDoes) {
  const auto path = sharedFile("tokenizer/ggml-vocab/ggml-vocab-gpt-2.gguf");
  if (!path)
    GTEST_SKIP() << "the folder ../shared does not exist";
  checkVocabulary(*path);
}

TEST(GgufVocabulary, Stories260KGivesTheIdsOfItsTokenizerJson) {
  const auto path = sharedFile("models/stories260K/");
  if (!path)
    GTEST_SKIP() << "the folder ../shared does not exist";
  const Tokenizer fromGguf = tokenizerOf(*path + "stories260K.gguf");
  const Tokenizer fromJson = Tokenizer::fromJson(textOf(*path + "tokenizer.json"));
  std::vector<std::string> texts =
      textsOf(inSource("tests/data/tokenizer/ggml-vocab-phi-3.gguf.inp"));
  texts.insert(texts.end(), {"Once upon a time, there was a little girl named Lily.", "", " ",
                             "\xff\xfe", "tabs\tand\r\nlines", std::string(500, 'a')});
  for (const std::string &text : texts)
    for (TextEnds ends : {TextEnds::Bare, TextEnds::Marked}) {
      const auto ids = fromGguf.encode(text, SpecialTokens::AsText, ends);
      EXPECT_EQ(ids, fromJson.encode(text, SpecialTokens::AsText, ends)) << text;
      EXPECT_EQ(fromGguf.decode(ids, SpecialOutput::Skip), text);
      EXPECT_EQ(fromJson.decode(ids, SpecialOutput::Skip), text);
    }
}

TEST(GgufVocabulary, TheBeginTokenIsAddedWhereItIsAskedFor) {
  const Tokenizer tokenizer = tokenizerOf(inSource("tests/data/tokenizer/ggml-vocab-phi-3.gguf"));
  EXPECT_THAT(tokenizer.tokensBefore(), testing::ElementsAre(1));
  EXPECT_THAT(tokenizer.tokensAfter(), testing::ElementsAre());
  EXPECT_THAT(tokenizer.encode("Hello", SpecialTokens::AsText, TextEnds::Marked),
              testing::ElementsAre(1, 15043));
}

// Phi-3's control tokens take the white space behind them, its begin token doesn't.
TEST(GgufVocabulary, Phi3TokensTakeTheSpaceBehindThem) {
  const Tokenizer tokenizer = tokenizerOf(inSource("tests/data/tokenizer/ggml-vocab-phi-3.gguf"));
  EXPECT_THAT(tokenizer.encode("<|user|>\n\nHello<|end|>", SpecialTokens::Allow),
              testing::ElementsAre(32010, 15043, 32007));
  EXPECT_THAT(tokenizer.encode("<s> Hello", SpecialTokens::Allow),
              testing::ElementsAre(1, 29871, 15043));
}

} // namespace
} // namespace inf
