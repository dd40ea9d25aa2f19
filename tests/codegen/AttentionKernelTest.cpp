#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/ExecutableKernel.h"
#include "tests/codegen/LinearProblem.h"
#include "tests/codegen/Reference.h"
#include "tests/codegen/Tolerances.h"

namespace inf::test {
namespace {

using testing::ElementsAreArray;

constexpr unsigned seed = 20250731;
constexpr int64_t fewPositions = 192, manyPositions = 5056;
constexpr float behindOut = 12345;
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

struct KeyRange {
  int64_t first, last;
};
/// Full tiles, one key, a window that starts mid-tile, ranges inside one tile, across blocks.
constexpr KeyRange keyRanges[] = {{0, 0},   {0, 15},  {0, 16},  {5, 5},    {5, 9},
                                  {3, 130}, {16, 47}, {63, 64}, {31, 191}, {0, 190}};

/// Around the borders of chunks: from one key to five chunks, and windows across them.
constexpr KeyRange chunkRanges[] = {{0, 0},       {0, 1022},    {0, 1023},    {0, 1024},
                                    {0, 2046},    {0, 2047},    {0, 2048},    {0, 4999},
                                    {1023, 1024}, {1000, 1127}, {1024, 2047}, {1030, 4999}};

KernelSpec attentionSpec(KernelIsa isa, unsigned headDim, unsigned group) {
  KernelSpec spec;
  spec.op = KernelOp::Attention;
  spec.isa = isa;
  spec.headDim = headDim;
  spec.group = group;
  spec.sinks = true;
  return spec;
}

/// Blocks in shuffled order with two layers' worth of space; everything outside the key range that
/// a test asks for can be poisoned with NaN.
class AttentionProblem {
public:
  explicit AttentionProblem(const KernelSpec &kernelSpec, int64_t keys = fewPositions)
      : spec(kernelSpec), positions(keys), random(seed) {
    const auto blocks = static_cast<size_t>(positions / spec.blockTokens);
    const size_t regionBytes = weightBytes(spec.kv, size_t{spec.blockTokens} * spec.headDim);
    args.keyOffset = 64;
    args.valueOffset = static_cast<int64_t>(64 + regionBytes);
    args.blockBytes = static_cast<int64_t>(128 + 2 * regionBytes);
    for (size_t b = 0; b < blocks; ++b)
      table.push_back(static_cast<int32_t>(blocks - 1 - b));
    kv.resize(blocks * static_cast<size_t>(args.blockBytes));
    q = normals(size_t{spec.group} * spec.headDim);
    sinks = normals(spec.group);
    args.q = q.data();
    args.kvBase = kv.data();
    args.blockTable = table.data();
    args.sinks = sinks.data();
    args.scale = 1.0f / std::sqrt(static_cast<float>(spec.headDim));
    for (int64_t position = 0; position < positions; ++position)
      for (unsigned d = 0; d < spec.headDim; ++d)
        setPosition(position, d, normal(random), normal(random));
  }

  void poison(int64_t position) {
    for (unsigned d = 0; d < spec.headDim; ++d)
      setPosition(position, d, notANumber, notANumber);
  }
  void poisonOutside(KeyRange range) {
    for (int64_t position = 0; position < positions; ++position)
      if (position < range.first || position > range.last)
        poison(position);
  }

  /// A key that scores above all others, with every head.
  void raise(int64_t position) {
    for (unsigned d = 0; d < spec.headDim; ++d) {
      for (unsigned h = 0; h < spec.group; ++h)
        q[h * spec.headDim + d] = q[d];
      setPosition(position, d, 4 * q[d], normal(random));
    }
  }

  std::vector<float> run(const ExecutableKernel &kernel, KeyRange range) {
    const size_t outputs = size_t{spec.group} * spec.headDim;
    std::vector<float> out(outputs, notANumber); // stale contents
    out.resize(outputs + 16, behindOut);         // another thread's heads
    args.out = out.data();
    args.firstKey = range.first;
    args.lastKey = range.last;
    kernel(args);
    for (size_t i = outputs; i < out.size(); ++i)
      EXPECT_EQ(out[i], behindOut) << "written behind out";
    out.resize(outputs);
    return out;
  }

