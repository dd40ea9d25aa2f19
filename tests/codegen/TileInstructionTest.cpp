// The emulation of tile instructions against loops written down from what each is said to do. On a
// machine with AMX the same tests say whether the loops are right.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/KernelAssembler.h"
#include "tests/codegen/ExecutableKernel.h"
#include "tests/codegen/TileEmulation.h"

namespace inf::test {
namespace {

using testing::ElementsAreArray;

constexpr unsigned seed = 20260302;
constexpr size_t rows = 11, depth = 7, columns = 13; ///< of sums; depth in groups of 4 bytes

using Bytes = std::vector<uint8_t>;

/// Rows that lie further apart than they are long.
constexpr size_t strideBytes = 80;

struct TileArgs {
  const uint8_t *configuration;
  const uint8_t *a, *b;
  uint8_t *sums, *configurationAfter;
};

Bytes configuration() {
  Bytes bytes(64);
  bytes[0] = 1;
  // tile 3: as tile 1, but too few columns for tile 2
  const size_t shapes[4][2] = {
      {rows, 4 * columns}, {rows, 4 * depth}, {depth, 4 * columns}, {rows, 4 * depth - 4}};
  for (size_t tile = 0; tile < 4; ++tile) {
    bytes[48 + tile] = static_cast<uint8_t>(shapes[tile][0]);
    bytes[16 + 2 * tile] = static_cast<uint8_t>(shapes[tile][1]);
  }
  return bytes;
}

using EmitDot = std::function<void(KernelAssembler &)>;

/// sums = dot(sums, a, b), by tiles 0, 1, 2.
KernelCode tileCode(const EmitDot &dot) {
  KernelAssembler a(KernelIsa::Amx, 1, 0);
  const Gpr args = a.takeArguments(), stride = a.takeGeneral("stride");
  const Gpr pointer = a.takeGeneral("pointer"), sums = a.takeGeneral("sums");
  const auto argument = [&](const Gpr &to, size_t offset) { a.mov(to, a.ptr[args + offset]); };
  argument(pointer, offsetof(TileArgs, configuration));
  a.ldtilecfg(a.ptr[pointer]);
  a.mov(stride, strideBytes / 4);
  argument(sums, offsetof(TileArgs, sums));
  a.tilezero(a.tmm0);
  a.tileloadd(a.tmm0, a.ptr[sums + stride * 4]);
  argument(pointer, offsetof(TileArgs, a));
  a.tileloaddt1(a.tmm1, a.ptr[pointer + stride * 4]);
  argument(pointer, offsetof(TileArgs, b));
  a.sub(pointer, 0x200);
  a.tileloadd(a.tmm2, a.ptr[pointer + stride * 4 + 0x200]);
  dot(a);
  a.tilestored(a.ptr[sums + stride * 4], a.tmm0);
  argument(pointer, offsetof(TileArgs, configurationAfter));
  a.sttilecfg(a.ptr[pointer + 64]);
  a.tilerelease();
  a.sttilecfg(a.ptr[pointer]);
  return a.finish("tiles");
}

class TileInstruction : public testing::Test {
protected:
  void SetUp() override {
    const FeatureSet emulated = FeatureSet{}.with(Feature::AMXTILE).with(Feature::AMXINT8);
    const FeatureSet missing = emulated.missing(missingFor(KernelIsa::Amx));
    if (!missing.empty())
      GTEST_SKIP() << "this machine lacks " << missing.toString();
    std::mt19937 random(seed);
    for (Bytes *bytes : {&a, &b, &sums})
      for (uint8_t &byte : *bytes)
        byte = static_cast<uint8_t>(random());
  }

  void run(const EmitDot &dot) {
    const Bytes tiles = configuration();
    ExecutableKernel kernel(tileCode(dot));
    kernel(TileArgs{tiles.data(), a.data(), b.data(), sums.data(), after.data()});
  }

