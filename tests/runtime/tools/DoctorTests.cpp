#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/runtime/tools/Process.h"

using namespace inf::test;

TEST(DoctorCommand, exitsZeroOnAnyMachine) {
  Finished result = infrun({"doctor"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(result.out.empty());
}

TEST(DoctorCommand, jsonNamesFeaturesLimitsAndThreads) {
  Finished result = infrun({"doctor", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  auto json = nlohmann::json::parse(result.out);
  EXPECT_TRUE(json["cpu"]["features"].is_array());
  EXPECT_GE(json["threads"]["count"].get<int>(), 1);
  EXPECT_FALSE(json["threads"]["reason"].get<std::string>().empty());
  EXPECT_TRUE(json["limits"]["quota_cpus"]["state"].is_string());
  EXPECT_GE(json["topology"]["cores"].get<int>(), 1);
}
