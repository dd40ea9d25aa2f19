#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/session/Generator.h"
#include "runtime/session/Traffic.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;

namespace {

struct Generated {
  GenerateResult result;
  std::vector<int32_t> ids;
  std::string text;
  std::vector<std::string> pieces;
};

Generated generate(std::shared_ptr<const Model> model, const std::vector<int32_t> &prompt,
                   const GenerateOptions &options, uint32_t context = 4096) {
  SessionOptions sessionOptions;
  sessionOptions.context = context;
  Session session(model, sessionOptions);
  Generator generator(session, 0, options);
  Generated run;
  GenerateSinks sinks;
  sinks.token = [&](int32_t id) { run.ids.push_back(id); };
  sinks.text = [&](std::string_view text) {
    run.text += text;
    run.pieces.emplace_back(text);
  };
  run.result = generator.generate(prompt, sinks);
  return run;
}

/// What greedy decoding must give, computed directly.
std::vector<int32_t> expectedGreedy(const Model &model, std::vector<int32_t> tokens, size_t count) {
  size_t prompt = tokens.size();
  while (tokens.size() < prompt + count) {
    std::vector<float> logits = expectedLogits(model, tokens);
    tokens.push_back(
        static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
  }
  return {tokens.begin() + static_cast<ptrdiff_t>(prompt), tokens.end()};
}

GenerateOptions upTo(uint64_t tokens) {
  GenerateOptions options;
  options.maxTokens = tokens;
  return options;
}

std::shared_ptr<const Model> modelStoppingAt(std::vector<int64_t> eos) {
  FakeOptions options;
  options.change = [eos](PayloadContents &contents) { contents.manifest.eosTokens = eos; };
  return loadFakeModel(options);
}

const std::vector<int32_t> prompt = {10, 20, 30};

} // namespace

TEST(Generator, greedyTokensEqualTheDirectComputation) {
  auto model = modelStoppingAt({});
  Generated run = generate(model, prompt, upTo(50));
  EXPECT_EQ(run.ids, expectedGreedy(*model, prompt, 50));
  EXPECT_EQ(run.result.reason, FinishReason::Length);
  EXPECT_EQ(run.result.promptTokens, 3u);
  EXPECT_EQ(run.result.generatedTokens, 50u);
  EXPECT_EQ(run.result.decodeSteps, 49u) << "the last token's successor is not computed";
}

TEST(Generator, theHashIsOfTheLogitsThatGaveTheLastToken) {
  auto model = modelStoppingAt({});
  Generated run = generate(model, prompt, upTo(5));
  std::vector<int32_t> before = prompt;
  before.insert(before.end(), run.ids.begin(), run.ids.end() - 1);
  EXPECT_EQ(run.result.lastLogitsHash, logitsHash(expectedLogits(*model, before)));
}

TEST(Generator, aStopTokenEndsAndIsNotShown) {
  std::vector<int32_t> greedy = expectedGreedy(*modelStoppingAt({}), prompt, 10);
  Generated run = generate(modelStoppingAt({1000 % FAKE_VOCABULARY, greedy[6]}), prompt, upTo(50));
  auto firstStop = std::find_if(greedy.begin(), greedy.end(), [&](int32_t id) {
    return id == greedy[6] || id == 1000 % FAKE_VOCABULARY;
  });
  EXPECT_EQ(run.result.reason, FinishReason::Stop);
  EXPECT_EQ(run.ids, std::vector<int32_t>(greedy.begin(), firstStop));
  EXPECT_EQ(run.result.generatedTokens, run.ids.size() + 1);
}

TEST(Generator, aFullContextEndsWithLength) {
  auto model = modelStoppingAt({});
  Generated run = generate(model, prompt, upTo(1000), 40);
  EXPECT_EQ(run.result.reason, FinishReason::Length);
  EXPECT_EQ(run.ids.size(), 38u) << "37 places after the prompt, and one token more needs no place";
}

TEST(Generator, noTokensWantedRunsThePromptAlone) {
  Generated run = generate(modelStoppingAt({}), prompt, upTo(0));
  EXPECT_EQ(run.result.reason, FinishReason::Length);
  EXPECT_EQ(run.result.generatedTokens, 0u);
  EXPECT_TRUE(run.result.lastLogitsHash.has_value());
}

TEST(Generator, theTextIsTheDecodedTokensAndEveryPieceIsWhole) {
  auto model = modelStoppingAt({});
  Generated run = generate(model, prompt, upTo(200));
  Generated again = generate(model, prompt, upTo(200));
  EXPECT_EQ(run.text, again.text);
  TextStream whole(*model->tokenizer(), {}, SpecialOutput::Skip);
  std::string expected;
  for (int32_t id : run.ids)
    expected += whole.push(id);
  expected += whole.finish();
  EXPECT_EQ(run.text, expected);
}

TEST(Generator, aStopStringEndsBeforeItAndMaySpanTokens) {
  auto model = modelStoppingAt({});
  Generated run = generate(model, prompt, upTo(100));
  ASSERT_GE(run.pieces.size(), 12u);
  std::string stop = run.pieces[9] + run.pieces[10] + run.pieces[11];
  GenerateOptions options = upTo(100);
  options.stopStrings = {stop};
  Generated stopped = generate(model, prompt, options);
  EXPECT_EQ(stopped.result.reason, FinishReason::StopString);
  EXPECT_EQ(stopped.text, run.text.substr(0, run.text.find(stop)));
  EXPECT_LE(stopped.result.generatedTokens, run.result.generatedTokens);
}

TEST(Generator, bytesAreSummedOverTheDecodeSteps) {
  auto model = modelStoppingAt({});
  Generated run = generate(model, prompt, upTo(4));
  EXPECT_EQ(run.result.decodeBytes, bytesPerGeneratedToken(*model, 3) +
                                        bytesPerGeneratedToken(*model, 4) +
                                        bytesPerGeneratedToken(*model, 5));
}

TEST(Generator, cancellingEndsBeforeTheNextStep) {
  auto model = modelStoppingAt({});
  Session session(model, {});
  Generator generator(session, 0, upTo(100));
  std::vector<int32_t> ids;
  GenerateSinks sinks;
  sinks.token = [&](int32_t id) { ids.push_back(id); };
  sinks.cancelled = [&] { return ids.size() == 7; };
  GenerateResult result = generator.generate(prompt, sinks);
  EXPECT_EQ(result.reason, FinishReason::Cancelled);
  EXPECT_EQ(ids.size(), 7u);
}

TEST(Generator, samplingIsRepeatedByItsSeed) {
  auto model = modelStoppingAt({});
  GenerateOptions options = upTo(40);
  options.sampling.temperature = 1.5f;
  options.sampling.seed = 7;
  std::vector<int32_t> first = generate(model, prompt, options).ids;
  EXPECT_EQ(generate(model, prompt, options).ids, first);
  options.sampling.seed = 8;
  EXPECT_NE(generate(model, prompt, options).ids, first);
}

TEST(Generator, aModelWithoutATokenizerTakesIdsButNoStopStrings) {
  FakeOptions options;
  options.change = [](PayloadContents &contents) {
    contents.tokenizerJson.clear();
    contents.manifest.eosTokens.clear();
  };
  auto model = loadFakeModel(options);
  Generated run = generate(model, prompt, upTo(10));
  EXPECT_EQ(run.ids.size(), 10u);
  EXPECT_EQ(run.text, "");
  GenerateOptions withStop = upTo(10);
  withStop.stopStrings = {"x"};
  EXPECT_THAT(refusal([&] { generate(model, prompt, withStop); }),
              HasSubstr("2: '")); // Usage: compiled without a tokenizer
}

TEST(TextStream, anIdWithoutATokenShowsAsAReplacementCharacter) {
  auto model = loadFakeModel();
  TextStream text(*model->tokenizer(), {}, SpecialOutput::Skip);
  EXPECT_EQ(text.push('a'), "a");
  EXPECT_EQ(text.push(FAKE_VOCABULARY - 1), "\xEF\xBF\xBD");
  EXPECT_EQ(text.push(endId), "") << "special tokens are not shown";
  EXPECT_EQ(text.push('b'), "b");
}