  /// The same by a call for each chunk, the last first, and one that joins what they leave.
  std::vector<float> runInChunks(const ExecutableKernel &kernel, KeyRange range) {
    const int64_t first = range.first / attentionChunkKeys, last = range.last / attentionChunkKeys;
    const int64_t bytes = attentionPartialBytes(spec.headDim, spec.group);
    std::vector<float> partials(static_cast<size_t>((last - first + 1) * bytes) / sizeof(float),
                                notANumber);
    auto *const memory = reinterpret_cast<uint8_t *>(partials.data());
    for (int64_t chunk = last; chunk >= first; --chunk) {
      AttentionArgs part = args;
      part.out = nullptr, part.sinks = nullptr;
      part.firstKey = std::max(range.first, chunk * attentionChunkKeys);
      part.lastKey = std::min(range.last, (chunk + 1) * attentionChunkKeys - 1);
      part.partials = memory + (chunk - first) * bytes;
      kernel(part);
    }
    std::vector<float> out(size_t{spec.group} * spec.headDim, notANumber);
    AttentionArgs join{};
    join.out = out.data();
    join.sinks = args.sinks;
    join.partials = memory;
    join.partialCount = last - first + 1;
    kernel(join);
    return out;
  }

  const KernelSpec spec;
  const int64_t positions;
  AttentionArgs args{};
  std::vector<float> q, sinks;

private:
  std::vector<float> normals(size_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = normal(random);
    return values;
  }

  void setPosition(int64_t position, unsigned d, float key, float value) {
    uint8_t *block =
        kv.data() + table[static_cast<size_t>(position / spec.blockTokens)] * args.blockBytes;
    const int64_t in = position % spec.blockTokens;
    put(block + args.keyOffset, (in / 16 * spec.headDim + d) * 16 + in % 16, key);
    put(block + args.valueOffset, in * spec.headDim + d, value);
  }

  void put(uint8_t *base, int64_t index, float value) {
    if (spec.kv == WeightFormat::F32) {
      std::memcpy(base + index * 4, &value, 4);
      return;
    }
    const auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    std::memcpy(base + index * 2, &bits, 2);
  }

  std::mt19937 random;
  std::normal_distribution<float> normal;
  std::vector<int32_t> table;
  std::vector<uint8_t> kv;
};

void checkAgainstReferences(AttentionProblem &problem, const ExecutableKernel &kernel,
                            KeyRange range) {
  SCOPED_TRACE(kernelSymbol(problem.spec) + " keys " + std::to_string(range.first) + ".." +
               std::to_string(range.last) + " seed " + std::to_string(seed));
  const std::vector<float> out = problem.run(kernel, range);
  const std::vector<float> ordered = orderedAttention(problem.spec, problem.args);
  const std::vector<double> exact = exactAttention(problem.spec, problem.args);
  for (size_t i = 0; i < exact.size(); ++i)
    ASSERT_NEAR(ordered[i], exact[i], attention * 5); // |values| <= 5 or so
  ASSERT_THAT(bitsOf(out), ElementsAreArray(bitsOf(ordered)));
}

class AttentionKernel : public testing::TestWithParam<KernelIsa> {
protected:
  void SetUp() override {
    if (!machineRuns(GetParam()))
      GTEST_SKIP() << "this machine does not run AVX-512 kernels";
  }
};

TEST_P(AttentionKernel, EveryHeadDimAndGroupGivesTheStatedBits) {
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::BF16})
    for (unsigned headDim : {8, 16, 24, 32, 40, 64, 72, 80, 96, 104, 128, 248, 256})
      for (unsigned group : {1, 2, 4, 5, 8}) {
        KernelSpec spec = attentionSpec(GetParam(), headDim, group);
        spec.kv = format;
        AttentionProblem problem(spec);
        ExecutableKernel kernel(problem.spec);
        checkAgainstReferences(problem, kernel, {3, 130});
      }
}

TEST_P(AttentionKernel, GroupsThatDoNotDivideEvenlyIntoSubGroupsWorkUpToSixteen) {
  for (unsigned group : {2, 3, 5, 6, 7, 12, 13, 16}) {
    AttentionProblem problem(attentionSpec(GetParam(), 32, group));
    ExecutableKernel kernel(problem.spec);
    checkAgainstReferences(problem, kernel, {7, 70});
  }
}

