// Every stage of tokenizer.json against the ids and texts that the reference tokenizer gives.
#include <nlohmann/json.hpp>

#include "runtime/tokenizer/Detokenizer.h"
#include "runtime/tokenizer/Utf8.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

/// The base with keys replaced; those of the model one by one.
Json changed(Json base, const Json &patch) {
  for (const auto &item : patch.items())
    if (item.key() == "model")
      base["model"].update(item.value());
    else
      base[item.key()] = item.value();
  return base;
}

std::string streamed(const Tokenizer &tokenizer, const Ids &ids) {
  Detokenizer detokenizer(tokenizer, SpecialOutput::Show);
  std::string whole;
  for (int32_t id : ids)
    whole += detokenizer.push(id);
  return whole + detokenizer.finish();
}

/// The reference has one U+FFFD per byte that is not UTF-8, we one per maximal subpart.
std::string withoutReplacements(std::string text) {
  for (size_t at; (at = text.find("\uFFFD")) != text.npos;)
    text.erase(at, 3);
  return text;
}

void checkCase(const Json &file, const Json &test) {
  SCOPED_TRACE(test["base"].get<std::string>() + ": " + test["name"].get<std::string>());
  const Tokenizer tokenizer =
      Tokenizer::fromJson(changed(file["bases"][test["base"]], test["patch"]).dump());
  const auto texts = file["texts"].get<std::vector<std::string>>();
  ASSERT_EQ(test["ids"].size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const Ids ids = test["ids"][i];
    EXPECT_EQ(tokenizer.encode(texts[i], SpecialTokens::Allow), ids) << texts[i];
    const Ids marked = test.contains("template") ? test["template"][i].get<Ids>() : ids;
    EXPECT_EQ(tokenizer.encode(texts[i], SpecialTokens::Allow, TextEnds::Marked), marked);
    const std::string decoded = toWellFormed(tokenizer.decode(ids));
    EXPECT_EQ(withoutReplacements(decoded), withoutReplacements(test["decoded"][i])) << texts[i];
    EXPECT_EQ(streamed(tokenizer, ids), decoded) << texts[i];
  }
}

TEST(Stages, EachGivesWhatTheReferenceGives) {
  const Json file =
      Json::parse(test::readFile(INF_SOURCE_DIR "/tests/data/tokenizer/hf_stages.json"));
  ASSERT_GE(file["cases"].size(), 70u);
  for (const Json &test : file["cases"])
    checkCase(file, test);
}

} // namespace
} // namespace inf
