// Reading files: by position into a buffer, or mapped.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace inf {

/// An open regular file read by position. Errors are Io and name path and place.
class InputFile {
public:
  explicit InputFile(const std::string &path);
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;
  ~InputFile();

  uint64_t size() const { return fileBytes; }
  const std::string &path() const { return filePath; }
  int descriptor() const { return fd; }
  /// Fills `out` from `offset`; a file that ends before is an Io error. Thread-safe.
  void readAt(uint64_t offset, std::span<uint8_t> out) const;

private:
  std::string filePath;
  int fd = -1;
  uint64_t fileBytes = 0;
};

/// A whole file mapped read-only. A file that another process shortens while it is mapped ends this
/// process with SIGBUS: checkpoints must not change during a compile.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return {data, size}; }
  /// Its pages leave this process until they are read again. Safe while others read.
  void forget() const;

private:
  const uint8_t *data = nullptr;
  uint64_t size = 0;
};

/// A whole file as a string; at most `largest` bytes (BadInput beyond).
std::string readWholeFile(const std::string &path, uint64_t largest);

} // namespace inf
