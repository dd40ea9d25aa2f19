#include "runtime/server/WorkQueue.h"

#include <utility>

namespace inf {

WorkQueue::WorkQueue(size_t mostWaiting) : limit(mostWaiting), thread([this] { run(); }) {}

WorkQueue::~WorkQueue() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_one();
  thread.join();
}

bool WorkQueue::add(std::function<void()> task) {
  {
    std::lock_guard lock(mutex);
    if (tasks.size() >= limit)
      return false;
    tasks.push_back(std::move(task));
  }
  changed.notify_one();
  return true;
}

void WorkQueue::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopping || !tasks.empty(); });
    if (stopping)
      return;
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

} // namespace inf
