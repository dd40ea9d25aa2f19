#include "runtime/threads/ThreadPool.h"

#include "runtime/base/Error.h"
#include "runtime/cpu/Affinity.h"
#include "tests/runtime/threads/AllocationCount.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <random>

#include <pthread.h>
#include <time.h>

namespace inf {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// run() with a lambda: the tests' convenience, kept out of the library.
template <typename Body> void runBody(ThreadPool &pool, Body body, unsigned active) {
  pool.run([](void *arg, unsigned thread) { (*static_cast<Body *>(arg))(thread); }, &body, active);
}
template <typename Body> void runBody(ThreadPool &pool, Body body) {
  runBody(pool, body, pool.size());
}

class Sizes : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, Sizes, testing::Values(1, 2, 3, 7, 16));

TEST_P(Sizes, EachThreadRunsOnceAndItsWritesAreVisible) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.size(), GetParam());
  std::vector<int> calls(GetParam());
  for (int round = 1; round <= 100; ++round) {
    runBody(pool, [&](unsigned thread) { ++calls[thread]; });
    ASSERT_EQ(calls, std::vector<int>(GetParam(), round));
  }
}

TEST_P(Sizes, SlicedSumIsRight) {
  std::vector<uint64_t> values(10'000);
  std::iota(values.begin(), values.end(), 0);
  ThreadPool pool(GetParam());
  std::vector<uint64_t> sums(GetParam());
  runBody(pool, [&](unsigned thread) {
    for (size_t i = thread; i < values.size(); i += sums.size())
      sums[thread] += values[i];
  });
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), uint64_t{0}), 49'995'000u);
}

