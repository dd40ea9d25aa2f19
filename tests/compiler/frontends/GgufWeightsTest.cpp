#include "compiler/frontends/gguf/GgufWeights.h"

#include <cstring>
#include <random>

#include <gmock/gmock.h>

#include "compiler/frontends/gguf/KQuants.h"
#include "runtime/format/NumberFormats.h"
#include "tests/compiler/frontends/GgufBuilder.h"
#include "tests/compiler/frontends/TestModels.h"

namespace inf {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr uint64_t seed = 20240614; // printed with every failure; change it here to repeat another

/// A file of some tensors under test.
struct Opened {
  explicit Opened(const GgufBuilder &builder) {
    directory.write("a.gguf", builder.file());
    file = std::make_shared<const GgufFile>(directory.file("a.gguf"));
  }
  TempDir directory;
  std::shared_ptr<const GgufFile> file;
};

std::string readAll(const WeightSource &source, const std::string &tensor, uint64_t bytes) {
  std::string out(bytes, 0);
  source.read(tensor, 0, {reinterpret_cast<uint8_t *>(out.data()), out.size()});
  return out;
}

std::vector<float> readFloats(const WeightSource &source, const std::string &tensor,
                              uint64_t count) {
  const std::string bytes = readAll(source, tensor, count * 4);
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(GgufWeights, keptTypesAreGivenAsTheyLie) {
  std::mt19937_64 random(seed);
  GgufBuilder builder;
  const uint32_t types[] = {tF32, tF16, tBF16, tQ8_0, tQ4_0, tQ4_1, tMXFP4};
  for (uint32_t type : types)
    builder.tensor(fmt::format("t{}", type), {64, 3, 2}, type, random);
  const Opened opened(builder);
  const auto source = makeGgufSource(opened.file, {});
  for (const auto &tensor : builder.tensors)
    EXPECT_EQ(readAll(*source, tensor.name, tensor.bytes.size()), tensor.bytes) << tensor.name;
}

TEST(GgufWeights, rowsOfPairedHeadsComeInTheOrderThatRotatesHalves) {
  // Two heads of 6 rows, 2 columns; the value is the row's place in the file.
  GgufBuilder builder;
  std::string matrix, vector;
  for (int row = 0; row < 12; ++row) {
    matrix += raw(float(row)) + raw(float(row));
    vector += raw(float(row));
  }
  builder.tensors.push_back({"q", {2, 12}, tF32, matrix});
  builder.tensors.push_back({"q.bias", {12}, tF32, vector});
  const Opened opened(builder);
  const auto source = makeGgufSource(opened.file, {{"q", 6}, {"q.bias", 6}});
  EXPECT_THAT(readFloats(*source, "q.bias", 12),
              testing::ElementsAre(0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11));
  EXPECT_THAT(readFloats(*source, "q", 8), testing::ElementsAre(0, 0, 2, 2, 4, 4, 1, 1));
}

TEST(GgufWeights, anyRangeIsTheSamePieceOfTheWhole) {
  std::mt19937_64 random(seed);
  GgufBuilder builder;
  for (uint32_t type : {tF32, tQ8_0, tQ4_K, tQ5_K, tQ6_K})
    builder.tensor(fmt::format("t{}", type), {512, 8}, type, random);
  const Opened opened(builder);
  for (uint64_t headRows : {0, 4}) {
    PairedHeads paired;
    for (const auto &tensor : builder.tensors)
      if (headRows)
        paired[tensor.name] = headRows;
    const auto source = makeGgufSource(opened.file, paired);
    for (const auto &tensor : builder.tensors) {
      const uint64_t bytes = tensor.type == tQ8_0 ? 512 / 32 * 34 * 8 : 512 * 4 * 8;
      const std::string whole = readAll(*source, tensor.name, bytes);
      for (int i = 0; i < 100; ++i) {
        const uint64_t from = random() % bytes, count = random() % (bytes - from);
        std::string piece(count, 0);
        source->read(tensor.name, from, {reinterpret_cast<uint8_t *>(piece.data()), count});
        ASSERT_EQ(piece, whole.substr(from, count))
            << "seed " << seed << ", " << tensor.name << " " << from << " + " << count;
      }
    }
  }
}

TEST(GgufWeights, rangesAndTensorsThatAreNotThereAreRefused) {
  std::mt19937_64 random(seed);
  GgufBuilder builder;
  builder.tensor("t", {256, 2}, tQ6_K, random);
  const Opened opened(builder);
  const auto source = makeGgufSource(opened.file, {});
  std::vector<uint8_t> out(8);
  source->read("t", 2040, out);
  for (uint64_t offset : {uint64_t(2041), uint64_t(2048), UINT64_MAX - 2})
    EXPECT_THAT(badInput([&] { source->read("t", offset, out); }), HasSubstr("2048 bytes"));
  EXPECT_THAT(badInput([&] { source->read("u", 0, out); }), HasSubstr("no tensor \"u\""));
}

TEST(GgufWeights, headsThatDoNotDivideTheRowsAreRefused) {
  std::mt19937_64 random(seed);
  GgufBuilder builder;
  builder.tensor("t", {32, 8}, tF32, random).tensor("v", {32}, tQ8_0, random);
  const Opened opened(builder);
  for (uint64_t rows : {3, 16, 5})
    EXPECT_THAT(badInput([&] {
                  makeGgufSource(opened.file, {{"t", rows}});
                }),
                HasSubstr("whole number of heads"));
  EXPECT_THAT(badInput([&] { makeGgufSource(opened.file, {{"v", 16}}); }), HasSubstr("\"v\""));
}

/// Random numbers of a super-block and its bytes, put together as GGML's quantizers do.
struct SuperBlock {
  float d = 0, dmin = 0;
  std::vector<int> scales, minimums, codes;
  std::string bytes;
};

SuperBlock affineBlock(int codeBits, std::mt19937_64 &random) {
  SuperBlock block;
  const uint16_t d = f32ToF16(float(random() % 1000) / 8192), dmin = f32ToF16(float(random() % 99));
  block.d = f16ToF32(d), block.dmin = f16ToF32(dmin);
  std::string packed(12, 0), fifth(32, 0), low(128, 0);
  for (int i = 0; i < 8; ++i) {
    const int scale = int(random() % 64), minimum = int(random() % 64);
    block.scales.push_back(scale), block.minimums.push_back(minimum);
    if (i < 4) {
      packed[size_t(i)] |= char(scale), packed[size_t(i + 4)] |= char(minimum);
      continue;
    }
    packed[size_t(i + 4)] = char((scale & 15) | (minimum & 15) << 4);
    packed[size_t(i - 4)] |= char(scale >> 4 << 6);
    packed[size_t(i)] |= char(minimum >> 4 << 6);
  }
  for (int i = 0; i < 256; ++i) {
    const int code = int(random() % (1u << codeBits));
    block.codes.push_back(code);
    low[size_t(i / 64 * 32 + i % 32)] |= char((code & 15) << (i % 64 / 32 * 4));
    fifth[size_t(i % 32)] |= char((code >> 4) << (i / 32));
  }
  block.bytes = raw(d) + raw(dmin) + packed + (codeBits == 5 ? fifth : "") + low;
  return block;
}

SuperBlock signedBlock(std::mt19937_64 &random) {
  SuperBlock block;
  const uint16_t d = f32ToF16(float(random() % 1000) / 8192);
  block.d = f16ToF32(d);
  std::string low(128, 0), high(64, 0), scales;
  for (int i = 0; i < 16; ++i) {
    block.scales.push_back(int(random() % 256) - 128);
    scales += char(block.scales.back());
  }
  for (int i = 0; i < 256; ++i) {
    const int code = int(random() % 64);
    block.codes.push_back(code);
    const int half = i / 128, quarter = i % 128 / 32, j = i % 32;
    const int lowByte = 64 * half + (quarter == 1 || quarter == 3 ? 32 : 0) + j;
    low[size_t(lowByte)] |= char((code & 15) << (quarter >= 2 ? 4 : 0));
    high[size_t(32 * half + j)] |= char((code >> 4) << (2 * quarter));
  }
  block.bytes = low + high + scales + raw(d);
  return block;
}

TEST(KQuants, everySuperBlockDecodesToWhatItWasMadeOf) {
  std::mt19937_64 random(seed);
  float values[256];
  for (int repeat = 0; repeat < 20; ++repeat) {
    for (int bits : {4, 5}) {
      const SuperBlock block = affineBlock(bits, random);
      ASSERT_EQ(block.bytes.size(), bits == 4 ? 144u : 176u);
      decodeSuperBlock(bits == 4 ? tQ4_K : tQ5_K,
                       reinterpret_cast<const uint8_t *>(block.bytes.data()), values);
      for (size_t i = 0; i < 256; ++i)
        ASSERT_EQ(values[i], float(double(block.d) * block.scales[i / 32] * block.codes[i] -
                                   double(block.dmin) * block.minimums[i / 32]))
            << "seed " << seed << ", value " << i << " of " << bits << " bits";
    }
    const SuperBlock block = signedBlock(random);
    ASSERT_EQ(block.bytes.size(), 210u);
    decodeSuperBlock(tQ6_K, reinterpret_cast<const uint8_t *>(block.bytes.data()), values);
    for (size_t i = 0; i < 256; ++i)
      ASSERT_EQ(values[i], float(double(block.d) * block.scales[i / 16] * (block.codes[i] - 32)))
          << "seed " << seed << ", value " << i;
  }
}

TEST(GgufTensors, whatIsMissingExtraOrOfAnotherShapeIsListed) {
  std::mt19937_64 random(seed);
  GgufBuilder builder;
  builder.tensor("a", {64, 3}, tQ8_0, random).tensor("b", {64, 3, 2}, tF32, random);
  builder.tensor("left", {4}, tF32, random);
  const Opened opened(builder);
  const WeightDecl a{"a", 1, 3, 64, {{"a", "", WeightFormat::INT8, 3, false, false}}};
  const WeightDecl b{"b", 2, 3, 64, {{"b", "", WeightFormat::F32, 3, false, false}}};
  const WeightDecl left{"left", 1, 4, 1, {{"left", "", WeightFormat::F32, 4, false, false}}};
  EXPECT_NO_THROW(checkGgufTensors({a, b, left}, *opened.file));
  EXPECT_THAT(badInput([&] {
                checkGgufTensors({a, b}, *opened.file);
              }),
              HasSubstr("1 extra: \"left\""));
  WeightDecl wrong = a;
  wrong.columns = 32;
  EXPECT_THAT(badInput([&] {
                checkGgufTensors({wrong, b, left}, *opened.file);
              }),
              HasSubstr("\"a\" (expected int8 [3, 32], found Q8_0 [3, 64])"));
  wrong = a;
  wrong.parts[0].stored = WeightFormat::F16;
  EXPECT_THAT(badInput([&] {
                checkGgufTensors({wrong, b, left}, *opened.file);
              }),
              HasSubstr("expected f16 [3, 64]"));
  wrong.parts[0].tensor = "gone";
  EXPECT_THAT(badInput([&] {
                checkGgufTensors({wrong, b, left}, *opened.file);
              }),
              HasSubstr("1 missing: gone"));
}

} // namespace
} // namespace inf
