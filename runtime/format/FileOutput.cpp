#include "runtime/format/FileOutput.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"

namespace inf {

AtomicFile::AtomicFile(const std::string &path, uint64_t expected)
    : finalPath(path), expectedBytes(expected) {
  openTemporary();
  try {
    reserve();
  } catch (...) { // no destructor runs for a half-made object
    close(fd);
    unlink(temporaryPath.c_str());
    throw;
  }
}

AtomicFile::~AtomicFile() {
  if (fd < 0)
    return;
  close(fd);
  unlink(temporaryPath.c_str());
}

void AtomicFile::openTemporary() {
  // O_EXCL: never write through a link, nor into the file of a second writer in this process. The
  // few further names are for those, and for what a killed process of the same id left behind.
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporaryPath = fmt::format("{}.tmp-{}", finalPath, getpid());
    if (attempt > 0)
      temporaryPath += fmt::format("-{}", attempt);
    fd = open(temporaryPath.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0)
      return;
    if (errno != EEXIST)
      break;
  }
  fail(ErrorCode::Io, "can't create '{}': {}; check that the folder exists and can be written",
       temporaryPath, errnoText(errno));
}

void AtomicFile::reserve() {
  // KEEP_SIZE: the size stays what was written. Not every file system can (EOPNOTSUPP): then a full
  // disk shows while writing.
  if (expectedBytes > 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, off_t(expectedBytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    failWriting("reserve", errno);
}

void AtomicFile::failWriting(const char *action, int error) const {
  const std::string needed = expectedBytes > 0
                                 ? fmt::format("{} bytes are needed", expectedBytes)
                                 : fmt::format("more than {} bytes are needed", written);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    fail(ErrorCode::Io, "can't {} '{}': {}; {}, free space or choose another folder", action,
         finalPath, errnoText(error), needed);
  fail(ErrorCode::Io, "can't {} '{}': {}; check the disk and the folder", action, finalPath,
       errnoText(error));
}

void AtomicFile::writeAt(uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put =
        pwrite(fd, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30), off_t(offset));
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      failWriting("write", put < 0 ? errno : ENOSPC);
    offset += uint64_t(put);
    bytes = bytes.subspan(size_t(put));
  }
}

void AtomicFile::append(std::span<const uint8_t> bytes) {
  writeAt(written, bytes);
  written += bytes.size();
}

void AtomicFile::appendZeros(uint64_t count) {
  static constexpr std::array<uint8_t, 65536> zeros = {};
  while (count > 0) {
    const uint64_t now = std::min<uint64_t>(count, zeros.size());
    append({zeros.data(), now});
    count -= now;
  }
}

void AtomicFile::patch(uint64_t offset, std::span<const uint8_t> bytes) {
  if (!rangeInside(offset, bytes.size(), written))
    fail(ErrorCode::Internal, "patch of {} bytes at {} in '{}', expected inside the {} written",
         bytes.size(), offset, finalPath, written);
  writeAt(offset, bytes);
}

void AtomicFile::commit() {
  if (fd < 0)
    fail(ErrorCode::Internal, "'{}' is committed twice", finalPath);
  // Gives back what was reserved beyond the end.
  if (ftruncate(fd, off_t(written)) != 0)
    failWriting("finish", errno);
  if (fsync(fd) != 0)
    failWriting("sync", errno);
  if (rename(temporaryPath.c_str(), finalPath.c_str()) != 0)
    failWriting("rename to", errno);
  close(fd);
  fd = -1;
  // The rename itself reaches the disk with the folder; where a folder can't be synced there is
  // nothing more to do, and the file is whole either way.
  const std::string folder = std::filesystem::path(finalPath).parent_path().string();
  const int folderFd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (folderFd >= 0) {
    (void)fsync(folderFd);
    close(folderFd);
  }
}

} // namespace inf
