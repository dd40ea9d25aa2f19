#include "bench/kernels/Machine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "runtime/base/Error.h"
#include "runtime/cpu/ThreadPlan.h"
#include "runtime/roof/CacheSize.h"

namespace inf::bench {
namespace {

constexpr uint64_t pageBytes = 4096;

FeatureSet machineFeatures() { return detectFeatures(hostCpuid()).usable; }

} // namespace

PatternMemory::PatternMemory(uint64_t bytes, ThreadPool &pool)
    : size(bytes), shareBytes(bytes / pool.size() / pageBytes * pageBytes) {
  void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    fail(ErrorCode::Machine, "no {} bytes of memory for weights ({}); free memory", size,
         errnoText(errno));
  base = static_cast<uint8_t *>(mapped);
  madvise(base, size, MADV_HUGEPAGE);
  pool.run(
      [](void *self, unsigned thread) {
        const std::span<uint8_t> mine = static_cast<PatternMemory *>(self)->share(thread);
        std::memset(mine.data(), 0x3c, mine.size());
      },
      this);
}

PatternMemory::~PatternMemory() { munmap(base, size); }

std::span<uint8_t> PatternMemory::share(unsigned thread) const {
  return {base + thread * shareBytes, shareBytes};
}

Machine::Machine(unsigned threads)
    : usable(machineFeatures()), pool(threads, planThreads(SystemRoot{}, threads).cpus),
      bandwidth(pool, {}, lastLevelCacheBytes().value_or(0), usable), loops(dotLoops(usable)),
      memory(bandwidth.anonymousBytes(), pool) {}

RoofSample Machine::sampleRoof() {
  RoofSample sample;
  sample.bandwidth =
      std::max(bandwidth.measure(ReadKind::Anonymous), bandwidth.measure(ReadKind::AnonymousPages));
  for (size_t kind = 0; kind < dotKinds; ++kind)
    sample.operations[kind] = measureDotPeak(pool, loops[kind]);
  return sample;
}

} // namespace inf::bench
