// How many connections the system lets this process have.
#pragma once

#include <cstddef>

namespace inf {

/// Raises the soft limit of open descriptors as far as `connections` and what else is open need and
/// the hard limit allows. Returns how many connections fit: `connections` or fewer, at least 1.
size_t connectionsThatFit(size_t connections);

} // namespace inf
