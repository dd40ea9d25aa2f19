#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>

#include <immintrin.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/ExecutableKernel.h"
#include "tests/codegen/LinearProblem.h"
#include "tests/codegen/Reference.h"
#include "tests/codegen/TileEmulation.h"
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

  void scaleKeysAndValues(float factor) {
    for (int64_t position = 0; position < positions; ++position)
      for (unsigned d = 0; d < spec.headDim; ++d)
        setPosition(position, d, normal(random) * factor, normal(random) * factor);
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
    put(block + args.keyOffset, keyElement(spec, in, d), key);
    put(block + args.valueOffset, valueElement(spec, in, d), value);
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
  const double tolerance = problem.spec.inputs == InputFormat::BF16 ? attentionOfBf16 : attention;
  for (size_t i = 0; i < exact.size(); ++i)
    ASSERT_NEAR(ordered[i], exact[i], tolerance * 5); // |values| <= 5 or so
  ASSERT_THAT(bitsOf(out), ElementsAreArray(bitsOf(ordered)));
}

/// What is multiplied how, and on what.
struct Kind {
  std::string_view name;
  KernelIsa isa;
  WeightFormat kv;
  InputFormat inputs;
  Bf16Order order = Bf16Order::Pairs;
};
constexpr Kind kinds[] = {
    {"F32CacheAvx2", KernelIsa::Avx2, WeightFormat::F32, InputFormat::F32},
    {"F32CacheAvx512", KernelIsa::Avx512, WeightFormat::F32, InputFormat::F32},
    {"F32DotsAvx2", KernelIsa::Avx2, WeightFormat::BF16, InputFormat::F32},
    {"F32DotsAvx512", KernelIsa::Avx512, WeightFormat::BF16, InputFormat::F32},
    {"Bf16DotsAvx2", KernelIsa::Avx2, WeightFormat::BF16, InputFormat::BF16},
    {"Bf16DotsAvx512", KernelIsa::Avx512, WeightFormat::BF16, InputFormat::BF16},
    {"Bf16DotsAvx512Bf16", KernelIsa::Avx512Bf16, WeightFormat::BF16, InputFormat::BF16},
    {"Bf16DotsAmx", KernelIsa::Amx, WeightFormat::BF16, InputFormat::BF16, Bf16Order::Groups},
};

/// Where this machine has no AMX, TileEmulation runs the tile instructions.
class AttentionKernel : public testing::TestWithParam<Kind> {
protected:
  void SetUp() override {
    const FeatureSet tiles = FeatureSet{}.with(Feature::AMXTILE).with(Feature::AMXBF16);
    const FeatureSet missing =
        (detectFeatures(hostCpuid()).usable | tiles).missing(kernelFeatures(specOf(32, 1)));
    if (!missing.empty())
      GTEST_SKIP() << "this machine lacks " << missing.toString();
  }

  void TearDown() override {
    if (IsSkipped() || GetParam().isa != KernelIsa::Amx)
      return;
    EXPECT_FALSE(emulation.isConfigured()) << "tiles stay configured behind the kernel";
    if (!machineRuns(KernelIsa::Amx)) {
      EXPECT_GT(emulation.executed(), 0u) << "no tiles were used";
    }
  }

  /// On tiles of the next multiple of 32 dimensions, and of blocks of at least 32 tokens.
  static KernelSpec specOf(unsigned headDim, unsigned group, unsigned blockTokens = 64) {
    const bool groups = GetParam().order == Bf16Order::Groups;
    KernelSpec spec =
        attentionSpec(GetParam().isa, groups ? (headDim + 31) / 32 * 32 : headDim, group);
    spec.kv = GetParam().kv, spec.inputs = GetParam().inputs, spec.order = GetParam().order;
    spec.blockTokens = groups ? std::max(blockTokens, 32u) : blockTokens;
    return spec;
  }

  TileEmulation emulation;
};

TEST_P(AttentionKernel, EveryHeadDimAndGroupGivesTheStatedBits) {
  for (unsigned headDim : {8, 16, 24, 32, 40, 64, 72, 80, 96, 104, 128, 160, 224, 248, 256})
    for (unsigned group : {1, 2, 4, 5, 8}) {
      AttentionProblem problem(specOf(headDim, group));
      ExecutableKernel kernel(problem.spec);
      checkAgainstReferences(problem, kernel, {3, 130});
    }
}

