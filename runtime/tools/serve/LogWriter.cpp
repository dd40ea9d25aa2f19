#include "runtime/tools/serve/LogWriter.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include <fmt/format.h>

namespace inf {
namespace {

constexpr int pollMilliseconds = 50; ///< how soon a stop is seen by a writer that waits
constexpr std::chrono::seconds lastPatience{1};

} // namespace

LogWriter::LogWriter(int descriptor, size_t mostWaiting)
    : fd(descriptor), limit(mostWaiting), thread([this] { run(); }) {}

LogWriter::~LogWriter() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_one();
  thread.join();
}

void LogWriter::add(std::string line) {
  {
    std::lock_guard lock(mutex);
    if (lines.size() >= limit) {
      ++lost;
      return;
    }
    lines.push_back(std::move(line));
  }
  changed.notify_one();
}

void LogWriter::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopping || !lines.empty(); });
    if (lines.empty())
      return;
    std::string line = std::move(lines.front());
    lines.pop_front();
    lock.unlock();
    if (const uint64_t now = lost; now != told) {
      write(fmt::format("infrun: {} lines of the log were dropped: they are taken too slowly",
                        now - std::exchange(told, now)));
    }
    write(std::move(line));
    lock.lock();
  }
}

/// False when the program ends and the reader stands still.
bool LogWriter::writable() {
  std::optional<Clock::time_point> end;
  while (true) {
    pollfd ready = {fd, POLLOUT, 0};
    if (poll(&ready, 1, pollMilliseconds) > 0)
      return true; // or broken: write() says so
    std::lock_guard lock(mutex);
    if (stopping && !end)
      end = Clock::now() + lastPatience;
    if (end && Clock::now() > *end) {
      lines.clear();
      return false;
    }
  }
}

/// A pipe that can be written to takes PIPE_BUF bytes at once: the write doesn't block.
void LogWriter::write(std::string line) {
  if (line.size() > PIPE_BUF - 1)
    line.resize(PIPE_BUF - 1);
  line += '\n';
  size_t done = 0;
  while (done < line.size()) {
    if (!writable())
      return;
    const ssize_t written = ::write(fd, line.data() + done, line.size() - done);
    if (written < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (written <= 0)
      return; // a full disk, a reader that left: there is no third place to tell
    done += size_t(written);
  }
}

} // namespace inf
