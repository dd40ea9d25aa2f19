// KernelSpec in, bytes out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/KernelSpec.h"

namespace inf {

struct KernelCode {
  std::string symbol;
  std::vector<uint8_t> bytes; ///< position independent; constants follow the code
  uint32_t codeBytes = 0;     ///< where the constants begin
  /// Offsets after each prologue push, for CFI; the registers are rbx, rbp, r12, r13, r14, r15,
  /// in this order.
  std::vector<uint32_t> pushEnds;
  uint32_t frameBytes = 0;       ///< bytes subtracted from rsp after the pushes
  uint32_t frameEnd = 0;         ///< offset after that subtraction (0 when frameBytes is 0)
  uint32_t frameFreed = 0;       ///< offset after the epilogue adds frameBytes back (or 0)
  std::vector<uint32_t> popEnds; ///< offsets after each epilogue pop, mirror of pushEnds
};

/// Fails with Internal when registers run out and with Usage when whyNotGenerable() has a reason.
KernelCode generateKernel(const KernelSpec &spec);

/// One ELF relocatable object holding all kernels, through LLVM's MCStreamer: hidden-visibility
/// function symbols with sizes, CFI, 64-byte aligned. The same input gives the same bytes.
std::vector<uint8_t> writeKernelObject(const std::vector<KernelCode> &kernels);

/// "offset: bytes  instruction" lines, through LLVM's MCDisassembler.
std::string disassemble(const uint8_t *bytes, uint64_t size, uint64_t address);

} // namespace inf
