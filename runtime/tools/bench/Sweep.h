// Which counts of threads to try, and which of them is enough.
#pragma once

#include <span>
#include <vector>

namespace inf {

/// All counts up to 16; beyond, four to each doubling (20, 24, 28, 32, 40, ...), and `cores`
/// itself: a knee is not missed by more than a fifth. Ascending. {1} for 0 cores.
std::vector<unsigned> sweepCounts(unsigned cores);

/// The knee: index of the fewest threads whose rate is within 3 % of the best (`rates` belong to
/// ascending counts). 0 of none.
size_t kneeOf(std::span<const double> rates);

} // namespace inf