  /// Every sum by `sumOf`, rows apart by strideBytes; bytes between rows stay.
  Bytes expected(const std::function<uint32_t(size_t, size_t)> &sumOf) const {
    Bytes result = sums;
    for (size_t m = 0; m < rows; ++m)
      for (size_t n = 0; n < columns; ++n) {
        const uint32_t sum = sumOf(m, n);
        std::memcpy(&result[m * strideBytes + 4 * n], &sum, 4);
      }
    return result;
  }

  uint32_t word(const Bytes &bytes, size_t row, size_t index) const {
    uint32_t value;
    std::memcpy(&value, &bytes[row * strideBytes + 4 * index], 4);
    return value;
  }

  void expectByteDot(bool aSigned, bool bSigned, const EmitDot &dot) {
    const auto value = [](uint8_t byte, bool isSigned) {
      return isSigned ? static_cast<int8_t>(byte) : int{byte};
    };
    const Bytes wanted = expected([&](size_t m, size_t n) {
      int64_t sum = static_cast<int32_t>(word(sums, m, n));
      for (size_t k = 0; k < 4 * depth; ++k)
        sum += value(a[m * strideBytes + k], aSigned) *
               value(b[k / 4 * strideBytes + 4 * n + k % 4], bSigned);
      return static_cast<uint32_t>(sum);
    });
    run(dot);
    EXPECT_THAT(sums, ElementsAreArray(wanted)) << "seed " << seed;
  }

