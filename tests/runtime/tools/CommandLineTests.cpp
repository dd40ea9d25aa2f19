// Help, version, exit codes and the form of messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/tools/Process.h"

using namespace inf::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(CommandLine, everyHelpFitsAScreenAndHasAnExample) {
  for (std::vector<std::string> command : {std::vector<std::string>{},
                                           {"chat"},
                                           {"score"},
                                           {"bench"},
                                           {"trace"},
                                           {"doctor"},
                                           {"fill"}}) {
    command.push_back("--help");
    Finished help = infrun(command);
    EXPECT_EQ(help.code, 0) << help.err;
    EXPECT_THAT(help.out, AllOf(StartsWith("Usage: infrun"), HasSubstr("Example: infrun")));
    EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 24);
    for (size_t start = 0; start < help.out.size();) {
      size_t end = help.out.find('\n', start);
      EXPECT_LE(end - start, 80u) << help.out.substr(start, end - start);
      start = end + 1;
    }
    EXPECT_EQ(help.err, "");
  }
}

TEST(CommandLine, theVersionIsPrinted) {
  EXPECT_THAT(infrun({"--version"}).out,
              testing::MatchesRegex("infrun [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(CommandLine, usageErrorsAreOneParagraphAndExitTwo) {
  for (const std::vector<std::string> &arguments :
       {std::vector<std::string>{},
        {"--bogus"},
        {"m.so"},
        {"m.so", "--prompt", "a", "--ids", "1"},
        {"m.so", "--prompt", "a", "--max-tokens", "many"},
        {"m.so", "--prompt", "a", "--top-p", "2"},
        {"m.so", "--prompt", "a", "--temperature", "-1"},
        {"m.so", "--prompt", "a", "--context", "0"},
        {"m.so", "--prompt", "a", "--chat", "--raw"},
        {"m.so", "--prompt", "a", "--effort", "low"},
        {"chat"},
        {"chat", "m.so", "--max-tokens", "0"},
        {"chat", "m.so", "--effort", "huge"},
        {"chat", "m.so", "--date", "today"},
        {"score", "m.so"},
        {"score", "m.so", "--text", "a", "--ids", "b"},
        {"score", "m.so", "--ids", "b", "--raw"},
        {"score", "m.so", "--text", "a", "--quant", "int4"},
        {"bench"},
        {"bench", "m.so", "-p", "0"},
        {"bench", "m.so", "-r", "0"},
        {"bench", "m.so", "--no-cache"},
        {"fill", "m.so"},
        {"doctor", "extra"}}) {
    Finished result = infrun(arguments);
    EXPECT_EQ(result.code, 2) << testing::PrintToString(arguments) << result.err;
    EXPECT_THAT(result.err, StartsWith("infrun: error: "));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(CommandLine, aMissingModelIsIo) {
  Finished result = infrun({"/nowhere/m.so", "--prompt", "a"});
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, AllOf(StartsWith("infrun: error: "), HasSubstr("/nowhere/m.so")));
}

TEST(CommandLine, aFileThatIsNoModelIsBadInput) {
  EXPECT_EQ(infrun({"/proc/self/exe", "--prompt", "a"}).code, 4);
}

TEST(CommandLine, aModelForABetterCpuIsRefusedByName) {
  TempDirectory directory;
  FakeOptions options;
  options.change = [](inf::PayloadContents &contents) {
    contents.manifest.featureBits = uint64_t{1} << 63; // no machine has it
    contents.manifest.target = "tomorrow";
  };
  writeFakeModel(directory.file("m.so"), options);
  Finished result = infrun({directory.file("m.so"), "--prompt", "a"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("tomorrow"), HasSubstr("feature-bit-63")));
}
