// SIGTERM and SIGINT as something to wait for.
#pragma once

#include <csignal>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace inf {

/// A thread takes both signals. Until ready() they end the program as usual, whatever it does; then
/// they wait to be asked for. Make it before any other thread is started: threads inherit what is
/// blocked, so that no other thread takes them.
class ShutdownSignals {
public:
  ShutdownSignals();
  ~ShutdownSignals();
  ShutdownSignals(const ShutdownSignals &) = delete;
  ShutdownSignals &operator=(const ShutdownSignals &) = delete;

  /// From now on there is something to end in order.
  void ready();
  /// Returns when one has come since ready().
  void wait();
  /// From now on a signal ends the program as usual: whoever asks twice means it.
  void release();

private:
  void watch();

  int signals = -1, end = -1; ///< signalfd, eventfd
  sigset_t before;
  std::mutex mutex; ///< guards the next two
  bool orderly = false, arrived = false;
  std::condition_variable changed;
  std::thread thread;
};

} // namespace inf
