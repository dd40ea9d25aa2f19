#include "runtime/loader/MappedWeights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr uint64_t pageBytes = 4096; // the least granule of mmap on x86-64

struct OpenFile {
  explicit OpenFile(const std::string &path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd < 0)
      fail(ErrorCode::Io, "cannot open model '{}': {}. Check the path and its permissions.", path,
           errnoText(errno));
  }
  ~OpenFile() { close(fd); }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;

  const int fd;
};

} // namespace

MappedWeights::MappedWeights(const std::string &path, uint64_t offset, uint64_t bytes,
                             uint64_t fileBytes) {
  if (offset % pageBytes != 0)
    fail(ErrorCode::BadInput,
         "the weights of '{}' start at byte {}, expected a multiple of {}. Write the file again "
         "with infc or `infrun fill`.",
         path, offset, pageBytes);
  OpenFile file(path);
  struct stat facts;
  if (fstat(file.fd, &facts) != 0)
    fail(ErrorCode::Io, "cannot read the size of '{}': {}.", path, errnoText(errno));
  // Touching a page beyond the end of the file would be SIGBUS in the middle of a step.
  if (static_cast<uint64_t>(facts.st_size) != fileBytes || offset > fileBytes ||
      bytes > fileBytes - offset)
    fail(
        ErrorCode::BadInput,
        "'{}' changed while it was loaded: expected {} bytes with {} bytes of weights at {}, found "
        "{} bytes. Wait until it is written, then start again.",
        path, fileBytes, bytes, offset, facts.st_size);
  if (bytes == 0)
    return;
  void *mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.fd, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED)
    fail(
        ErrorCode::Io,
        "cannot map {} bytes of weights of '{}': {}. Check the limit on address space (ulimit -v).",
        bytes, path, errnoText(errno));
  base = mapped;
  length = bytes;
  // Fewer TLB misses where the file system can give huge pages; elsewhere it changes nothing.
  madvise(base, length, MADV_HUGEPAGE);
}

MappedWeights::~MappedWeights() {
  if (base)
    munmap(base, length);
}

} // namespace inf
