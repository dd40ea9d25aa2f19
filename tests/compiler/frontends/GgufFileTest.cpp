#include "compiler/frontends/gguf/GgufFile.h"

#include <filesystem>
#include <functional>
#include <random>

#include <gmock/gmock.h>

#include "tests/compiler/frontends/GgufBuilder.h"
#include "tests/compiler/frontends/TestModels.h"

namespace inf {
namespace {

using namespace test;
using testing::HasSubstr;

/// A few values of every type and three tensors, in some 700 bytes.
GgufBuilder smallFile() {
  std::mt19937_64 random(3);
  GgufBuilder file;
  file.text("general.architecture", "none").real("real", 0.5f).flag("flag", true);
  file.set("u8", gu8, raw(uint8_t(200))).set("i64", gi64, raw(int64_t(-5)));
  file.set("f64", gf64, raw(0.25)).texts("texts", {"a", "", "ccc"}).integers("integers", {1, -2});
  const std::string inner = raw(uint32_t(gu8)) + raw(uint64_t(2)) + "xy";
  file.set("nested", garray, raw(uint32_t(garray)) + raw(uint64_t(2)) + inner + inner);
  file.tensor("one", {3}, tF32, random).tensor("two", {32, 3}, tQ8_0, random);
  return file.tensor("three", {32, 2, 2}, tMXFP4, random);
}

std::string refusal(const GgufBuilder &builder) {
  const TempDir directory;
  directory.write("a.gguf", builder.file());
  return badInput([&] { GgufFile(directory.file("a.gguf")); });
}

std::string refusal(const std::function<void(GgufBuilder &)> &change) {
  GgufBuilder builder = smallFile();
  change(builder);
  return refusal(builder);
}

TEST(GgufFile, valuesAndTensorsOfEveryKindAreFound) {
  const TempDir directory;
  for (uint32_t version : {2, 3}) {
    GgufBuilder builder = smallFile();
    builder.version = version;
    directory.write("a.gguf", builder.file());
    const GgufFile file(directory.file("a.gguf"));
    EXPECT_EQ(file.metadata().size(), 9u);
    EXPECT_EQ(file.find("i64")->type, GgufType::I64);
    EXPECT_EQ(file.find("nothing"), nullptr);
    EXPECT_THAT(ggufStrings(*file.find("texts")), testing::ElementsAre("a", "", "ccc"));
    EXPECT_EQ(file.find("nested")->items, GgufType::Array);
    EXPECT_EQ(file.find("nested")->count, 2u);
    const GgufTensor &tensor = *file.findTensor("three");
    EXPECT_THAT(tensor.shape, testing::ElementsAre(2, 2, 32));
    EXPECT_EQ(tensor.elements(), 128u);
    EXPECT_EQ(std::string(tensor.bytes.begin(), tensor.bytes.end()), builder.at("three").bytes);
  }
}

TEST(GgufFile, theAlignmentIsTheFilesOwn) {
  const TempDir directory;
  for (uint32_t alignment : {1, 4, 64, 4096}) {
    GgufBuilder builder = smallFile();
    builder.number("general.alignment", alignment).alignment = alignment;
    directory.write("a.gguf", builder.file());
    const GgufFile file(directory.file("a.gguf"));
    const auto bytes = file.findTensor("two")->bytes;
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), builder.at("two").bytes) << alignment;
  }
}

TEST(GgufFile, whatIsNoGgufFileOfAKnownVersionIsSaid) {
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.magic = "GGML"; }), HasSubstr("expected \"GGUF\""));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.version = 1; }), HasSubstr("version 1, expected 2"));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.version = 4; }), HasSubstr("version 4"));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.version = 0x03000000; }), HasSubstr("big-endian"));
}

TEST(GgufFile, valuesThatAreNotWhatTheySayAreRefused) {
  const auto set = [](uint32_t type, const std::string &bytes) {
    return refusal([&](GgufBuilder &b) { b.set("k", type, bytes); });
  };
  EXPECT_THAT(set(13, "abcd"), HasSubstr("value type 13, expected 0 to 12"));
  EXPECT_THAT(set(gbool, raw(uint8_t(2))), HasSubstr("bool of 2"));
  EXPECT_THAT(set(gstring, raw(uint64_t(1) << 40)), HasSubstr("at most the"));
  EXPECT_THAT(set(gstring, raw(UINT64_MAX)), HasSubstr("cut short"));
  const auto array = [&](uint32_t items, uint64_t count) {
    return set(garray, raw(items) + raw(count));
  };
  EXPECT_THAT(array(gu32, UINT64_MAX / 2), HasSubstr("an array of"));
  EXPECT_THAT(array(gu32, uint64_t(1) << 40), HasSubstr("cut short"));
  EXPECT_THAT(array(gstring, uint64_t(1) << 60), HasSubstr("cut short"));
  EXPECT_THAT(array(garray, uint64_t(1) << 60),
              testing::AnyOf(HasSubstr("cut short"), HasSubstr("expected 0 to 12")));
  std::string deep;
  for (int i = 0; i < 100; ++i)
    deep += raw(uint32_t(garray)) + raw(uint64_t(1));
  EXPECT_THAT(set(garray, deep), HasSubstr("nest deeper than 4"));
}

