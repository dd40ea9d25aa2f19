#include "runtime/format/FileInput.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/Error.h"

namespace inf {

InputFile::InputFile(const std::string &path) : filePath(path) {
  // O_NONBLOCK: a FIFO of that name must not hang the program before it is refused below.
  fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    fail(ErrorCode::Io, "can't open '{}': {}; check the path", path, errnoText(errno));
  struct stat status = {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    fail(ErrorCode::Io, "'{}' is not a regular file; check the path", path);
  }
  fileBytes = uint64_t(status.st_size);
}

InputFile::~InputFile() { close(fd); }

void InputFile::readAt(uint64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    // One call reads at most 2 GiB - 4096 anyway.
    const ssize_t got = pread(fd, out.data(), std::min<size_t>(out.size(), 1 << 30), off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      fail(ErrorCode::Io, "can't read '{}' at byte {}: {}", filePath, offset, errnoText(errno));
    if (got == 0)
      fail(ErrorCode::Io,
           "'{}' ends at byte {}, expected {} bytes more; it changed while being read", filePath,
           offset, out.size());
    offset += uint64_t(got);
    out = out.subspan(size_t(got));
  }
}

MappedFile::MappedFile(const std::string &path) {
  const InputFile file(path);
  size = file.size();
  if (size == 0)
    return; // an empty mapping does not exist
  void *mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (mapping == MAP_FAILED)
    fail(ErrorCode::Io, "can't map the {} bytes of '{}': {}", size, path, errnoText(errno));
  data = static_cast<const uint8_t *>(mapping);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

void MappedFile::forget() const {
  if (data) // a hint: where it fails, more stays resident and nothing else happens
    (void)madvise(const_cast<uint8_t *>(data), size, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data)
    munmap(const_cast<uint8_t *>(data), size);
}

std::string readWholeFile(const std::string &path, uint64_t largest) {
  const InputFile file(path);
  if (file.size() > largest)
    fail(ErrorCode::BadInput,
         "'{}' has {} bytes, expected at most {}; it is not what its name says", path, file.size(),
         largest);
  std::string text(file.size(), '\0');
  file.readAt(0, {reinterpret_cast<uint8_t *>(text.data()), text.size()});
  return text;
}

} // namespace inf
