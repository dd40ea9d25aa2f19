// SIGTERM and SIGINT as something to wait for.
#pragma once

#include <csignal>

namespace inf {

/// While it lives, both signals do not end the program but wait to be taken. Make it before any
/// thread is started: threads inherit what is blocked.
class ShutdownSignals {
public:
  ShutdownSignals();
  ~ShutdownSignals();
  ShutdownSignals(const ShutdownSignals &) = delete;
  ShutdownSignals &operator=(const ShutdownSignals &) = delete;

  /// Returns when one has come.
  void wait() const;
  /// From now on a signal ends the program as usual: whoever asks twice means it.
  void release();

private:
  sigset_t before;
};

} // namespace inf
