#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/tools/Process.h"

using namespace inf::test;
using testing::AllOf;
using testing::HasSubstr;

TEST(BenchCommand, jsonHasTheNumbersAndTheSameHashEveryTime) {
  TempDirectory directory;
  writeFakeModel(directory.file("m.so"));
  std::vector<std::string> arguments = {
      "bench", directory.file("m.so"), "-p", "100", "-n", "10", "--threads", "2", "--json"};
  Finished first = infrun(arguments), second = infrun(arguments);
  ASSERT_EQ(first.code, 0) << first.err;
  auto a = nlohmann::json::parse(first.out), b = nlohmann::json::parse(second.out);
  EXPECT_EQ(a["threads"], 2);
  EXPECT_EQ(a["prompt_tokens"], 100);
  EXPECT_EQ(a["generated_tokens"], 10);
  EXPECT_GT(a["prefill_tok_s"].get<double>(), 0);
  EXPECT_GT(a["decode_tok_s"].get<double>(), 0);
  EXPECT_GT(a["gb_s"].get<double>(), 0);
  EXPECT_EQ(a["logits_hash"], b["logits_hash"]);
}

TEST(BenchCommand, textNamesUnitsAndTheReasonForTheThreads) {
  TempDirectory directory;
  writeFakeModel(directory.file("m.so"));
  Finished result = infrun({"bench", directory.file("m.so"), "-p", "10", "-n", "0", "-r", "2"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("tok/s"), HasSubstr("GB/s"), HasSubstr("threads")));
}

TEST(BenchCommand, moreThanTheContextExitsSix) {
  TempDirectory directory;
  writeFakeModel(directory.file("m.so"));
  EXPECT_EQ(infrun({"bench", directory.file("m.so"), "-p", "4096", "-n", "1"}).code, 6);
  EXPECT_EQ(infrun({"bench", directory.file("m.so"), "-p", "1", "-n", "18446744073709551615"}).code,
            6);
}
