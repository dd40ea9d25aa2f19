// Lines to a descriptor that may be slow, or stand still, without anybody waiting for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace inf {

/// One thread writes. When more lines wait than may, new ones are dropped and counted; the next
/// line that is written says how many.
class LogWriter {
public:
  explicit LogWriter(int descriptor, size_t mostWaiting = 1024);
  /// Writes what waits, for at most a second without progress.
  ~LogWriter();
  LogWriter(const LogWriter &) = delete;
  LogWriter &operator=(const LogWriter &) = delete;

  /// Without the line break; cut to what a pipe takes whole. From any thread; never blocks.
  void add(std::string line);
  uint64_t dropped() const { return lost; }

private:
  using Clock = std::chrono::steady_clock;

  void run();
  void write(std::string line);
  bool writable();

  const int fd;
  const size_t limit;
  std::atomic<uint64_t> lost{0};
  uint64_t told = 0; ///< of `lost`; the thread's
  std::mutex mutex;  ///< guards the rest
  std::deque<std::string> lines;
  bool stopping = false;
  std::condition_variable changed;
  std::thread thread;
};

} // namespace inf
