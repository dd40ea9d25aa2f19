// How many operations per second these threads can do in registers: the roof of prefill.
#pragma once

#include "runtime/cpu/Features.h"
#include "runtime/threads/ThreadPool.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inf {

/// A loop of independent dot products in registers.
struct DotLoop {
  std::string_view name;        ///< what it does: "vpdpbusd zmm"
  void (*run)(uint64_t rounds); ///< null: this machine has none
  uint64_t operationsPerRound;  ///< 2 per multiply-accumulate
};

/// What is multiplied; sums are int32 or f32.
enum class DotKind : unsigned { Int8, Bf16, F32 };
inline constexpr size_t dotKinds = 3;
inline constexpr std::array<std::string_view, dotKinds> dotKindNames = {"int8", "bf16", "f32"};
inline constexpr std::string_view dotKindName(DotKind kind) {
  return dotKindNames[static_cast<size_t>(kind)];
}

/// The widest loop these features allow; `run` is null where there is none:
///   int8  tdpbssd on AMX tiles; vpdpbusd with AVX-512 VNNI or AVX-VNNI; vpmaddubsw and vpmaddwd
///         with AVX2
///   bf16  tdpbf16ps on AMX tiles; vdpbf16ps with AVX512-BF16
///   f32   fused multiply-add, AVX-512 or AVX2 (with FMA)
DotLoop dotLoop(DotKind kind, FeatureSet features);
/// One loop of each kind.
std::array<DotLoop, dotKinds> dotLoops(FeatureSet features);

/// Operations per second of all threads of the pool together, over at least 50 ms; 0 without a
/// loop.
double measureDotPeak(ThreadPool &pool, const DotLoop &loop);

} // namespace inf
