// The loops that measure what AMX tiles do at most (runtime/roof/DotPeak.h), under the emulation.
#include <gtest/gtest.h>

#include "runtime/roof/DotPeak.h"
#include "tests/codegen/TileEmulation.h"

namespace inf::test {
namespace {

/// A CPU with AMX says nothing here: there the loops are timed.
TEST(TilePeak, LoopsDoWhatTheyCountAndLeaveNoTilesBehind) {
  using enum Feature;
  const FeatureSet usable = detectFeatures(hostCpuid()).usable;
  if (usable.has(AMXTILE))
    GTEST_SKIP() << "this CPU has amx_tile: nothing is emulated that could be counted";
  const FeatureSet amx = FeatureSet{}.with(AMXTILE).with(AMXINT8).with(AMXBF16);
  for (const auto &[kind, operations] :
       {std::pair{DotKind::Int8, 4 * 16 * 16 * 64 * 2u}, {DotKind::Bf16, 4 * 16 * 16 * 32 * 2u}}) {
    const DotLoop loop = dotLoop(kind, amx);
    const TileEmulation emulation;
    loop.run(3);
    EXPECT_EQ(emulation.executed(), 1u + 8 + 3 * 4 + 1) << loop.name;
    EXPECT_EQ(loop.operationsPerRound, operations) << loop.name;
    EXPECT_FALSE(emulation.isConfigured()) << loop.name;
  }
}

} // namespace
} // namespace inf::test
