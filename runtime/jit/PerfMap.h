// Names of functions in memory for `perf report`.
#pragma once

#include <span>
#include <string>

#include "runtime/abi/inf_compiler.h"

namespace inf {

/// "/tmp/perf-PID.map" of this process, where perf looks.
std::string perfMapPath();

/// Lines "START SIZE name", hexadecimal without 0x, as perf's documentation of jitted code says. A
/// file that is there already is replaced, never followed if it is a link. False when it can't be
/// written: names are a convenience, and no reason to stop.
bool writePerfMap(const std::string &path, std::span<const inf_code_symbol> symbols);

} // namespace inf
