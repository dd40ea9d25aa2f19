#include "runtime/jit/PerfMap.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace inf {

std::string perfMapPath() { return fmt::format("/tmp/perf-{}.map", getpid()); }

bool writePerfMap(const std::string &path, std::span<const inf_code_symbol> symbols) {
  std::string text;
  for (const inf_code_symbol &symbol : symbols)
    text += fmt::format("{:x} {:x} {}\n", symbol.address, symbol.bytes, symbol.name);
  unlink(path.c_str()); // left by a process that had this number
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return false;
  const ssize_t written = write(fd, text.data(), text.size());
  return close(fd) == 0 && written == static_cast<ssize_t>(text.size());
}

} // namespace inf
