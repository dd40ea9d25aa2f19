// The random numbers of sampling: the same on every platform, compiler and standard library.
#pragma once

#include <array>
#include <cstdint>

namespace inf {

/// xoshiro256** 1.0 (Blackman & Vigna, "Scrambled linear pseudorandom number generators", 2021),
/// its state filled from a seed by SplitMix64 (Steele, Lea & Flood, 2014) as its authors advise.
/// 32 bytes of state, period 2^256 - 1. Not for secrets.
class Random {
public:
  explicit Random(uint64_t seed);
  /// Starts from a given state, not all zero.
  explicit Random(const std::array<uint64_t, 4> &start) : state(start) {}

  uint64_t next();
  /// Uniform in [0, 1): a multiple of 2^-53.
  double nextUnit() { return double(next() >> 11) * 0x1p-53; }

private:
  std::array<uint64_t, 4> state;
};

} // namespace inf