  Bytes a = Bytes(16 * strideBytes), b = Bytes(16 * strideBytes), sums = Bytes(16 * strideBytes);
  Bytes after = Bytes(128, 0xCC);
  TileEmulation emulation;
};

TEST_F(TileInstruction, TdpbssdMultipliesSignedBySigned) {
  expectByteDot(true, true,
                [](KernelAssembler &code) { code.tdpbssd(code.tmm0, code.tmm1, code.tmm2); });
}
TEST_F(TileInstruction, TdpbsudMultipliesSignedByUnsigned) {
  expectByteDot(true, false,
                [](KernelAssembler &code) { code.tdpbsud(code.tmm0, code.tmm1, code.tmm2); });
}
TEST_F(TileInstruction, TdpbusdMultipliesUnsignedBySigned) {
  expectByteDot(false, true,
                [](KernelAssembler &code) { code.tdpbusd(code.tmm0, code.tmm1, code.tmm2); });
}
TEST_F(TileInstruction, TdpbuudMultipliesUnsignedByUnsigned) {
  expectByteDot(false, false,
                [](KernelAssembler &code) { code.tdpbuud(code.tmm0, code.tmm1, code.tmm2); });
}

/// Small integers, whose sums are exact in any order.
TEST_F(TileInstruction, Tdpbf16psMultipliesPairs) {
  const FeatureSet usable = detectFeatures(hostCpuid()).usable;
  if (usable.has(Feature::AMXTILE) && !usable.has(Feature::AMXBF16))
    GTEST_SKIP() << "this machine lacks amx_bf16";
  const auto fill = [](Bytes &bytes, int (*valueAt)(size_t)) {
    for (size_t i = 0; i < bytes.size() / 2; ++i) {
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(valueAt(i))) >> 16;
      bytes[2 * i] = static_cast<uint8_t>(bits), bytes[2 * i + 1] = static_cast<uint8_t>(bits >> 8);
    }
  };
  fill(a, [](size_t i) { return static_cast<int>(i * 7 % 31) - 15; });
  fill(b, [](size_t i) { return static_cast<int>(i * 5 % 29) - 14; });
  for (size_t i = 0; i < sums.size() / 4; ++i) {
    const auto value = static_cast<float>(i % 1000);
    std::memcpy(&sums[4 * i], &value, 4);
  }
  const auto bf16 = [](const Bytes &bytes, size_t at) {
    return std::bit_cast<float>(uint32_t{bytes[at]} << 16 | uint32_t{bytes[at + 1]} << 24);
  };
  const Bytes wanted = expected([&](size_t m, size_t n) {
    auto sum = std::bit_cast<float>(word(sums, m, n));
    for (size_t k = 0; k < 2 * depth; ++k)
      sum += bf16(a, m * strideBytes + 2 * k) * bf16(b, k / 2 * strideBytes + 4 * n + 2 * (k % 2));
    return std::bit_cast<uint32_t>(sum);
  });
  run([](KernelAssembler &code) { code.tdpbf16ps(code.tmm0, code.tmm1, code.tmm2); });
  EXPECT_THAT(sums, ElementsAreArray(wanted));
}

/// Sums that are not exact say the order: even columns in one chain of FMAs, odd ones in another,
/// then both are added, then that to the sum.
TEST_F(TileInstruction, Tdpbf16psAddsTheSumOfTwoChains) {
  const FeatureSet usable = detectFeatures(hostCpuid()).usable;
  if (usable.has(Feature::AMXTILE) && !usable.has(Feature::AMXBF16))
    GTEST_SKIP() << "this machine lacks amx_bf16";
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (Bytes *bytes : {&a, &b, &sums})
    for (size_t i = 0; i < bytes->size() / 4; ++i) {
      const float value = normal(random); // its upper half is a bf16 that is as good
      std::memcpy(&(*bytes)[4 * i], &value, 4);
    }
  for (Bytes *bytes : {&a, &b})
    for (size_t i = 0; i < bytes->size(); i += 4)
      (*bytes)[i + 1] = static_cast<uint8_t>(0x3F - (i & 0x80)); // lower halves: moderate, any sign
  const auto half = [](const Bytes &bytes, size_t row, size_t index) {
    uint16_t bits;
    std::memcpy(&bits, &bytes[row * strideBytes + 2 * index], 2);
    return std::bit_cast<float>(uint32_t{bits} << 16);
  };
  const Bytes wanted = expected([&](size_t m, size_t n) {
    float chains[2] = {0, 0};
    for (size_t k = 0; k < 2 * depth; ++k)
      chains[k % 2] = std::fma(half(a, m, k), half(b, k / 2, 2 * n + k % 2), chains[k % 2]);
    const float both = chains[0] + chains[1];
    return std::bit_cast<uint32_t>(std::bit_cast<float>(word(sums, m, n)) + both);
  });
  run([](KernelAssembler &code) { code.tdpbf16ps(code.tmm0, code.tmm1, code.tmm2); });
  EXPECT_THAT(sums, ElementsAreArray(wanted)) << "seed " << seed;
}

TEST_F(TileInstruction, TilezeroForgetsWhatWasLoaded) {
  const Bytes wanted = expected([](size_t, size_t) { return 0u; });
  run([](KernelAssembler &code) { code.tilezero(code.tmm0); });
  EXPECT_THAT(sums, ElementsAreArray(wanted));
}

TEST_F(TileInstruction, SttilecfgGivesWhatWasLoadedAndZerosAfterRelease) {
  run([](KernelAssembler &) {});
  const Bytes loaded = configuration();
  EXPECT_THAT(Bytes(after.begin() + 64, after.end()), ElementsAreArray(loaded));
  EXPECT_THAT(Bytes(after.begin(), after.begin() + 64), ElementsAreArray(Bytes(64)));
}

/// A CPU raises SIGILL for these too.
TEST_F(TileInstruction, ShapesThatDoNotFitEndTheTest) {
  EXPECT_DEATH(run([](KernelAssembler &code) { code.tdpbssd(code.tmm0, code.tmm2, code.tmm1); }),
               "");
  EXPECT_DEATH(run([](KernelAssembler &code) { code.tdpbssd(code.tmm0, code.tmm3, code.tmm2); }),
               "");
  EXPECT_DEATH(run([](KernelAssembler &code) { code.tilezero(code.tmm5); }), "");
  EXPECT_DEATH(run([](KernelAssembler &code) { code.tilerelease(), code.tilezero(code.tmm0); }),
               "");
}

} // namespace
} // namespace inf::test
