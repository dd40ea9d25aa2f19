// infrun model.so --prompt …
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "runtime/cpu/SystemRoot.h"
#include "runtime/cpu/ThreadPlan.h"
#include "runtime/session/Traffic.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"
#include "tests/runtime/tools/Process.h"

using namespace inf;
using namespace inf::test;
using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

namespace {

class Run : public testing::Test {
protected:
  Run() {
    write([](PayloadContents &contents) { contents.manifest.eosTokens.clear(); });
  }

  void write(const std::function<void(PayloadContents &)> &change) {
    FakeOptions options;
    options.change = change;
    writeFakeModel(path, options);
  }

  Finished run(std::vector<std::string> arguments, const std::string &input = "") {
    arguments.insert(arguments.begin(), path);
    return infrun(arguments, input);
  }

  /// "12 13 14\n" of greedy decoding, computed directly.
  std::string expectedIds(std::vector<int32_t> tokens, size_t count) {
    auto model = Model::load(path);
    std::string text;
    for (size_t i = 0; i < count; ++i) {
      std::vector<float> logits = expectedLogits(*model, tokens);
      tokens.push_back(
          static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
      text += fmt::format("{}{}", i == 0 ? "" : " ", tokens.back());
    }
    return text + "\n";
  }

  TempDirectory directory;
  std::string path = directory.file("m.so");
};

} // namespace

TEST_F(Run, idsInIdsOutEqualTheDirectComputation) {
  Finished result = run({"--ids", "10,20,30", "--print-ids", "--max-tokens", "12"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, expectedIds({10, 20, 30}, 12));
}

TEST_F(Run, aTextPromptIsItsTokens) {
  Finished result = run({"--prompt", "the end", "--print-ids", "--max-tokens", "5"});
  EXPECT_EQ(result.out, expectedIds({257, ' ', 'e', 'n', 'd'}, 5)) << result.err;
}

TEST_F(Run, specialTokensCountOnlyWhenRaw) {
  std::vector<int32_t> asText;
  for (char c : std::string("<|end|>"))
    asText.push_back(c);
  Finished plain = run({"--prompt", "<|end|>", "--print-ids", "--max-tokens", "3"});
  EXPECT_EQ(plain.out, expectedIds(asText, 3));
  Finished raw = run({"--prompt", "<|end|>", "--raw", "--print-ids", "--max-tokens", "3"});
  EXPECT_EQ(raw.out, expectedIds({endId}, 3));
}

TEST_F(Run, aDashReadsThePromptFromStandardInput) {
  Finished given = run({"--prompt", "-", "--max-tokens", "20"}, "some text\nof two lines");
  Finished direct = run({"--prompt", "some text\nof two lines", "--max-tokens", "20"});
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_EQ(given.out, direct.out);
}

TEST_F(Run, theStatusLineIsOneLineWithTheHash) {
  Finished result = run({"--ids", "1,2,3", "--max-tokens", "1"});
  auto model = Model::load(path);
  std::vector<int32_t> tokens = {1, 2, 3};
  EXPECT_THAT(result.err,
              MatchesRegex("infrun: prompt 3 tokens, [0-9.]+ tok/s; generated 1 tokens, [0-9.]+ "
                           "tok/s, [0-9.]+ GB/s; finish length; peak memory [0-9.]+ GB; logits " +
                           fmt::format("{:016x}", logitsHash(expectedLogits(*model, tokens))) +
                           "\n"));
}

TEST_F(Run, theTextDoesNotDependOnTheThreads) {
  Finished one = run({"--prompt", "abc", "--threads", "1"});
  Finished three = run({"--prompt", "abc", "--threads", "3"});
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.err.substr(one.err.find("logits ")), three.err.substr(three.err.find("logits ")));
}

TEST_F(Run, samplingIsRepeatedByItsSeed) {
  std::vector<std::string> arguments = {"--prompt", "abc", "--temperature", "1", "--seed", "4"};
  EXPECT_EQ(run(arguments).out, run(arguments).out);
  EXPECT_NE(run(arguments).out, run({"--prompt", "abc", "--temperature", "1", "--seed", "5"}).out);
}

TEST_F(Run, aStopStringEndsTheText) {
  std::string whole = run({"--prompt", "abc", "--max-tokens", "60"}).out;
  std::string stop = whole.substr(20, 3);
  Finished stopped =
      run({"--prompt", "abc", "--max-tokens", "60", "--stop", "nothing like it", "--stop", stop});
  EXPECT_EQ(stopped.out, whole.substr(0, whole.find(stop)));
  EXPECT_THAT(stopped.err, HasSubstr("finish stop_string"));
}

TEST_F(Run, aStopTokenEndsTheText) {
  std::string ids = run({"--ids", "1", "--print-ids", "--max-tokens", "9"}).out;
  int eos = std::stoi(ids.substr(ids.rfind(' ')));
  write([eos](PayloadContents &contents) { contents.manifest.eosTokens = {eos}; });
  Finished stopped = run({"--ids", "1", "--print-ids"});
  EXPECT_THAT(stopped.err, HasSubstr("finish stop;"));
  EXPECT_EQ(ids.find(stopped.out.substr(0, stopped.out.size() - 1)), 0u);
}

TEST_F(Run, anOverlongPromptExitsSixAndNamesTheNumbers) {
  Finished result = run({"--prompt", std::string(50, 'x'), "--context", "40"});
  EXPECT_EQ(result.code, 6);
  EXPECT_THAT(result.err, AllOf(HasSubstr("50 tokens"), HasSubstr("40"), HasSubstr("--context")));
  EXPECT_EQ(result.out, "");
}

TEST_F(Run, aContextBeyondTheModelsIsCappedWithOneWarning) {
  Finished result = run({"--prompt", "a", "--max-tokens", "2", "--context", "1000000"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("infrun: warning: --context 1000000"));
}

TEST_F(Run, brokenIdsAndPromptsExitTwo) {
  for (const char *ids : {"1,,2", "a", "1,2,", "99999999999", "272", ""})
    EXPECT_EQ(run({"--ids", ids}).code, 2) << ids;
  EXPECT_EQ(run({"--prompt", ""}).code, 2);
  EXPECT_EQ(run({"--prompt", "-"}, "").code, 2);
}

TEST_F(Run, theThreadsAreExplainedOnlyWhenAsked) {
  EXPECT_THAT(run({"--prompt", "a", "--max-tokens", "1"}).err, Not(HasSubstr(" threads: ")));
  EXPECT_THAT(run({"--prompt", "a", "--max-tokens", "1", "--verbose"}).err,
              HasSubstr(" threads: "));
}

TEST_F(Run, theThreadsOfDecodingAreNamedOnlyWhenAsked) {
  const std::vector<std::string> some = {"--ids", "1,2,3", "--max-tokens", "20"};
  EXPECT_THAT(run(some).err, Not(HasSubstr("decoding on")));
  std::vector<std::string> verbose = some;
  verbose.push_back("--verbose");
  const unsigned threads = planThreads(SystemRoot{}, std::nullopt).threads;
  EXPECT_THAT(run(verbose).err,
              HasSubstr(threads == 1 ? std::string("decoding on all threads: their number")
                                     : fmt::format("decoding on all {} threads: 19 steps were too "
                                                   "few to try fewer",
                                                   threads)));
  verbose.insert(verbose.end(), {"--threads", "2"});
  EXPECT_THAT(run(verbose).err, HasSubstr("decoding on all threads: their number was given"));
}

TEST_F(Run, aLongAnswerSaysHowManyThreadsWereEnough) {
  if (planThreads(SystemRoot{}, std::nullopt).threads < 2)
    GTEST_SKIP() << "needs two CPUs";
  const std::vector<std::string> many = {"--ids", "1,2,3", "--print-ids", "--max-tokens", "1500"};
  std::vector<std::string> verbose = many;
  verbose.push_back("--verbose");
  const Finished found = run(verbose);
  EXPECT_THAT(found.err, ContainsRegex("decoding on (all )?[0-9]+ (of [0-9]+ )?threads: "));
  EXPECT_THAT(found.err, Not(HasSubstr("their number was given")));
  std::vector<std::string> fixed = many;
  fixed.insert(fixed.end(), {"--threads", "1"});
  EXPECT_EQ(found.out, run(fixed).out) << "and the tokens don't depend on it";
}

TEST_F(Run, timeAndMemoryAreSplitOnlyWhenAsked) {
  const std::string plain = run({"--prompt", "a", "--max-tokens", "1"}).err;
  EXPECT_THAT(plain, Not(AnyOf(HasSubstr("address space"), HasSubstr("first token after"))));
  EXPECT_THAT(run({"--prompt", "a", "--max-tokens", "1", "--verbose"}).err,
              AllOf(HasSubstr("address space"), HasSubstr("first token after")));
}

TEST_F(Run, withoutATokenizerIdsStillWork) {
  write([](PayloadContents &contents) {
    contents.tokenizerJson.clear();
    contents.manifest.eosTokens.clear();
  });
  Finished text = run({"--prompt", "a"});
  EXPECT_EQ(text.code, 2);
  EXPECT_THAT(text.err, HasSubstr("--ids"));
  EXPECT_EQ(run({"--ids", "5,6", "--max-tokens", "4"}).out, expectedIds({5, 6}, 4));
}

TEST_F(Run, interruptedItEndsWithTheStatusLine) {
  // More output than the pipe holds: the program still runs when the signal arrives.
  Process process({path, "--ids", "1,2,3", "--print-ids", "--max-tokens", "100000"});
  ASSERT_FALSE(process.readSome().empty());
  process.signal(SIGINT);
  Finished result = process.finish();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("finish cancelled"));
}

TEST_F(Run, aReaderThatGoesAwayEndsItQuietlyWithFive) {
  Process process({path, "--ids", "1,2,3", "--print-ids", "--max-tokens", "100000"});
  ASSERT_FALSE(process.readSome().empty());
  process.closeOutput();
  Finished result = process.finish();
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.err, "");
}

TEST_F(Run, aModelWithoutWeightsIsRefused) {
  FakeOptions options;
  options.weights = false;
  writeFakeModel(path, options);
  Finished result = run({"--prompt", "a"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("infrun fill"));
}
