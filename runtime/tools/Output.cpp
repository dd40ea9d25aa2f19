#include "runtime/tools/Output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "runtime/base/Error.h"

namespace inf {

void Output::write(std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    if (errno == EINTR)
      continue;
    if (errno == EAGAIN) { // a terminal that another program made non-blocking
      pollfd ready = {STDOUT_FILENO, POLLOUT, 0};
      poll(&ready, 1, -1);
      continue;
    }
    if (errno == EPIPE || errno == EBADF)
      throw OutputClosed();
    fail(ErrorCode::Io, "cannot write to standard output: {}. Free space or write elsewhere.",
         errnoText(errno));
  }
}

bool Output::isTerminal() const { return isatty(STDOUT_FILENO) == 1; }

void notice(std::string_view text) {
  std::string line = fmt::format("infrun: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool errorIsTerminal() { return isatty(STDERR_FILENO) == 1; }

} // namespace inf
