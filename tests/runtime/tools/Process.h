// Runs the infrun binary as a user does.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace inf::test {

struct Finished {
  int code = -1; ///< exit code; 128 + signal when a signal ended it
  std::string out, err;
};

/// A started infrun, with pipes to its standard streams.
class Process {
public:
  explicit Process(const std::vector<std::string> &arguments);
  ~Process();
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;

  void write(const std::string &input);
  void closeInput();
  void closeOutput();     ///< the reader of its stdout goes away
  std::string readSome(); ///< blocks until it writes to stdout; "" at the end
  void signal(int number);
  Finished finish(); ///< closes its input, reads what is left, waits

private:
  pid_t pid = -1;
  int in = -1, out = -1, err = -1;
};

Finished infrun(const std::vector<std::string> &arguments, const std::string &input = "");

} // namespace inf::test
