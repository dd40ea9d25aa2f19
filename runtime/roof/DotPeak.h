// How many operations per second these threads can do in registers: the roof of prefill.
#pragma once

#include "runtime/cpu/Features.h"
#include "runtime/threads/ThreadPool.h"

#include <cstdint>
#include <string_view>

namespace inf {

/// A loop of independent dot products in registers.
struct DotLoop {
  std::string_view name;        ///< what it does: "vpdpbusd zmm"
  void (*run)(uint64_t rounds); ///< null: this machine has none
  uint64_t operationsPerRound;  ///< 2 per multiply-accumulate
};

/// int8 * int8 into int32: vpdpbusd with AVX-512 VNNI or AVX-VNNI, vpmaddubsw and vpmaddwd with
/// AVX2. `run` is null without AVX2.
DotLoop int8DotLoop(FeatureSet features);
/// Fused multiply-add in f32, AVX-512 or AVX2. `run` is null without AVX2 and FMA.
DotLoop f32DotLoop(FeatureSet features);

/// Operations per second of all threads of the pool together, over at least 50 ms; 0 without a
/// loop.
double measureDotPeak(ThreadPool &pool, const DotLoop &loop);

} // namespace inf