TEST(GgufFile, namesThatAreThereTwiceAreRefused) {
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.values.push_back(b.values[1]); }),
              HasSubstr("key \"real\" is there twice"));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.tensors[2].name = "one"; }),
              HasSubstr("tensor \"one\" is there twice"));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.values[1].key = ""; }), HasSubstr("key of 0 bytes"));
}

TEST(GgufFile, tensorsThatCanNotBeAreRefusedByName) {
  const auto change = [](const std::function<void(GgufBuilder::Tensor &)> &edit) {
    return refusal([&](GgufBuilder &b) { edit(b.at("two")); });
  };
  EXPECT_THAT(change([](auto &t) { t.type = 10; }),
              testing::AllOf(HasSubstr("type 10 (Q2_K)"), HasSubstr("F32, F16, Q4_0, Q4_1, Q8_0")));
  EXPECT_THAT(change([](auto &t) { t.type = 99; }), HasSubstr("type 99 (unknown)"));
  EXPECT_THAT(change([](auto &t) { t.dimensions = {}; }), HasSubstr("0 dimensions"));
  EXPECT_THAT(change([](auto &t) { t.dimensions = {32, 1, 1, 1, 1}; }), HasSubstr("5 dimensions"));
  EXPECT_THAT(change([](auto &t) { t.dimensions = {32, 0}; }), HasSubstr("no 0"));
  EXPECT_THAT(change([](auto &t) { t.dimensions = {32, uint64_t(1) << 60}; }), HasSubstr("no 0"));
  EXPECT_THAT(change([](auto &t) { t.dimensions = {uint64_t(1) << 62, 8}; }), HasSubstr("no 0"));
  EXPECT_THAT(change([](auto &t) { t.dimensions = {48, 2}; }), HasSubstr("rows of 48"));
  EXPECT_THAT(change([](auto &t) { t.dimensions = {32, 4}; }), HasSubstr("overlap"));
  EXPECT_THAT(change([](auto &t) { t.dimensions = {32, 4000}; }), HasSubstr("cut short"));
}

TEST(GgufFile, alignmentsThatAreNoneAreRefused) {
  for (uint32_t alignment : {0, 3, 33})
    EXPECT_THAT(refusal([=](GgufBuilder &b) { b.number("general.alignment", alignment); }),
                HasSubstr("power of two"));
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.real("general.alignment", 32); }), HasSubstr("f32"));
  // Offsets that are multiples of 32 are none of 64.
  EXPECT_THAT(refusal([](GgufBuilder &b) { b.number("general.alignment", 64); }),
              HasSubstr("multiple of 64"));
}

TEST(GgufFile, aFileCutAnywhereIsRefused) {
  const TempDir directory;
  const std::string whole = smallFile().file(), path = directory.file("a.gguf");
  directory.write("a.gguf", whole);
  EXPECT_NO_THROW(GgufFile{path});
  for (size_t size = whole.size(); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    EXPECT_NE(badInput([&] { GgufFile{path}; }), "") << "cut to " << size << " bytes";
  }
}

TEST(GgufFile, countsBeyondTheFileEndItInsteadOfAllocating) {
  const TempDir directory;
  for (size_t at : {8, 16}) { // tensors, values
    std::string bytes = smallFile().file();
    bytes.replace(at, 8, raw(uint64_t(1) << 62));
    directory.write("a.gguf", bytes);
    EXPECT_THAT(badInput([&] { GgufFile(directory.file("a.gguf")); }), HasSubstr("byte"));
  }
}

TEST(GgufFile, aMissingFileIsAnErrorOfReading) {
  EXPECT_THAT(errorOf(ErrorCode::Io, [] { GgufFile("/nowhere/a.gguf"); }), HasSubstr("a.gguf"));
}

} // namespace
} // namespace inf
