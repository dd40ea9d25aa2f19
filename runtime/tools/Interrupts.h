// Ctrl-C as a question that is asked between steps, instead of a handler.
#pragma once

namespace inf {

/// While it lives, SIGINT does not end the program but waits to be asked for. Make it before any
/// thread is started: threads inherit what is blocked.
class Interrupts {
public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts &) = delete;
  Interrupts &operator=(const Interrupts &) = delete;

  /// Whether SIGINT has arrived since construction, or since forget().
  bool arrived();
  /// Those that have arrived count no longer.
  void forget();
  /// Readable when one has arrived that arrived() has not been asked for; -1: never.
  int descriptor() const { return fd; }

private:
  int fd = -1; ///< signalfd; -1 when the OS has none: then SIGINT ends the program as usual
  bool seen = false;
};

} // namespace inf
