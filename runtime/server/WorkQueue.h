// One thread that reads and renders requests, so that the thread of input and output never waits
// for a long prompt.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace inf {

class WorkQueue {
public:
  explicit WorkQueue(size_t mostWaiting);
  /// Finishes the task at hand and drops the rest.
  ~WorkQueue();
  WorkQueue(const WorkQueue &) = delete;
  WorkQueue &operator=(const WorkQueue &) = delete;

  /// False when as many wait as may. `task` must not throw.
  bool add(std::function<void()> task);

private:
  void run();

  const size_t limit;
  std::mutex mutex; ///< guards the next two
  std::deque<std::function<void()>> tasks;
  bool stopping = false;
  std::condition_variable changed;
  std::thread thread;
};

} // namespace inf