TEST_P(AttentionKernel, EveryKeyRangeWorksForEveryKvFormatAndBlockSize) {
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::BF16})
    for (unsigned headDim : {8, 24, 48})
      for (unsigned blockTokens : {16, 32, 64}) {
        KernelSpec spec = attentionSpec(GetParam(), headDim, 3);
        spec.kv = format;
        spec.blockTokens = blockTokens;
        AttentionProblem problem(spec);
        ExecutableKernel kernel(spec);
        for (KeyRange range : keyRanges)
          checkAgainstReferences(problem, kernel, range);
      }
}

TEST_P(AttentionKernel, StaleNanOutsideTheKeyRangeDoesNotLeak) {
  for (KeyRange range : keyRanges) {
    AttentionProblem problem(attentionSpec(GetParam(), 64, 4));
    ExecutableKernel kernel(problem.spec);
    const std::vector<float> clean = problem.run(kernel, range);
    problem.poisonOutside(range);
    EXPECT_THAT(bitsOf(problem.run(kernel, range)), ElementsAreArray(bitsOf(clean)));
  }
}

TEST_P(AttentionKernel, SinkOfMinusInfinityIsTheKernelWithoutSinks) {
  AttentionProblem problem(attentionSpec(GetParam(), 64, 4));
  std::fill(problem.sinks.begin(), problem.sinks.end(), -std::numeric_limits<float>::infinity());
  KernelSpec plain = problem.spec;
  plain.sinks = false;
  ExecutableKernel withSinks(problem.spec), withoutSinks(plain);
  const std::vector<float> out = problem.run(withSinks, {3, 130});
  EXPECT_THAT(bitsOf(problem.run(withoutSinks, {3, 130})), ElementsAreArray(bitsOf(out)));
}

TEST_P(AttentionKernel, HugeSinkTakesAllWeightFromTheKeys) {
  AttentionProblem problem(attentionSpec(GetParam(), 64, 4));
  std::fill(problem.sinks.begin(), problem.sinks.end(), 1e30f);
  ExecutableKernel kernel(problem.spec);
  for (float value : problem.run(kernel, {3, 130}))
    EXPECT_EQ(value, 0.0f);
}

TEST_P(AttentionKernel, StepsThatRaiseNoMaximumGiveTheStatedBits) {
  for (unsigned group : {1, 3, 8}) {
    AttentionProblem problem(attentionSpec(GetParam(), 64, group));
    problem.raise(3);
    ExecutableKernel kernel(problem.spec);
    checkAgainstReferences(problem, kernel, {3, 180});
    EXPECT_NE(problem.run(kernel, {3, 180})[0], 0.0f);
  }
}

TEST_P(AttentionKernel, ReadsNothingBehindTheBlockTableAndTheCache) {
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::BF16})
    for (unsigned headDim : {8, 16, 24, 40, 48, 64, 80}) {
      KernelSpec spec = attentionSpec(GetParam(), headDim, 8);
      spec.kv = format;
      AttentionProblem problem(spec);
      ExecutableKernel kernel(spec);
      // The first block of positions lies last, so its values end the cache but for 64 bytes.
      const std::vector<float> out = problem.run(kernel, {0, 63});
      const auto *table = reinterpret_cast<const uint8_t *>(problem.args.blockTable);
      const GuardedBytes guardedTable(std::vector<uint8_t>(table, table + sizeof(int32_t)));
      const uint8_t *cache = problem.args.kvBase;
      const GuardedBytes guardedCache(std::vector<uint8_t>(
          cache, cache + problem.positions / spec.blockTokens * problem.args.blockBytes - 64));
      problem.args.blockTable = reinterpret_cast<const int32_t *>(guardedTable.data());
      problem.args.kvBase = guardedCache.data();
      EXPECT_THAT(bitsOf(problem.run(kernel, {0, 63})), ElementsAreArray(bitsOf(out)));
    }
}

TEST_P(AttentionKernel, ChunksJoinInTheStatedOrder) {
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::BF16})
    for (auto [headDim, group] : {std::pair{64u, 8u}, {24u, 3u}, {8u, 1u}, {16u, 13u}}) {
      KernelSpec spec = attentionSpec(GetParam(), headDim, group);
      spec.kv = format;
      AttentionProblem problem(spec, manyPositions);
      ExecutableKernel kernel(spec);
      for (KeyRange range : chunkRanges)
        checkAgainstReferences(problem, kernel, range);
    }
}

