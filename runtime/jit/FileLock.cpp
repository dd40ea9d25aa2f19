#include "runtime/jit/FileLock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/base/Error.h"

namespace inf {
namespace {

/// Whether `path` still names the file that `fd` is.
bool sameFile(int fd, const std::string &path) {
  struct stat held, named;
  return fstat(fd, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

int operationOf(FileLock::Kind kind) { return kind == FileLock::Kind::Shared ? LOCK_SH : LOCK_EX; }

} // namespace

std::optional<FileLock> FileLock::attempt(const std::string &path, int operation, bool create) {
  while (true) {
    const int mode = create ? O_RDWR | O_CREAT : O_RDONLY;
    FileLock lock(open(path.c_str(), mode | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock.fd < 0 && errno == ENOENT && !create)
      return std::nullopt;
    if (lock.fd < 0)
      fail(ErrorCode::Io, "cannot open '{}': {}.", path, errnoText(errno));
    int result;
    do
      result = flock(lock.fd, operation);
    while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK)
      return std::nullopt;
    if (result != 0)
      fail(ErrorCode::Io, "cannot lock '{}': {}.", path, errnoText(errno));
    if (sameFile(lock.fd, path))
      return lock;
  }
}

std::optional<FileLock> FileLock::take(const std::string &path, Kind kind, bool create) {
  return attempt(path, operationOf(kind), create);
}

std::optional<FileLock> FileLock::tryTake(const std::string &path, Kind kind) {
  return attempt(path, operationOf(kind) | LOCK_NB, false);
}

FileLock::FileLock(FileLock &&other) noexcept : fd(std::exchange(other.fd, -1)) {}

FileLock &FileLock::operator=(FileLock &&other) noexcept {
  std::swap(fd, other.fd);
  return *this;
}

FileLock::~FileLock() {
  if (fd >= 0)
    close(fd);
}

} // namespace inf
