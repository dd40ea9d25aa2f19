// The flags of sampling, from the command line to the tokens.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"
#include "tests/runtime/tools/Process.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;

namespace {

class SamplingFlags : public testing::Test {
protected:
  SamplingFlags() {
    FakeOptions options;
    options.change = [](PayloadContents &contents) { contents.manifest.eosTokens.clear(); };
    writeFakeModel(path, options);
  }

  Finished run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {path, "--ids", "10,20,30", "--print-ids", "--max-tokens", "12"});
    return infrun(arguments);
  }

  TempDirectory directory;
  std::string path = directory.file("m.so");
};

std::string firstId(const std::string &out) { return out.substr(0, out.find(' ')); }

} // namespace

TEST_F(SamplingFlags, theHelpFitsAScreenAndNamesEveryFlag) {
  Finished help = infrun({"--help-sampling"});
  EXPECT_EQ(help.code, 0) << help.err;
  EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 24);
  for (size_t start = 0; start < help.out.size();) {
    size_t end = help.out.find('\n', start);
    EXPECT_LE(end - start, 80u) << help.out.substr(start, end - start);
    start = end + 1;
  }
  for (const char *flag : {"--logit-bias", "--dry-breaker", "--mirostat-eta", "--min-tokens"})
    EXPECT_THAT(help.out, HasSubstr(flag));
}

TEST_F(SamplingFlags, aBannedTokenNeverComes) {
  std::string usual = firstId(run({}).out);
  Finished banned = run({"--logit-bias", usual + "=-100"});
  EXPECT_EQ(banned.code, 0) << banned.err;
  EXPECT_THAT(" " + banned.out, testing::Not(HasSubstr(" " + usual + " ")));
}

TEST_F(SamplingFlags, aBiasMakesATokenCertain) {
  EXPECT_THAT(run({"--logit-bias", "77=100"}).out, testing::StartsWith("77 77 77"));
}

TEST_F(SamplingFlags, stopTokensAreMaskedUntilMinTokens) {
  std::string usual = firstId(run({}).out);
  FakeOptions options;
  options.change = [&](PayloadContents &contents) {
    contents.manifest.eosTokens = {std::stoi(usual)};
  };
  writeFakeModel(path, options);
  EXPECT_THAT(run({}).err, HasSubstr("finish stop;"));
  EXPECT_THAT(run({}).err, HasSubstr("generated 1 tokens"));
  EXPECT_THAT(run({"--min-tokens", "5", "--logit-bias", usual + "=100"}).err,
              HasSubstr("generated 6 tokens"));
  EXPECT_THAT(run({"--ignore-eos"}).err, HasSubstr("finish length;"));
}

TEST_F(SamplingFlags, penaltiesSeeThePromptOrTheAnswerAlone) {
  // Pushed by its bias, a token comes every time; a penalty breaks that.
  std::vector<std::string> pushed{"--logit-bias", "30=100"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), pushed.begin(), pushed.end());
    return run(more).out;
  };
  EXPECT_EQ(firstId(with({})), "30");
  EXPECT_NE(firstId(with({"--repetition-penalty", "100"})), "30"); // in the prompt
  EXPECT_EQ(firstId(with({"--presence-penalty", "2"})), "30");     // not in the answer yet
}

TEST_F(SamplingFlags, everyFilterRunsAndTheSeedRepeatsIt) {
  for (std::vector<std::string> filter :
       {std::vector<std::string>{"--typical-p", "0.5"},
        {"--top-n-sigma", "1"},
        {"--xtc-probability", "0.5", "--xtc-threshold", "0.01"},
        {"--mirostat", "--mirostat-tau", "3", "--mirostat-eta", "0.2"},
        {"--dry-multiplier", "1", "--dry-base", "2", "--dry-allowed-length", "1", "--dry-window",
         "100", "--dry-breaker", "x"},
        {"--frequency-penalty", "1", "--repetition-penalty", "1.2", "--repetition-window", "4"}}) {
    filter.insert(filter.end(), {"--temperature", "1", "--seed", "3"});
    Finished first = run(filter);
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(run(filter).out, first.out);
  }
}

TEST_F(SamplingFlags, badValuesAreUsageErrorsThatNameTheFlag) {
  for (std::pair<std::vector<std::string>, const char *> bad :
       {std::pair<std::vector<std::string>, const char *>{{"--logit-bias", "7"}, "'7'"},
        {{"--logit-bias", "x=1"}, "--logit-bias is 'x=1'"},
        {{"--logit-bias", "7=101"}, "--logit-bias of token 7 is 101"},
        {{"--logit-bias", "7=1", "--logit-bias", "7=2"}, "token 7 twice"},
        {{"--logit-bias", "99999999=1"}, "--logit-bias names token 99999999"},
        {{"--dry-breaker", ""}, "is empty, expected a text"},
        {{"--dry-window", "0"}, "--dry-window is 0"},
        {{"--typical-p", "0"}, "--typical-p is 0"},
        {{"--mirostat", "--top-k", "5"}, "--mirostat chooses"}}) {
    Finished result = run(bad.first);
    EXPECT_EQ(result.code, 2) << testing::PrintToString(bad.first) << result.err;
    EXPECT_THAT(result.err, HasSubstr(bad.second));
  }
}
