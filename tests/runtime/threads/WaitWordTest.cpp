#include "runtime/threads/WaitWord.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace inf {
namespace {

constexpr SpinPolicy sleepAtOnce = {.pauses = 0, .nanosecondsMore = 0};

TEST(WaitWord, PassedEpochDoesNotWait) {
  WaitWord word;
  const uint32_t seen = word.load();
  word.advance();
  word.waitWhile(seen, sleepAtOnce);
  EXPECT_EQ(word.load(), seen + 1);
}

TEST(WaitWord, SleeperIsWokenAndSeesWhatWasWritten) {
  WaitWord word;
  int data = 0;
  std::thread waiter([&] {
    word.waitWhile(0, sleepAtOnce);
    EXPECT_EQ(data, 42);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  data = 42;
  word.advance();
  waiter.join();
}

TEST(WaitWord, NoWakeUpIsLostInAPingPongWithoutSpinning) {
  WaitWord ping, pong;
  constexpr uint32_t rounds = 20'000;
  std::thread other([&] {
    for (uint32_t i = 0; i < rounds; ++i) {
      ping.waitWhile(i, sleepAtOnce);
      pong.advance();
    }
  });
  for (uint32_t i = 0; i < rounds; ++i) {
    ping.advance();
    pong.waitWhile(i, sleepAtOnce);
  }
  other.join();
  EXPECT_EQ(pong.load(), rounds);
}

} // namespace
} // namespace inf
