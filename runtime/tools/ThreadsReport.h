// What the search for the number of threads came to: a line of --verbose.
#pragma once

#include <optional>
#include <string>

#include "runtime/session/StepThreads.h"

namespace inf {

/// "decoding on 12 of 64 threads: more were no faster (41.2 ms against 41.0 ms a step on 64)", or
/// why it is all of them. Of nullopt: that nothing was searched.
std::string decodeThreadsText(const std::optional<StepThreadsReport> &report);

} // namespace inf