TEST_P(Sizes, StagesSeeTheWholeStageBefore) {
  // Plain ints, written by one thread and read by its neighbour after a barrier.
  const unsigned count = GetParam();
  ThreadPool pool(count);
  std::vector<int> cells(count);
  std::atomic<int> wrong = 0;
  runBody(pool, [&](unsigned thread) {
    for (int stage = 0; stage < 500; ++stage) {
      cells[thread] = stage;
      pool.barrier(thread);
      wrong += cells[(thread + 1) % count] != stage;
      pool.barrier(thread);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, TwentyThousandBarriersKeepACounterInStep) {
  for (const unsigned count : {2u, 4u}) {
    ThreadPool pool(count);
    std::atomic<unsigned> counter = 0;
    std::atomic<int> wrong = 0;
    runBody(pool, [&](unsigned thread) {
      for (unsigned round = 1; round <= 10'000; ++round) {
        counter.fetch_add(1, std::memory_order_relaxed);
        ThreadPool::barrierEntry(&pool, thread);
        wrong += counter.load(std::memory_order_relaxed) != round * count;
        ThreadPool::barrierEntry(&pool, thread);
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(counter, 10'000 * count);
  }
}

TEST(ThreadPool, OversubscribedRunEndsInBoundedTime) {
  const unsigned count = 4 * std::max(1u, std::thread::hardware_concurrency());
  ThreadPool pool(std::min(count, 256u));
  const auto begin = Clock::now();
  std::atomic<unsigned> done = 0;
  runBody(pool, [&](unsigned thread) {
    for (int i = 0; i < 500; ++i)
      pool.barrier(thread);
    ++done;
  });
  EXPECT_EQ(done, pool.size());
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
}

TEST(ThreadPool, QuotaBelowTheThreadsIsNoDeadlock) {
  ThreadPool pool(4, {}, /*capacity=*/1);
  std::atomic<unsigned> done = 0;
  runBody(pool, [&](unsigned thread) {
    for (int i = 0; i < 200; ++i)
      pool.barrier(thread);
    ++done;
  });
  EXPECT_EQ(done, 4u);
}

class LateThread : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Which, LateThread, testing::Values(0, 1, 3));

TEST_P(LateThread, DelaysTheOthersButNeverDeadlocks) {
  ThreadPool pool(4);
  const auto begin = Clock::now();
  std::atomic<unsigned> after = 0;
  runBody(pool, [&](unsigned thread) {
    if (thread == GetParam())
      std::this_thread::sleep_for(milliseconds(200)); // the others are asleep by now
    pool.barrier(thread);
    after += Clock::now() - begin >= milliseconds(200);
    pool.barrier(thread);
  });
  EXPECT_EQ(after, 4u);
}

TEST(ThreadPool, ParkedWorkersWakeForTheNextRun) {
  ThreadPool pool(3);
  std::atomic<unsigned> calls = 0;
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(milliseconds(20)); // far beyond the spinning
    runBody(pool, [&](unsigned) { ++calls; });
  }
  EXPECT_EQ(calls, 15u);
}

TEST(ThreadPool, HundredThousandRuns) {
  ThreadPool pool(2);
  uint64_t counts[2] = {};
  for (int i = 0; i < 100'000; ++i)
    runBody(pool, [&](unsigned thread) { ++counts[thread]; });
  EXPECT_EQ(counts[0], 100'000u);
  EXPECT_EQ(counts[1], 100'000u);
}

TEST(ThreadPool, RunAndBarrierDoNotAllocate) {
  ThreadPool pool(4);
  const auto body = [](void *arg, unsigned thread) {
    for (int i = 0; i < 50; ++i)
      static_cast<ThreadPool *>(arg)->barrier(thread);
  };
  pool.run(body, &pool);
  const size_t before = test::allocationCount();
  for (int i = 0; i < 100; ++i)
    pool.run(body, &pool);
  EXPECT_EQ(test::allocationCount(), before);
  EXPECT_GT(before, 0u) << "the counter is not linked in";
}

/// What the thread has computed since it began, in nanoseconds.
int64_t cpuTime(pthread_t thread) {
  clockid_t clock = 0;
  timespec time = {};
  EXPECT_EQ(pthread_getcpuclockid(thread, &clock), 0);
  EXPECT_EQ(clock_gettime(clock, &time), 0);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class ActiveThreads : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(PoolSizes, ActiveThreads, testing::Values(1, 2, 3, 5, 16));

TEST_P(ActiveThreads, AnyNumberRunsInAnyOrderAndItsBarriersCountThemAlone) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  ThreadPool pool(GetParam());
  std::vector<int> calls(GetParam()), expected(GetParam()), cells(GetParam());
  std::atomic<int> wrong = 0;
  for (int round = 0; round < 2000; ++round) {
    const unsigned active = 1 + static_cast<unsigned>(random() % GetParam());
    for (unsigned thread = 0; thread < active; ++thread)
      ++expected[thread];
    const auto body = [&](unsigned thread) { // plain ints: a thread too many is a data race
      ++calls[thread];
      for (int stage = 0; stage < 3; ++stage) {
        cells[thread] = stage;
        pool.barrier(thread);
        wrong += cells[(thread + 1) % active] != stage;
        pool.barrier(thread);
      }
    };
    runBody(pool, body, active);
    ASSERT_EQ(calls, expected) << "round " << round << ", " << active << " active";
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(ActiveThreads, EveryNumberFollowsEveryOther) {
  ThreadPool pool(GetParam());
  std::atomic<unsigned> calls = 0;
  const auto body = [](void *arg, unsigned) { ++*static_cast<std::atomic<unsigned> *>(arg); };
  for (unsigned first = 1; first <= GetParam(); ++first)
    for (unsigned second = 1; second <= GetParam(); ++second) {
      calls = 0;
      pool.run(body, &calls, first);
      ASSERT_EQ(calls, first);
      pool.run(body, &calls, second);
      ASSERT_EQ(calls, first + second);
    }
}

TEST(ThreadPool, ThreadsThatAreLeftOutUseNoCpu) {
  ThreadPool pool(4);
  std::vector<pthread_t> threads(4);
  runBody(pool, [&](unsigned thread) { threads[thread] = pthread_self(); });
  const auto nothing = [](void *, unsigned) {};
  pool.run(nothing, nullptr, 2);
  std::this_thread::sleep_for(milliseconds(50)); // all have heard that they are left out
  const int64_t before[] = {cpuTime(threads[1]), cpuTime(threads[2]), cpuTime(threads[3])};
  for (int i = 0; i < 20'000; ++i)
    pool.run(nothing, nullptr, 2);
  EXPECT_GT(cpuTime(threads[1]), before[0]) << "the clock counts";
  EXPECT_EQ(cpuTime(threads[2]), before[1]);
  EXPECT_EQ(cpuTime(threads[3]), before[2]);
}

TEST(ThreadPool, PoolsEndWhileSomeThreadsAreLeftOut) {
  for (unsigned i = 0; i < 200; ++i) {
    ThreadPool pool(5);
    pool.run([](void *, unsigned) {}, nullptr, 1 + i % 5);
    if (i % 3 == 0)
      pool.run([](void *, unsigned) {}, nullptr, 1 + i % 4);
    if (i % 7 == 0)
      std::this_thread::sleep_for(milliseconds(2)); // asleep, and not on their way
  }
}

TEST(ThreadPool, ARunOnNoThreadOrOnMoreThanThereAreIsRefused) {
  ThreadPool pool(2);
  for (const unsigned active : {0u, 3u, 4294967295u})
    EXPECT_THROW(pool.run([](void *, unsigned) {}, nullptr, active), Error) << active;
  runBody(pool, [](unsigned) {}); // and the pool still works
}

TEST(ThreadPool, ChangingTheNumberDoesNotAllocate) {
  ThreadPool pool(4);
  const auto body = [](void *arg, unsigned thread) {
    static_cast<ThreadPool *>(arg)->barrier(thread);
  };
  pool.run(body, &pool);
  const size_t before = test::allocationCount();
  for (unsigned i = 0; i < 400; ++i)
    pool.run(body, &pool, 1 + i * 7 % 4);
  EXPECT_EQ(test::allocationCount(), before);
}

TEST(ThreadPool, TwoHundredPoolsComeAndGo) {
  for (unsigned i = 0; i < 200; ++i) {
    ThreadPool pool(1 + i % 5);
    if (i % 2 == 0) // half are destroyed without ever having run
      runBody(pool, [](unsigned) {});
  }
}

TEST(ThreadPool, TwoPoolsWorkSideBySide) {
  ThreadPool first(3), second(2);
  std::atomic<int> calls = 0;
  runBody(first, [&](unsigned thread) {
    first.barrier(thread);
    if (thread == 0)
      runBody(second, [&](unsigned) { ++calls; });
    first.barrier(thread);
  });
  EXPECT_EQ(calls, 2);
}

TEST(ThreadPool, NestedRunIsRefused) {
  ThreadPool pool(2);
  std::atomic<int> refused = 0;
  runBody(pool, [&](unsigned) {
    try {
      pool.run([](void *, unsigned) {}, nullptr);
    } catch (const Error &error) {
      refused += error.code == ErrorCode::Internal;
    }
  });
  EXPECT_EQ(refused, 2);
  runBody(pool, [](unsigned) {}); // and the pool still works
}

TEST(ThreadPoolDeathTest, EscapingExceptionEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ThreadPool pool(2);
        runBody(pool, [](unsigned thread) {
          if (thread == 1)
            throw 1;
        });
      },
      "terminate");
}

TEST(ThreadPool, AbsurdSizesAreRefused) {
  EXPECT_THROW(ThreadPool(0), Error);
  EXPECT_THROW(ThreadPool(1025), Error);
  EXPECT_THROW(ThreadPool(4294967295u), Error);
}

TEST(ThreadPool, WorkersCarryTheirNames) {
  ThreadPool pool(3);
  std::vector<std::string> names(3);
  runBody(pool, [&](unsigned thread) {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof(name));
    names[thread] = name;
  });
  EXPECT_EQ(names[1], "inf-worker-1");
  EXPECT_EQ(names[2], "inf-worker-2");
}

TEST(ThreadPool, ThreadsAreBoundAndTheCallerIsSetFreeAfter) {
  const std::optional<CpuList> mask = currentAffinity();
  ASSERT_TRUE(mask);
  const unsigned count = static_cast<unsigned>(std::min<size_t>(mask->size(), 4));
  {
    ThreadPool pool(count, std::span<const int>(*mask).first(count));
    std::vector<CpuList> seen(count);
    runBody(pool, [&](unsigned thread) { seen[thread] = currentAffinity().value_or(CpuList()); });
    for (unsigned thread = 0; thread < count; ++thread)
      EXPECT_EQ(seen[thread], CpuList({(*mask)[thread]}));
  }
  EXPECT_EQ(currentAffinity(), mask);
}

/// As another program does that takes a CPU away.
TEST(ThreadPool, AThreadThatIsLongWaitedForLetsTheOthersRunElsewhereForAWhile) {
  const std::optional<CpuList> mask = currentAffinity();
  ASSERT_TRUE(mask.has_value());
  if (mask->size() < 2)
    GTEST_SKIP() << "needs two CPUs";
  const CpuList cpus(mask->begin(), mask->begin() + 2);
  ThreadPool pool(2, cpus);
  // Where thread 0 may run after it has waited for the other twice.
  const auto placeAfterWaiting = [&](std::chrono::microseconds first) {
    CpuList seen;
    runBody(pool, [&](unsigned thread) {
      for (const auto wait : {first, std::chrono::microseconds(200)}) {
        if (thread == 1)
          std::this_thread::sleep_for(wait);
        pool.barrier(thread);
      }
      if (thread == 0)
        seen = currentAffinity().value_or(CpuList());
    });
    return seen;
  };
  // Again until it is so: what else runs here can make thread 0 the late one, or disturb as well.
  const auto comesTo = [&](const CpuList &expected, std::chrono::microseconds first) {
    const auto end = Clock::now() + std::chrono::seconds(60);
    while (placeAfterWaiting(first) != expected) {
      if (Clock::now() > end)
        return false;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return true;
  };
  EXPECT_TRUE(comesTo(cpus, milliseconds(20)));
  EXPECT_TRUE(comesTo({cpus[0]}, std::chrono::microseconds(200)));
}

TEST(ThreadPool, MoreThreadsThanCpusShareThemAll) {
  const std::optional<CpuList> mask = currentAffinity();
  ASSERT_TRUE(mask);
  const std::vector<int> one = {mask->front()};
  ThreadPool pool(3, one);
  std::vector<CpuList> seen(3);
  runBody(pool, [&](unsigned thread) { seen[thread] = currentAffinity().value_or(CpuList()); });
  for (const CpuList &cpus : seen)
    EXPECT_EQ(cpus, one);
}

TEST(ThreadPool, ImpossibleCpuIsAUsageErrorAndChangesNothing) {
  const std::optional<CpuList> mask = currentAffinity();
  for (const int cpu : {-1, 8191, 8192}) {
    const std::vector<int> cpus = {cpu, cpu};
    try {
      ThreadPool pool(2, cpus);
      ADD_FAILURE() << "CPU " << cpu << " was accepted";
    } catch (const Error &error) {
      EXPECT_EQ(error.code, ErrorCode::Usage);
    }
  }
  EXPECT_EQ(currentAffinity(), mask);
}

} // namespace
} // namespace inf
