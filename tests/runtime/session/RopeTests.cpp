#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runtime/session/Rope.h"

using namespace inf;

namespace {

/// The distance to the true value in units of the float's last place: 0.5 is a perfect rounding.
double ulpsOff(float got, long double expected) {
  float magnitude = std::max(std::fabs(got), std::numeric_limits<float>::min());
  long double ulp = std::nextafter(magnitude, 2 * magnitude) - magnitude;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - expected) / ulp);
}

} // namespace

// Of a rounding in double before the one to float remains: position * frequency is off by up to
// 2^-53 of the angle (1.5e-11 at 131071), which only shows where cos or sin is near zero.
TEST(Rope, rowsAgreeWithLongDoubleToTheLastPosition) {
  std::vector<double> frequencies;
  for (int j = 0; j < 32; ++j)
    frequencies.push_back(std::pow(150000.0, -j / 32.0));
  inf_rope rope = {sizeof(inf_rope), 64, 1.3465735902799727, frequencies.data()};
  std::vector<float> row(64);
  constexpr long double angleError = 131072.0L * 0x1p-53L * 1.35L;
  auto check = [&](int32_t position) {
    fillRopeRow(rope, position, row.data());
    for (int j = 0; j < 32; ++j) {
      long double angle = static_cast<long double>(position) * frequencies[j];
      long double expected[2] = {std::cos(angle) * 1.3465735902799727L,
                                 std::sin(angle) * 1.3465735902799727L};
      for (int part = 0; part < 2; ++part) {
        float got = row[32 * part + j];
        bool close = ulpsOff(got, expected[part]) <= 0.51 ||
                     std::fabs(got - expected[part]) <= angleError + 0x1p-25L * std::fabs(got);
        ASSERT_TRUE(close) << "position " << position << " pair " << j << " part " << part;
      }
    }
  };
  for (int32_t position = 0; position <= 131071; position += position < 4200 ? 1 : 97)
    check(position);
  check(131071);
}

TEST(Rope, positionZeroIsTheFactorAndZero) {
  double frequency = 0.5;
  inf_rope rope = {sizeof(inf_rope), 2, 1.5, &frequency};
  float row[2];
  fillRopeRow(rope, 0, row);
  EXPECT_EQ(row[0], 1.5f);
  EXPECT_EQ(row[1], 0.0f);
}
