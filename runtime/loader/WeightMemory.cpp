#include "runtime/loader/WeightMemory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/cpu/Affinity.h"

namespace inf {
namespace {

constexpr uint64_t pageBytes = 4096;              // the least granule of mmap on x86-64
constexpr uint64_t hugeBytes = uint64_t{2} << 20; // of a huge page
/// Read at once by one thread: large enough for the disk, small enough for progress to show.
constexpr uint64_t chunkBytes = uint64_t{16} << 20;

class OpenFile {
public:
  /// Checks that the place lies in the file: touching a mapped page beyond its end would be SIGBUS
  /// in the middle of a step.
  explicit OpenFile(const WeightPlace &place) : fd(open(place.path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd < 0)
      fail(ErrorCode::Io, "cannot open model '{}': {}. Check the path and its permissions.",
           place.path, errnoText(errno));
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
      const int reason = errno;
      close(fd);
      fail(ErrorCode::Io, "cannot read the size of '{}': {}.", place.path, errnoText(reason));
    }
    if (static_cast<uint64_t>(facts.st_size) != place.fileBytes || place.offset > place.fileBytes ||
        place.bytes > place.fileBytes - place.offset) {
      close(fd);
      fail(ErrorCode::BadInput,
           "'{}' changed while it was loaded: expected {} bytes with {} bytes of weights at {}, "
           "found {} bytes. Wait until it is written, then start again.",
           place.path, place.fileBytes, place.bytes, place.offset, facts.st_size);
    }
  }
  ~OpenFile() { close(fd); }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;

  /// Fills `out` from `offset` on.
  void read(uint64_t offset, std::span<uint8_t> out, const std::string &path) const {
    while (!out.empty()) {
      const ssize_t count = pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        fail(ErrorCode::Io, "cannot read the weights of '{}' at byte {}: {}.", path, offset,
             count == 0 ? "the file has become shorter" : errnoText(errno));
      out = out.subspan(static_cast<size_t>(count));
      offset += static_cast<uint64_t>(count);
    }
  }

  const int fd;
};

/// Chunks of some runs of the weights, in order, dealt out to whoever asks.
class ChunkQueue {
public:
  void add(uint64_t offset, uint64_t bytes) {
    for (const uint64_t end = offset + bytes; offset < end; offset += chunkBytes)
      chunks.push_back({offset, std::min(chunkBytes, end - offset)});
  }
  struct Chunk {
    uint64_t offset = 0, bytes = 0;
  };
  /// Null when there are no more.
  const Chunk *take() {
    const size_t index = next.fetch_add(1);
    return index < chunks.size() ? &chunks[index] : nullptr;
  }
  void close() { next = chunks.size(); }

private:
  std::vector<Chunk> chunks;
  std::atomic<size_t> next = 0;
};

/// Threads that each work off one queue; the first error ends them all.
class Copying {
public:
  Copying(const WeightPlace &weightPlace, uint8_t *memory, bool drop, const CopyProgress &told)
      : place(weightPlace), file(weightPlace), to(memory), dropCache(drop), progress(told) {}

  void run(unsigned threads) {
    ChunkQueue &queue = queues[anyNode];
    queue.add(0, place.bytes);
    std::vector<std::thread> others;
    try {
      for (unsigned i = 1; i < threads; ++i)
        others.emplace_back([this, &queue] { work(queue); });
    } catch (const std::system_error &) { // no more threads to be had: those there are do it
    }
    work(queue);
    finish(others);
  }

  void runOnNodes(std::span<const NodeRun> runs, std::span<const CopyCpu> cpus) {
    for (const NodeRun &run : runs)
      queues[run.node].add(run.offset, run.bytes);
    std::vector<std::thread> bound;
    try {
      for (const CopyCpu &cpu : cpus)
        bound.emplace_back([this, &cpu, &queue = queues[cpu.node]] { workOn(cpu.cpu, queue); });
    } catch (const std::system_error &failure) {
      noteError(std::make_exception_ptr(
          Error(ErrorCode::Machine, fmt::format("cannot start a thread to copy weights: {}. Raise "
                                                "the limit on processes, or use --load=map.",
                                                failure.what()))));
    }
    finish(bound);
  }

private:
  static constexpr int anyNode = -1;

  void work(ChunkQueue &queue) {
    try {
      while (const ChunkQueue::Chunk *chunk = queue.take())
        copyChunk(chunk->offset, chunk->bytes);
    } catch (...) {
      noteError(std::current_exception());
    }
  }

  void workOn(int cpu, ChunkQueue &queue) {
    if (const int reason = bindThread(0, std::span(&cpu, 1)); reason != 0)
      return noteError(std::make_exception_ptr(Error(
          ErrorCode::Machine, fmt::format("cannot bind a thread that copies weights to CPU {}: {}. "
                                          "Use --numa=off.",
                                          cpu, errnoText(reason)))));
    work(queue);
  }

  void noteError(std::exception_ptr failure) {
    for (auto &[node, queue] : queues)
      queue.close();
    const std::lock_guard lock(mutex);
    error = error ? error : failure;
  }

  void finish(std::vector<std::thread> &threads) {
    for (std::thread &thread : threads)
      thread.join();
    if (error)
      std::rethrow_exception(error);
  }

