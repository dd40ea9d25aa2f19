// One kernel's work in Google Benchmark's loop, with the roof before and after it.
#pragma once

#include <benchmark/benchmark.h>

#include "bench/kernels/Work.h"

namespace inf::bench {

/// Counters: GB/s and TOP/s, and what share of the better of the two roof samples each is.
void measure(benchmark::State &state, Machine &machine, Work &work);

} // namespace inf::bench
