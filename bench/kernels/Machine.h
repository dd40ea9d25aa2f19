// The machine that kernels are measured on: its threads, memory beyond its caches, its roofs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/roof/Bandwidth.h"
#include "runtime/roof/DotPeak.h"
#include "runtime/threads/ThreadPool.h"

namespace inf::bench {

/// Anonymous memory in huge pages, every byte 0x3c: a finite, normal number in every weight format
/// (and as an E8M0 scale), so that no kernel meets NaN or denormals.
class PatternMemory {
public:
  /// Each thread writes the part that share() gives it.
  PatternMemory(uint64_t bytes, ThreadPool &pool);
  ~PatternMemory();
  PatternMemory(const PatternMemory &) = delete;
  PatternMemory &operator=(const PatternMemory &) = delete;

  /// A thread's part: pages of its own.
  std::span<uint8_t> share(unsigned thread) const;

private:
  uint8_t *base = nullptr;
  uint64_t size = 0, shareBytes = 0;
};

/// Limits of the moment.
struct RoofSample {
  double bandwidth = 0;                         ///< bytes per second
  std::array<double, dotKinds> operations = {}; ///< per second
};

struct Machine {
  explicit Machine(unsigned threads);

  RoofSample sampleRoof();

  FeatureSet usable;
  ThreadPool pool;
  Bandwidth bandwidth;
  std::array<DotLoop, dotKinds> loops;
  PatternMemory memory; ///< as large as what `bandwidth` reads
};

} // namespace inf::bench
