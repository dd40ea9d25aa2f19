// The limits of this machine, sampled between the runs that are held against them.
#pragma once

#include "runtime/roof/Bandwidth.h"
#include "runtime/roof/DotPeak.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace inf {

/// A rate over all samples: the roof is the best, `now` the median: on a shared machine the two
/// differ by what others took.
struct Peak {
  double best = 0, now = 0;
};

/// What the machine gave at one time.
struct RoofRates {
  double bandwidth = 0;                         ///< bytes/s, the best of the loops
  std::array<double, dotKinds> operations = {}; ///< operations/s

  /// Of each the better one.
  void joinBetter(const RoofRates &other);
};

struct RoofReport {
  size_t samples = 0;
  Peak bandwidth;                               ///< bytes/s: per sample, the best of the loops
  std::array<double, readKinds> byLoop = {};    ///< bytes/s, best of each
  std::array<Peak, dotKinds> operations = {};   ///< operations/s, 2 per multiply-accumulate
  std::array<std::string_view, dotKinds> loops; ///< which instructions
  uint64_t anonymousBytes = 0, mappedBytes = 0; ///< read in a pass
  bool mappedFitsCache = false;                 ///< then the mapped loops measure a cache
};

/// Of one kind of product; 0 where the machine has no instruction for it.
inline const Peak &peakOf(const RoofReport &report, DotKind kind) {
  return report.operations[static_cast<size_t>(kind)];
}

/// Samples of all loops on one pool; a sample takes about 0.4 s.
class Roof {
public:
  /// As Bandwidth; cache sizes and features are this machine's.
  Roof(ThreadPool &pool, const ByteSpans &payload);

  void sample();
  /// Of the last sample; zeros before the first.
  RoofRates last() const;
  RoofReport report() const;

private:
  struct Sample {
    std::array<double, readKinds> bandwidth = {};
    std::array<double, dotKinds> operations = {};
  };

  ThreadPool &pool;
  const std::array<DotLoop, dotKinds> loops;
  Bandwidth bandwidth;
  std::vector<Sample> samples;
};

/// Middle value, or mean of the two in the middle; 0 of none.
double median(std::vector<double> values);

} // namespace inf
