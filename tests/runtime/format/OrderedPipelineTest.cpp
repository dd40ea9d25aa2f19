#include <atomic>
#include <set>
#include <thread>

#include "runtime/format/OrderedPipeline.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;

TEST(OrderedPipeline, ConsumesInOrderWhateverTheThreadsDo) {
  for (unsigned threads : {1u, 2u, 7u}) {
    std::vector<uint64_t> seen;
    runOrdered(
        100, threads,
        [](uint64_t i, std::vector<uint8_t> &buffer) {
          if (i % 3 == 0)
            std::this_thread::yield();
          buffer.assign(i + 1, uint8_t(i));
        },
        [&](uint64_t i, const std::vector<uint8_t> &buffer) {
          EXPECT_EQ(buffer, std::vector<uint8_t>(i + 1, uint8_t(i)));
          seen.push_back(i);
        });
    ASSERT_EQ(seen.size(), 100u);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  }
}

TEST(OrderedPipeline, ProducersStayWithinTheRing) {
  std::atomic<uint64_t> consumed = 0, furthest = 0;
  runOrdered(
      200, 2,
      [&](uint64_t i, std::vector<uint8_t> &) {
        if (i > consumed + furthest)
          furthest = i - consumed;
      },
      [&](uint64_t, const std::vector<uint8_t> &) { ++consumed; });
  EXPECT_LE(furthest, 4u);
}

TEST(OrderedPipeline, AnErrorOfAWorkerReachesTheCaller) {
  for (unsigned threads : {1u, 3u})
    expectFailure(ErrorCode::BadInput, {"item 17"}, [&] {
      runOrdered(
          1000, threads,
          [](uint64_t i, std::vector<uint8_t> &) {
            if (i == 17)
              fail(ErrorCode::BadInput, "item 17");
          },
          [](uint64_t, const std::vector<uint8_t> &) {});
    });
}

TEST(OrderedPipeline, AnErrorOfTheConsumerStopsTheWorkers) {
  std::atomic<uint64_t> produced = 0;
  expectFailure(ErrorCode::Io, {"full"}, [&] {
    runOrdered(
        100000, 3, [&](uint64_t, std::vector<uint8_t> &) { ++produced; },
        [](uint64_t, const std::vector<uint8_t> &) { fail(ErrorCode::Io, "full"); });
  });
  EXPECT_LE(produced, 12u);
}

TEST(OrderedPipeline, NoItemsAndNoThreads) {
  runOrdered(
      0, 2, [](uint64_t, std::vector<uint8_t> &) { FAIL(); },
      [](uint64_t, const std::vector<uint8_t> &) { FAIL(); });
  expectFailure(ErrorCode::Usage, {"0 threads"}, [] { runOrdered(1, 0, {}, {}); });
}

} // namespace
} // namespace inf
