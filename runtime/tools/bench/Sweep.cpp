#include "runtime/tools/bench/Sweep.h"

#include <algorithm>
#include <bit>

namespace inf {

std::vector<unsigned> sweepCounts(unsigned cores) {
  constexpr unsigned everyOne = 16;
  std::vector<unsigned> counts;
  for (unsigned count = 1; count < cores; count += count < everyOne ? 1 : std::bit_floor(count) / 4)
    counts.push_back(count);
  counts.push_back(std::max(cores, 1u));
  return counts;
}

size_t kneeOf(std::span<const double> rates) {
  constexpr double enough = 0.97; // repeats of one run differ by about as much
  if (rates.empty())
    return 0;
  const double best = *std::max_element(rates.begin(), rates.end());
  const auto knee =
      std::find_if(rates.begin(), rates.end(), [&](double r) { return r >= enough * best; });
  return static_cast<size_t>(knee - rates.begin());
}

} // namespace inf
