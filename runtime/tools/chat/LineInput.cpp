#include "runtime/tools/chat/LineInput.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr size_t maxLine = size_t(16) << 20;

} // namespace

bool waitForInput(Interrupts &interrupts) {
  pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {interrupts.descriptor(), POLLIN, 0}};
  while (true) {
    if (interrupts.arrived())
      return false;
    if (poll(waits, 2, -1) < 0 && errno != EINTR)
      fail(ErrorCode::Io, "cannot wait for standard input: {}.", errnoText(errno));
    if (waits[0].revents != 0 && waits[1].revents == 0)
      return true;
  }
}

LineRead PlainInput::take(size_t bytes, size_t skip) {
  LineRead line = {LineRead::Kind::Text, buffer.substr(0, bytes)};
  buffer.erase(0, bytes + skip);
  if (!line.text.empty() && line.text.back() == '\r')
    line.text.pop_back();
  return line;
}

LineRead PlainInput::read(const std::string &) {
  size_t searched = 0;
  while (true) {
    if (size_t end = buffer.find('\n', searched); end != std::string::npos)
      return take(end, 1);
    searched = buffer.size();
    if (ended)
      return buffer.empty() ? LineRead{} : take(buffer.size(), 0);
    if (buffer.size() > maxLine)
      fail(ErrorCode::TooLong, "a line of standard input has more than {} bytes. Shorten it.",
           maxLine);
    if (!waitForInput(interrupts))
      return {LineRead::Kind::Interrupted, buffer};
    char part[4096];
    ssize_t got = ::read(STDIN_FILENO, part, sizeof part);
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      fail(ErrorCode::Io, "cannot read standard input: {}.", errnoText(errno));
    if (got > 0)
      buffer.append(part, static_cast<size_t>(got));
    ended = got == 0;
  }
}

} // namespace inf