TEST_P(AttentionKernel, ACallForEachChunkGivesTheBitsOfOneCall) {
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::BF16})
    for (bool sinks : {false, true})
      for (auto [headDim, group] : {std::pair{64u, 8u}, {24u, 3u}, {8u, 1u}, {256u, 16u}}) {
        KernelSpec spec = attentionSpec(GetParam(), headDim, group);
        spec.kv = format, spec.sinks = sinks;
        AttentionProblem problem(spec, manyPositions);
        ExecutableKernel kernel(spec);
        for (KeyRange range : chunkRanges) {
          SCOPED_TRACE(kernelSymbol(spec) + " keys " + std::to_string(range.first) + ".." +
                       std::to_string(range.last) + " seed " + std::to_string(seed));
          const std::vector<float> whole = problem.run(kernel, range);
          ASSERT_THAT(bitsOf(problem.runInChunks(kernel, range)), ElementsAreArray(bitsOf(whole)));
        }
      }
}

TEST_P(AttentionKernel, AChunkOfFarHigherScoresPutsOutThoseBeforeAndBehind) {
  AttentionProblem problem(attentionSpec(GetParam(), 64, 4), manyPositions);
  std::fill(problem.q.begin(), problem.q.end(), 0.0f);
  problem.q[0] = problem.q[64] = problem.q[128] = problem.q[192] = 100.0f;
  ExecutableKernel kernel(problem.spec);
  for (KeyRange range : chunkRanges)
    checkAgainstReferences(problem, kernel, range);
}

TEST_P(AttentionKernel, StaleNanOutsideAWindowAcrossChunksDoesNotLeak) {
  for (KeyRange range : chunkRanges) {
    AttentionProblem problem(attentionSpec(GetParam(), 64, 4), manyPositions);
    ExecutableKernel kernel(problem.spec);
    const std::vector<float> clean = problem.run(kernel, range);
    problem.poisonOutside(range);
    EXPECT_THAT(bitsOf(problem.run(kernel, range)), ElementsAreArray(bitsOf(clean)));
    EXPECT_THAT(bitsOf(problem.runInChunks(kernel, range)), ElementsAreArray(bitsOf(clean)));
  }
}

TEST_P(AttentionKernel, NanInOneChunkReachesTheOutputThroughAllOthers) {
  for (int64_t position : {5, 1500, 4999}) { // in the first, a middle and the last chunk
    AttentionProblem problem(attentionSpec(GetParam(), 16, 2), manyPositions);
    problem.poison(position);
    ExecutableKernel kernel(problem.spec);
    for (float value : problem.run(kernel, {0, 4999}))
      EXPECT_TRUE(std::isnan(value)) << position;
    for (float value : problem.runInChunks(kernel, {0, 4999}))
      EXPECT_TRUE(std::isnan(value)) << position;
  }
}

TEST_P(AttentionKernel, NanInAHeadsQueryStaysInThatHead) {
  AttentionProblem problem(attentionSpec(GetParam(), 32, 2));
  problem.q[0] = notANumber;
  ExecutableKernel kernel(problem.spec);
  const std::vector<float> out = problem.run(kernel, {0, 20});
  for (size_t d = 0; d < 32; ++d) {
    EXPECT_TRUE(std::isnan(out[d]));
    EXPECT_TRUE(std::isfinite(out[32 + d]));
  }
}

std::string isaOf(const testing::TestParamInfo<KernelIsa> &info) {
  return info.param == KernelIsa::Avx512 ? "Avx512" : "Avx2";
}
INSTANTIATE_TEST_SUITE_P(Isa, AttentionKernel, testing::Values(KernelIsa::Avx2, KernelIsa::Avx512),
                         isaOf);

TEST(AttentionKernels, BothIsasGiveTheSameBits) {
  if (!machineRuns(KernelIsa::Avx512))
    GTEST_SKIP() << "this machine does not run AVX-512 kernels";
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::BF16}) {
    KernelSpec spec = attentionSpec(KernelIsa::Avx2, 64, 8);
    spec.kv = format;
    AttentionProblem problem(spec);
    ExecutableKernel narrow(spec);
    spec.isa = KernelIsa::Avx512;
    ExecutableKernel wide(spec);
    for (KeyRange range : keyRanges) {
      const std::vector<float> out = problem.run(narrow, range);
      EXPECT_THAT(bitsOf(problem.run(wide, range)), ElementsAreArray(bitsOf(out)));
    }
  }
}

} // namespace
} // namespace inf::test
