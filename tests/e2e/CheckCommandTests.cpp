// infc check, as a user runs it: exit codes and what is printed.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/CheckpointCopy.h"

using namespace inf;
using namespace inf::test;
using testing::AllOf;
using testing::HasSubstr;

TEST(CheckCommand, aGoodModelEndsWithZero) {
  CheckpointCopy copy;
  Finished finished = infc({"check", copy.path()});
  EXPECT_EQ(finished.code, 0) << finished.out;
  EXPECT_THAT(finished.out, HasSubstr("no problems"));
  EXPECT_EQ(finished.err, ""); // no progress into a pipe
}

TEST(CheckCommand, severalProblemsAreAllPrintedAndTheCodeIsFour) {
  CheckpointCopy copy;
  std::filesystem::remove(copy.path(secondShard));
  std::filesystem::remove(copy.path("tokenizer.json")); // a link: not to be written through
  std::ofstream(copy.path("tokenizer.json")) << "{";
  Finished finished = infc({"check", copy.path(), "--no-values"});
  EXPECT_EQ(finished.code, 4);
  EXPECT_THAT(finished.out,
              AllOf(HasSubstr("problems\n"), HasSubstr(secondShard), HasSubstr("tokenizer: ")));
  Finished asJson = infc({"check", copy.path(), "--json"});
  EXPECT_EQ(asJson.code, 4);
  EXPECT_GE(nlohmann::json::parse(asJson.out)["problems"].size(), 2u);
}

TEST(CheckCommand, noModelIsIoAndNoReport) {
  expectRefused(infc({"check", "/nowhere/model"}), 5, {"/nowhere/model", "no such file"});
}