  void copyChunk(uint64_t at, uint64_t bytes) {
    file.read(place.offset + at, {to + at, bytes}, place.path);
    if (dropCache)
      posix_fadvise(file.fd, static_cast<off_t>(place.offset + at), static_cast<off_t>(bytes),
                    POSIX_FADV_DONTNEED);
    const std::lock_guard lock(mutex);
    done += bytes;
    if (progress)
      progress(done, place.bytes);
  }

  const WeightPlace &place;
  const OpenFile file;
  uint8_t *const to;
  const bool dropCache;
  const CopyProgress &progress;
  std::map<int, ChunkQueue> queues; ///< by node; complete before the threads start
  std::mutex mutex;
  uint64_t done = 0;
  std::exception_ptr error;
};

/// An anonymous mapping for `bytes` from a huge page's boundary on, and what lies around it.
struct HugeRegion {
  void *base = MAP_FAILED;
  size_t length = 0;
  uint8_t *begin = nullptr;

  HugeRegion(uint64_t bytes, int protection)
      : base(mmap(nullptr, bytes + hugeBytes, protection,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        length(bytes + hugeBytes) {
    if (base == MAP_FAILED)
      return;
    const auto address = reinterpret_cast<uintptr_t>(base);
    begin = static_cast<uint8_t *>(base) + (hugeBytes - address % hugeBytes) % hugeBytes;
  }
  bool failed() const { return base == MAP_FAILED; }
};

void *mapFile(const OpenFile &file, const WeightPlace &place) {
  void *mapped =
      mmap(nullptr, place.bytes, PROT_READ, MAP_SHARED, file.fd, static_cast<off_t>(place.offset));
  if (mapped == MAP_FAILED)
    fail(
        errno == ENOMEM ? ErrorCode::Machine : ErrorCode::Io,
        "cannot map {} bytes of weights of '{}': {}. Check the limit on address space (ulimit -v), "
        "and that the file's system can map files.",
        place.bytes, place.path, errnoText(errno));
  // Fewer TLB misses where the file system can give huge pages; elsewhere it changes nothing.
  madvise(mapped, place.bytes, MADV_HUGEPAGE);
  return mapped;
}

void requireAligned(const WeightPlace &place) {
  if (place.offset % pageBytes != 0)
    fail(ErrorCode::BadInput,
         "the weights of '{}' start at byte {}, expected a multiple of {}. Write the file again "
         "with infc or `infrun fill`.",
         place.path, place.offset, pageBytes);
}

} // namespace

WeightMemory::WeightMemory(void *base, size_t length, uint8_t *first, size_t count)
    : mapping(base), mappingBytes(length), begin(first), size(count) {}

WeightMemory WeightMemory::map(const WeightPlace &place) {
  requireAligned(place);
  const OpenFile file(place);
  if (place.bytes == 0)
    return {nullptr, 0, nullptr, 0};
  void *mapped = mapFile(file, place);
  return {mapped, place.bytes, static_cast<uint8_t *>(mapped), place.bytes};
}

WeightMemory WeightMemory::fill(uint64_t bytes, const std::string &name,
                                const std::function<void(std::span<uint8_t>)> &write) {
  const HugeRegion region(bytes, PROT_READ | PROT_WRITE);
  if (region.failed())
    fail(ErrorCode::Machine,
         "cannot get {} bytes for the weights of '{}': {}. Free memory, or use --load=map where "
         "weights are in a file.",
         bytes, name, errnoText(errno));
  // Gives the mapping back on an error.
  WeightMemory memory(region.base, region.length, region.begin, bytes);
  madvise(region.begin, bytes, MADV_HUGEPAGE);
  write({region.begin, bytes});
  mprotect(region.base, region.length,
           PROT_READ); // as a mapped file is: a stray write ends the program
  return memory;
}

WeightMemory WeightMemory::copy(const WeightPlace &place, unsigned threads, bool dropCache,
                                const CopyProgress &progress) {
  if (place.bytes == 0)
    return map(place);
  return fill(place.bytes, place.path, [&](std::span<uint8_t> memory) {
    Copying(place, memory.data(), dropCache, progress).run(std::max(threads, 1u));
  });
}

WeightMemory WeightMemory::copyToNodes(const WeightPlace &place, std::span<const NodeRun> runs,
                                       std::span<const CopyCpu> cpus, bool dropCache,
                                       const CopyProgress &progress) {
  return fill(place.bytes, place.path, [&](std::span<uint8_t> memory) {
    Copying(place, memory.data(), dropCache, progress).runOnNodes(runs, cpus);
  });
}

WeightMemory &WeightMemory::operator=(WeightMemory &&other) noexcept {
  std::swap(mapping, other.mapping);
  std::swap(mappingBytes, other.mappingBytes);
  std::swap(begin, other.begin);
  std::swap(size, other.size);
  return *this;
}

WeightMemory::WeightMemory(WeightMemory &&other) noexcept
    : mapping(std::exchange(other.mapping, nullptr)),
      mappingBytes(std::exchange(other.mappingBytes, 0)),
      begin(std::exchange(other.begin, nullptr)), size(std::exchange(other.size, 0)) {}

WeightMemory::~WeightMemory() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

} // namespace inf
