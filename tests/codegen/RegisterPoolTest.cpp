#include "codegen/RegisterPool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/Lanes.h"
#include "runtime/base/Error.h"

namespace inf::test {
namespace {

using testing::HasSubstr;

std::string messageOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, ErrorCode::Internal);
    return error.what();
  }
  return "no error";
}

TEST(RegisterPool, RunningOutNamesTheRolesInUse) {
  RegisterPool pool({0, 1}, {}, {});
  const auto cursor = pool.take(RegisterFile::General, "cursor");
  const auto rows = pool.take(RegisterFile::General, "rows left");
  const std::string message = messageOf([&] { pool.take(RegisterFile::General, "columns"); });
  EXPECT_THAT(message, HasSubstr("'columns'"));
  EXPECT_THAT(message, HasSubstr("cursor, rows left"));
}

TEST(RegisterPool, ARegisterComesBackWithItsScope) {
  RegisterPool pool({7}, {}, {});
  {
    const auto held = pool.take(RegisterFile::General, "first");
    EXPECT_EQ(pool.available(RegisterFile::General), 0u);
  }
  EXPECT_EQ(pool.take(RegisterFile::General, "second").index(), 7);
}

TEST(RegisterPool, MovingALeaseKeepsOneOwner) {
  RegisterPool pool({}, {3, 4}, {});
  auto first = pool.take(RegisterFile::Vector, "a");
  auto moved = std::move(first);
  EXPECT_EQ(pool.available(RegisterFile::Vector), 1u);
  moved = pool.take(RegisterFile::Vector, "b"); // gives 3 back
  EXPECT_EQ(moved.index(), 4);
  EXPECT_EQ(pool.available(RegisterFile::Vector), 1u);
}

TEST(RegisterPool, AnArgumentRegisterInUseIsRefusedByRole) {
  RegisterPool pool({7}, {}, {});
  const auto held = pool.take(RegisterFile::General, "cursor");
  EXPECT_THAT(messageOf([&] { pool.takeExactly(RegisterFile::General, 7, "args"); }),
              HasSubstr("holds 'cursor'"));
}

TEST(RegisterPool, NineAccumulatorsOfTwoRegistersDoNotFitAvx2) {
  KernelAssembler assembler(KernelIsa::Avx2, 0, 0);
  const auto lanes = LanesEmitter::create(assembler);
  EXPECT_THAT(messageOf([&] { lanes->takeMany("accumulator", 9); }), HasSubstr("accumulator"));
}

} // namespace
} // namespace inf::test