TEST_P(AttentionKernel, GroupsThatDoNotDivideEvenlyIntoSubGroupsWorkUpToSixteen) {
  for (unsigned headDim : {24, 32, 104})
    for (unsigned group : {2, 3, 5, 6, 7, 12, 13, 16}) {
      AttentionProblem problem(specOf(headDim, group));
      ExecutableKernel kernel(problem.spec);
      checkAgainstReferences(problem, kernel, {7, 70});
    }
  AttentionProblem largest(specOf(256, 16));
  ExecutableKernel kernel(largest.spec);
  checkAgainstReferences(largest, kernel, {7, 130});
}

TEST_P(AttentionKernel, EveryKeyRangeWorksForEveryKvFormatAndBlockSize) {
  for (unsigned headDim : {8, 24, 48})
    for (unsigned blockTokens : {16, 32, 64, 128, 256}) {
      const KernelSpec spec = specOf(headDim, 3, blockTokens);
      AttentionProblem problem(spec, (fewPositions + blockTokens - 1) / blockTokens * blockTokens);
      ExecutableKernel kernel(spec);
      for (KeyRange range : keyRanges)
        checkAgainstReferences(problem, kernel, range);
    }
}

TEST_P(AttentionKernel, WhereTheThreadGoesNextChangesNoBitWhateverTheAddress) {
  AttentionProblem problem(specOf(40, 4));
  ExecutableKernel kernel(problem.spec);
  for (KeyRange range : keyRanges) {
    problem.args.next = nullptr;
    const std::vector<float> alone = problem.run(kernel, range);
    for (uintptr_t address : {uintptr_t{8}, reinterpret_cast<uintptr_t>(problem.args.kvBase) + 192,
                              uintptr_t{0xFFFF'8000'0000'0000}, ~uintptr_t{0}}) {
      problem.args.next = reinterpret_cast<const uint8_t *>(address);
      EXPECT_THAT(bitsOf(problem.run(kernel, range)), ElementsAreArray(bitsOf(alone)));
    }
  }
}

TEST_P(AttentionKernel, StaleNanOutsideTheKeyRangeDoesNotLeak) {
  for (KeyRange range : keyRanges) {
    AttentionProblem problem(specOf(40, 4));
    ExecutableKernel kernel(problem.spec);
    const std::vector<float> clean = problem.run(kernel, range);
    problem.poisonOutside(range);
    EXPECT_THAT(bitsOf(problem.run(kernel, range)), ElementsAreArray(bitsOf(clean)));
  }
}

TEST_P(AttentionKernel, StaleNanInTheOtherHalfOfAPairDoesNotLeak) {
  for (int64_t first : {16, 17})
    for (int64_t last : {19, 20, 34, 47})
      for (unsigned headDim : {8, 24, 64}) {
        AttentionProblem problem(specOf(headDim, 5));
        ExecutableKernel kernel(problem.spec);
        problem.poisonOutside({first, last});
        for (float value : problem.run(kernel, {first, last}))
          ASSERT_TRUE(std::isfinite(value)) << first << ".." << last << " seed " << seed;
        checkAgainstReferences(problem, kernel, {first, last});
      }
}

/// bf16 has f32's exponents: denormals of both, sums that become one, and values that round up to
/// the next power of two or to infinity.
TEST_P(AttentionKernel, DenormalsAndExtremesGiveTheStatedBits) {
  for (float size : {0x1p-140f, 0x1p-127f, 0x1.fffffep-127f, 0x1p-64f, 0x1.fffp+30f}) {
    AttentionProblem problem(specOf(24, 3));
    ExecutableKernel kernel(problem.spec);
    for (float &x : problem.q)
      x *= size;
    problem.scaleKeysAndValues(size);
    SCOPED_TRACE(size);
    const std::vector<float> out = problem.run(kernel, {3, 130});
    const std::vector<float> ordered = orderedAttention(problem.spec, problem.args);
    ASSERT_THAT(bitsOf(out), ElementsAreArray(bitsOf(ordered)));
  }
}

TEST_P(AttentionKernel, QueriesRoundToTheNearestEvenAndToInfinity) {
  AttentionProblem problem(specOf(24, 3));
  ExecutableKernel kernel(problem.spec);
  const uint32_t patterns[] = {0x3F808000, 0x3F818000, 0x3F808001, 0x3F817FFF, 0xBF808000,
                               0x00008000, 0x807FFFFF, 0x00800000, 0x3FFF8000, 0x7F7F7FFF};
  for (size_t i = 0; i < problem.q.size(); ++i)
    problem.q[i] = std::bit_cast<float>(patterns[i % std::size(patterns)]) / (i % 10 == 9 ? 4 : 1);
  const std::vector<float> out = problem.run(kernel, {3, 130});
  const std::vector<float> ordered = orderedAttention(problem.spec, problem.args);
  ASSERT_THAT(bitsOf(out), ElementsAreArray(bitsOf(ordered)));
}

TEST_P(AttentionKernel, LeavesMxcsrAsItWas) {
  AttentionProblem problem(specOf(24, 3));
  ExecutableKernel kernel(problem.spec);
  const unsigned before = _mm_getcsr();
  problem.run(kernel, {3, 130});
  EXPECT_EQ(_mm_getcsr() & ~0x3Fu, before & ~0x3Fu); // but for the flags of what happened
}

TEST_P(AttentionKernel, SinkOfMinusInfinityIsTheKernelWithoutSinks) {
  AttentionProblem problem(specOf(64, 4));
  std::fill(problem.sinks.begin(), problem.sinks.end(), -std::numeric_limits<float>::infinity());
  KernelSpec plain = problem.spec;
  plain.sinks = false;
  ExecutableKernel withSinks(problem.spec), withoutSinks(plain);
  const std::vector<float> out = problem.run(withSinks, {3, 130});
  EXPECT_THAT(bitsOf(problem.run(withoutSinks, {3, 130})), ElementsAreArray(bitsOf(out)));
}

TEST_P(AttentionKernel, HugeSinkTakesAllWeightFromTheKeys) {
  AttentionProblem problem(specOf(64, 4));
  std::fill(problem.sinks.begin(), problem.sinks.end(), 1e30f);
  ExecutableKernel kernel(problem.spec);
  for (float value : problem.run(kernel, {3, 130}))
    EXPECT_EQ(value, 0.0f);
}

TEST_P(AttentionKernel, StepsThatRaiseNoMaximumGiveTheStatedBits) {
  for (unsigned group : {1, 3, 8}) {
    AttentionProblem problem(specOf(64, group));
    problem.raise(3);
    ExecutableKernel kernel(problem.spec);
    checkAgainstReferences(problem, kernel, {3, 180});
    EXPECT_NE(problem.run(kernel, {3, 180})[0], 0.0f);
  }
}

TEST_P(AttentionKernel, ReadsNothingBehindTheQueryTheBlockTableAndTheCache) {
  constexpr KeyRange firstBlock[] = {{0, 63}, {0, 40}, {33, 63}};
  for (unsigned headDim : {8, 16, 24, 40, 48, 64, 80})
    for (unsigned group : {1, 3, 8}) {
      const KernelSpec spec = specOf(headDim, group);
      AttentionProblem problem(spec);
      ExecutableKernel kernel(spec);
      const auto *query = reinterpret_cast<const uint8_t *>(problem.q.data());
      const GuardedBytes guardedQuery(
          std::vector<uint8_t>(query, query + problem.q.size() * sizeof(float)));
      problem.args.q = reinterpret_cast<const float *>(guardedQuery.data());
      // The first block of positions lies last, so its values end the cache but for 64 bytes.
      std::vector<std::vector<float>> out;
      for (KeyRange range : firstBlock)
        out.push_back(problem.run(kernel, range));
      const auto *table = reinterpret_cast<const uint8_t *>(problem.args.blockTable);
      const GuardedBytes guardedTable(std::vector<uint8_t>(table, table + sizeof(int32_t)));
      const uint8_t *cache = problem.args.kvBase;
      const GuardedBytes guardedCache(std::vector<uint8_t>(
          cache, cache + problem.positions / spec.blockTokens * problem.args.blockBytes - 64));
      problem.args.blockTable = reinterpret_cast<const int32_t *>(guardedTable.data());
      problem.args.kvBase = guardedCache.data();
      for (size_t i = 0; i < out.size(); ++i)
        EXPECT_THAT(bitsOf(problem.run(kernel, firstBlock[i])), ElementsAreArray(bitsOf(out[i])));
    }
}

TEST_P(AttentionKernel, ChunksJoinInTheStatedOrder) {
  for (auto [headDim, group] : {std::pair{64u, 8u}, {24u, 3u}, {8u, 1u}, {16u, 13u}}) {
    AttentionProblem problem(specOf(headDim, group), manyPositions);
    ExecutableKernel kernel(problem.spec);
    for (KeyRange range : chunkRanges)
      checkAgainstReferences(problem, kernel, range);
  }
}

TEST_P(AttentionKernel, ACallForEachChunkGivesTheBitsOfOneCall) {
  for (bool sinks : {false, true})
    for (auto [headDim, group] : {std::pair{64u, 8u}, {24u, 3u}, {8u, 1u}, {256u, 16u}}) {
      KernelSpec spec = specOf(headDim, group);
      spec.sinks = sinks;
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
  AttentionProblem problem(specOf(64, 4), manyPositions);
  std::fill(problem.q.begin(), problem.q.end(), 0.0f);
  problem.q[0] = problem.q[64] = problem.q[128] = problem.q[192] = 100.0f;
  ExecutableKernel kernel(problem.spec);
  for (KeyRange range : chunkRanges)
    checkAgainstReferences(problem, kernel, range);
}

TEST_P(AttentionKernel, StaleNanOutsideAWindowAcrossChunksDoesNotLeak) {
  for (KeyRange range : chunkRanges) {
    AttentionProblem problem(specOf(64, 4), manyPositions);
    ExecutableKernel kernel(problem.spec);
    const std::vector<float> clean = problem.run(kernel, range);
    problem.poisonOutside(range);
    EXPECT_THAT(bitsOf(problem.run(kernel, range)), ElementsAreArray(bitsOf(clean)));
    EXPECT_THAT(bitsOf(problem.runInChunks(kernel, range)), ElementsAreArray(bitsOf(clean)));
  }
}

TEST_P(AttentionKernel, NanInOneChunkReachesTheOutputThroughAllOthers) {
  for (int64_t position : {5, 1500, 4999}) { // in the first, a middle and the last chunk
    AttentionProblem problem(specOf(16, 2), manyPositions);
    problem.poison(position);
    ExecutableKernel kernel(problem.spec);
    for (float value : problem.run(kernel, {0, 4999}))
      EXPECT_TRUE(std::isnan(value)) << position;
    for (float value : problem.runInChunks(kernel, {0, 4999}))
      EXPECT_TRUE(std::isnan(value)) << position;
  }
}

TEST_P(AttentionKernel, NanInAHeadsQueryStaysInThatHead) {
  // Plain, signalling, of many bits: rounding must neither lose them nor carry into the sign.
  for (uint32_t bits : {0x7FC00000u, 0x7F800001u, 0xFFFFFFFFu, 0x7FFFFFFFu}) {
    AttentionProblem problem(specOf(32, 2));
    std::memcpy(problem.q.data(), &bits, sizeof bits);
    ExecutableKernel kernel(problem.spec);
    const std::vector<float> out = problem.run(kernel, {0, 20});
    for (size_t d = 0; d < 32; ++d) {
      EXPECT_TRUE(std::isnan(out[d]));
      EXPECT_TRUE(std::isfinite(out[32 + d]));
    }
  }
}

TEST_P(AttentionKernel, NanInASinkStaysInThatHead) {
  for (uint32_t bits : {0x7FC00000u, 0xFFFFFFFFu, 0x7FFFFFFFu}) {
    AttentionProblem problem(specOf(32, 2));
    std::memcpy(problem.sinks.data(), &bits, sizeof bits);
    ExecutableKernel kernel(problem.spec);
    const std::vector<float> out = problem.run(kernel, {0, 70});
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_TRUE(std::isfinite(out[32]));
  }
}

std::string nameOf(const testing::TestParamInfo<Kind> &info) {
  return std::string(info.param.name);
}
INSTANTIATE_TEST_SUITE_P(Kinds, AttentionKernel, testing::ValuesIn(kinds), nameOf);

TEST(AttentionKernels, EveryIsaGivesTheSameBits) {
  for (const Kind &narrow : kinds)
    for (const Kind &wide : kinds) {
      if (narrow.isa != KernelIsa::Avx2 || wide.isa == KernelIsa::Avx2 || narrow.kv != wide.kv ||
          narrow.inputs != wide.inputs || narrow.order != wide.order || !machineRuns(wide.isa))
        continue;
      SCOPED_TRACE(wide.name);
      KernelSpec spec = attentionSpec(narrow.isa, 64, 8);
      spec.kv = narrow.kv, spec.inputs = narrow.inputs;
      AttentionProblem problem(spec);
      ExecutableKernel first(spec);
      spec.isa = wide.isa;
      ExecutableKernel second(spec);
      for (KeyRange range : keyRanges) {
        const std::vector<float> out = problem.run(first, range);
        EXPECT_THAT(bitsOf(problem.run(second, range)), ElementsAreArray(bitsOf(out)));
      }
    }
}

} // namespace
} // namespace inf::test
