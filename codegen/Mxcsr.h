// MXCSR as kernels see and leave it.
#pragma once

#include <cstdint>

#include "codegen/KernelAssembler.h"

namespace inf {

/// Nearest, all exceptions masked, denormals kept: what the step sets and kernels leave.
inline constexpr uint32_t stepMxcsr = 0x1F80;
/// Denormals taken for zero, as operands and as results.
inline constexpr uint32_t zeroDenormals = 0x8040;

inline void setMxcsr(KernelAssembler &a, uint32_t value) {
  a.vldmxcsr(a.dword[a.rip + a.constant({value})]);
}

} // namespace inf
