#include "runtime/roof/Bandwidth.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <sys/mman.h>

namespace inf {
namespace {

using Clock = std::chrono::steady_clock;

// Four times the caches: at most a quarter of a pass can come from them. A cache that a virtual
// machine shares with others may be larger than it says, hence the least; the most keeps a machine
// with a GiB of cache from taking all memory.
constexpr uint64_t cacheFactor = 4;
constexpr uint64_t leastWindow = uint64_t(256) << 20, mostWindow = uint64_t(2) << 30;
// Long against a scheduler's tick, short enough to run between two repeats.
constexpr double sampleSeconds = 0.05;
// Read by one call on the pool: a millisecond or more, against microseconds to wake the threads.
constexpr uint64_t bytesPerCall = uint64_t(64) << 20;
constexpr uint64_t pageBytes = 4096;

uint64_t windowBytes(uint64_t cacheBytes) {
  return std::clamp(std::min(cacheBytes, mostWindow) * cacheFactor, leastWindow, mostWindow);
}

} // namespace

/// Anonymous memory, in huge pages if it may be.
class Bandwidth::Memory {
public:
  explicit Memory(uint64_t bytes) : size(bytes) {
    void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      fail(
          ErrorCode::Machine,
          "no {} bytes of memory for measuring its speed ({}); free memory, or measure without the "
          "roof",
          size, errnoText(errno));
    base = static_cast<uint8_t *>(mapped);
    madvise(base, size, MADV_HUGEPAGE); // advice: without it small pages are measured
  }
  ~Memory() { munmap(base, size); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  std::span<uint8_t> bytes() const { return {base, size}; }

private:
  uint8_t *base = nullptr;
  uint64_t size;
};

/// [thread] -> what it reads in one pass, cut at pages.
struct Bandwidth::Slices {
  std::vector<ByteSpans> threads;
  uint64_t bytes = 0;

  Slices(const ByteSpans &spans, unsigned threadCount, uint64_t most) : threads(threadCount) {
    for (std::span<const uint8_t> span : spans) {
      span = pages(span, most - bytes);
      const uint64_t share = span.size() / threadCount / pageBytes * pageBytes;
      for (unsigned t = 0; t < threadCount && share != 0; ++t)
        threads[t].push_back(span.subspan(t * share, share));
      bytes += share * threadCount;
    }
  }

  /// The whole pages of `span`, at most `most` bytes.
  static std::span<const uint8_t> pages(std::span<const uint8_t> span, uint64_t most) {
    const uint64_t skip =
        (pageBytes - reinterpret_cast<uintptr_t>(span.data()) % pageBytes) % pageBytes;
    if (skip >= span.size())
      return {};
    return span.subspan(skip, std::min<uint64_t>(span.size() - skip, most));
  }
};

struct Bandwidth::Reading {
  const Slices &slices;
  ReadLoop loop;
  uint64_t passes;
};

Bandwidth::Bandwidth(ThreadPool &threadPool, const ByteSpans &payload, uint64_t cacheBytes,
                     FeatureSet usable)
    : pool(threadPool), features(usable), cacheSize(cacheBytes),
      memory(std::make_unique<Memory>(windowBytes(cacheBytes))) {
  const uint64_t window = windowBytes(cacheBytes);
  anonymous = std::make_unique<Slices>(ByteSpans{memory->bytes()}, pool.size(), window);
  mapped = std::make_unique<Slices>(payload, pool.size(), window);
  pool.run( // written by the thread that reads it: the page is then near that thread
      [](void *arg, unsigned thread) {
        for (std::span<const uint8_t> slice : static_cast<Slices *>(arg)->threads[thread])
          std::memset(const_cast<uint8_t *>(slice.data()), 0x5a, slice.size());
      },
      anonymous.get());
  Reading once = {*mapped, chooseReadLoop(features, ReadOrder::Lines), 1};
  pool.run(&readOnThread, &once);
}

Bandwidth::~Bandwidth() = default;

void Bandwidth::readOnThread(void *arg, unsigned thread) {
  const auto &reading = *static_cast<const Reading *>(arg);
  uint64_t sum = 0;
  for (uint64_t pass = 0; pass < reading.passes; ++pass)
    for (std::span<const uint8_t> slice : reading.slices.threads[thread])
      sum ^= reading.loop(slice.data(), slice.size());
  asm volatile("" : : "r"(sum)); // used, as far as the compiler knows
}

double Bandwidth::measure(const Slices &slices, ReadOrder order) {
  if (slices.bytes < pool.size() * (uint64_t(64) << 10))
    return 0;
  Reading reading = {slices, chooseReadLoop(features, order),
                     std::max<uint64_t>(1, bytesPerCall / slices.bytes)};
  const Clock::time_point start = Clock::now();
  uint64_t bytes = 0;
  double seconds = 0;
  while (seconds < sampleSeconds) {
    pool.run(&readOnThread, &reading);
    bytes += slices.bytes * reading.passes;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return static_cast<double>(bytes) / seconds;
}

double Bandwidth::measure(ReadKind kind) {
  switch (kind) {
  case ReadKind::Anonymous:
    return measure(*anonymous, ReadOrder::Lines);
  case ReadKind::AnonymousPages:
    return measure(*anonymous, ReadOrder::Pages);
  case ReadKind::Mapped:
    return measure(*mapped, ReadOrder::Lines);
  case ReadKind::MappedPrefetch:
    return measure(*mapped, ReadOrder::LinesPrefetched);
  case ReadKind::MappedPages:
    return measure(*mapped, ReadOrder::Pages);
  }
  fail(ErrorCode::Internal, "no way of reading number {}", static_cast<unsigned>(kind));
}

uint64_t Bandwidth::anonymousBytes() const { return anonymous->bytes; }
uint64_t Bandwidth::mappedBytes() const { return mapped->bytes; }

} // namespace inf
