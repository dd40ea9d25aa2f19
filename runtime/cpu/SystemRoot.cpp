#include "runtime/cpu/SystemRoot.h"

#include "runtime/cpu/Affinity.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace inf {
namespace {

constexpr size_t maxBytes = size_t{1} << 20;

/// Files in /proc and /sys have no size: read until the end. False on an error or past maxBytes.
bool readAll(int file, std::string &text) {
  char buffer[4096];
  while (true) {
    const ssize_t got = ::read(file, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return got == 0;
    if (text.size() + static_cast<size_t>(got) > maxBytes)
      return false;
    text.append(buffer, static_cast<size_t>(got));
  }
}

} // namespace

std::optional<std::string> SystemRoot::read(const std::string &path) const {
  // O_NONBLOCK: a FIFO in the place of a file must not hang us.
  const int file = ::open((root + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return std::nullopt;
  std::string text;
  const bool complete = readAll(file, text);
  ::close(file);
  if (!complete)
    return std::nullopt;
  return text;
}

bool SystemRoot::isDirectory(const std::string &path) const {
  struct stat info = {};
  return ::stat((root + path).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::optional<CpuList> SystemRoot::affinityMask() const {
  if (affinity || !root.empty())
    return affinity;
  return currentAffinity();
}

} // namespace inf
