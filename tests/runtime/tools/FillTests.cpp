#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/tools/Process.h"

using namespace inf::test;

namespace {

std::string bytesOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

} // namespace

TEST(FillCommand, aFilledModelRunsAndIsWhatTheCompilerWouldHaveWritten) {
  TempDirectory directory;
  FakeOptions without;
  without.weights = false;
  writeFakeModel(directory.file("small.so"), without);
  writeFakeModel(directory.file("whole.so")); // the fixture's seed is 1
  Finished result =
      infrun({"fill", directory.file("small.so"), "--random", "1", "-o", directory.file("big.so")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "") << "progress is for terminals";
  EXPECT_EQ(bytesOf(directory.file("big.so")), bytesOf(directory.file("whole.so")));
  EXPECT_EQ(infrun({directory.file("big.so"), "--ids", "1,2", "--max-tokens", "3"}).code, 0);
}

TEST(FillCommand, anotherSeedGivesAnotherModel) {
  TempDirectory directory;
  FakeOptions without;
  without.weights = false;
  writeFakeModel(directory.file("small.so"), without);
  for (const char *seed : {"1", "2"})
    infrun({"fill", directory.file("small.so"), "--random", seed, "-o", directory.file(seed)});
  EXPECT_NE(bytesOf(directory.file("1")), bytesOf(directory.file("2")));
}

TEST(FillCommand, aModelThatHasWeightsIsRefusedAndNothingIsWritten) {
  TempDirectory directory;
  writeFakeModel(directory.file("m.so"));
  Finished result =
      infrun({"fill", directory.file("m.so"), "--random", "1", "-o", directory.file("out.so")});
  EXPECT_NE(result.code, 0);
  EXPECT_FALSE(std::filesystem::exists(directory.file("out.so")));
}
