// Writing a file so that its name only ever shows a whole one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace inf {

/// Written beside its final name ("PATH.tmp-PID"), then synced and renamed by commit(). Without
/// commit the destructor removes the temporary: an error leaves what was there before.
/// All errors are Io; a full disk names the path and the bytes needed.
class AtomicFile {
public:
  /// `expectedBytes`: the final size when known; the space is reserved at once where the file
  /// system can, so that a full disk is noticed before the work. 0 = unknown.
  explicit AtomicFile(const std::string &path, uint64_t expectedBytes = 0);
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  ~AtomicFile();

  void append(std::span<const uint8_t> bytes);
  void appendZeros(uint64_t count);
  /// Overwrites bytes already appended (Internal error otherwise).
  void patch(uint64_t offset, std::span<const uint8_t> bytes);
  uint64_t size() const { return written; }
  /// fsync, rename over the final name, fsync of the directory.
  void commit();

private:
  void openTemporary();
  void reserve();
  void writeAt(uint64_t offset, std::span<const uint8_t> bytes);
  [[noreturn]] void failWriting(const char *action, int error) const;

  std::string finalPath, temporaryPath;
  uint64_t expectedBytes = 0, written = 0;
  int fd = -1;
};

} // namespace inf
