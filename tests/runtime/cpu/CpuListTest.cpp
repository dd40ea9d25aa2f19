#include "runtime/cpu/CpuList.h"

#include <gtest/gtest.h>

namespace inf {
namespace {

TEST(CpuList, ParsesKernelLists) {
  EXPECT_EQ(parseCpuList("0"), CpuList({0}));
  EXPECT_EQ(parseCpuList("0-3\n"), CpuList({0, 1, 2, 3}));
  EXPECT_EQ(parseCpuList(" 8,0-1,10-11 \n"), CpuList({0, 1, 8, 10, 11}));
  EXPECT_EQ(parseCpuList("1,1,0-2"), CpuList({0, 1, 2}));
  EXPECT_EQ(parseCpuList("\n"), CpuList());
  EXPECT_EQ(parseCpuList("8191"), CpuList({8191}));
}

TEST(CpuList, RefusesGarbage) {
  const std::string repeated = [] {
    std::string text = "0-8191";
    for (int i = 0; i < 5000; ++i)
      text += ",0-8191";
    return text;
  }();
  for (const std::string &text :
       {std::string("a"), std::string("-1"), std::string("3-1"), std::string("1-"),
        std::string("1,"), std::string(",1"), std::string("0-4294967295"), std::string("8192"),
        std::string("1 2"), std::string("0x3"), std::string("99999999999999999999"),
        std::string("0-7:2/4"), std::string("0\0001", 3), repeated, std::string(1 << 20, '1')})
    EXPECT_EQ(parseCpuList(text), std::nullopt) << text.substr(0, 40);
}

TEST(CpuList, FormatsTheShortestText) {
  EXPECT_EQ(formatCpuList(CpuList()), "none");
  EXPECT_EQ(formatCpuList(CpuList({5})), "5");
  EXPECT_EQ(formatCpuList(CpuList({0, 1, 2, 3, 8, 10, 11})), "0-3,8,10-11");
}

TEST(CpuList, Intersects) {
  EXPECT_EQ(intersect({0, 1, 2, 5}, {1, 5, 9}), CpuList({1, 5}));
  EXPECT_EQ(intersect({0}, {1}), CpuList());
}

} // namespace
} // namespace inf
