#include "runtime/tokenizer/Base64.h"

#include <gtest/gtest.h>

namespace inf {
namespace {

// RFC 4648, section 10.
TEST(Base64, DecodesTheVectorsOfTheStandard) {
  EXPECT_EQ(decodeBase64(""), "");
  EXPECT_EQ(decodeBase64("Zg=="), "f");
  EXPECT_EQ(decodeBase64("Zm8="), "fo");
  EXPECT_EQ(decodeBase64("Zm9v"), "foo");
  EXPECT_EQ(decodeBase64("Zm9vYg=="), "foob");
  EXPECT_EQ(decodeBase64("Zm9vYmE="), "fooba");
  EXPECT_EQ(decodeBase64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(decodeBase64("+/+/"), "\xFB\xFF\xBF");
}

TEST(Base64, WhatIsNotCanonicalIsRefused) {
  for (const char *text : {"Z", "Zg", "Zg=", "Zm9", "=", "====", "Z===", "Zg==Zg==", "Zm 9", "Zm9-",
                           "Zh==", "Zm9=", "Zm9v\n"})
    EXPECT_EQ(decodeBase64(text), std::nullopt) << text;
}

} // namespace
} // namespace inf
