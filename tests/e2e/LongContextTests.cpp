// Logits at long contexts against ir/reference. One run of it over 8,192 tokens takes about a
// minute, so this program is not part of the suite: scripts/check-long-context runs it.
#include <gtest/gtest.h>

#include <chrono>

#include <fmt/format.h>

#include "tests/e2e/Golden.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/e2e/Tolerances.h"
#include "tests/support/ReferenceModel.h"

using namespace inf;
using namespace inf::test;

namespace {

/// Around the window, around yarn's original context, and beyond it.
const std::vector<int64_t> positions = {126, 127, 128, 129, 407, 4094, 4096, 8191};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void compare(const std::string &target, const ir::ReferenceTensor &expected,
             const std::vector<int32_t> &ids) {
  SessionSetup setup;
  setup.context = 8192;
  setup.threads = 2;
  const auto start = std::chrono::steady_clock::now();
  const AllLogits logits = soloLogits(tinyF32(target), ids, setup);
  fmt::print("{}: {:.1f} s\n", target, secondsSince(start));
  for (size_t i = 0; i < positions.size(); ++i) {
    const double difference = largestDifference(row(logits, size_t(positions[i]), 4096),
                                                {expected.row(int64_t(i)), size_t(expected.width)});
    fmt::print("  context {:5}: largest difference of a logit {:.1e}\n", positions[i] + 1,
               difference);
    EXPECT_LT(difference, goldenLogits) << target << ", context of " << positions[i] + 1;
  }
}

} // namespace

TEST(LongContext, logitsUpToEightThousandTokensMatchTheReference) {
  SKIP_WITHOUT_SHARED();
  const std::vector<int32_t> ids = heldoutIds(8192);
  const auto start = std::chrono::steady_clock::now();
  const auto reference = ReferenceModel::fromCheckpoint(tinyModel).run(ids, positions);
  fmt::print("ir/reference: {:.1f} s\n", secondsSince(start));
  for (const char *target : {"avx2", "avx512"})
    if (runsHere(target))
      compare(target, reference.logits, ids);
}
