// Locks between processes, on files that may be replaced or removed meanwhile.
#pragma once

#include <optional>
#include <string>

namespace inf {

/// flock(2) on the file that has a name; held until destroyed, at the latest until the process
/// ends.
class FileLock {
public:
  enum class Kind { Shared, Exclusive };

  /// Waits. nullopt when there is no such file (with `create`: it is made). Locks what the name
  /// stands for: when the file was replaced or removed while waiting, it starts anew. Fails with
  /// Io.
  static std::optional<FileLock> take(const std::string &path, Kind kind, bool create);
  /// nullopt also when another holds it.
  static std::optional<FileLock> tryTake(const std::string &path, Kind kind);

  FileLock(FileLock &&other) noexcept;
  FileLock &operator=(FileLock &&other) noexcept;
  ~FileLock();

  int descriptor() const { return fd; }

private:
  explicit FileLock(int descriptor) : fd(descriptor) {}
  static std::optional<FileLock> attempt(const std::string &path, int operation, bool create);

  int fd = -1;
};

} // namespace inf
