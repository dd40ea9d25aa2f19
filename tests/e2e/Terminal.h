// infrun in a pseudo-terminal: what a person at a keyboard sees.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/e2e/Program.h"

namespace inf::test {

class Terminal {
public:
  /// Starts infrun; `stateFolder` is its XDG_STATE_HOME.
  Terminal(const Arguments &arguments, const std::string &stateFolder);
  ~Terminal();
  Terminal(const Terminal &) = delete;
  Terminal &operator=(const Terminal &) = delete;

  void type(const std::string &keys);
  /// Everything shown since the last call, up to and including `text`; a test failure when it
  /// doesn't come within a minute. Line ends are "\n".
  std::string waitFor(const std::string &text);
  void signal(int number);
  /// Waits for the end: exit code, or 128 + signal.
  int finish();

private:
  /// False at the end.
  bool readSome();

  pid_t pid = -1;
  int fd = -1;
  std::string shown;
};

} // namespace inf::test
