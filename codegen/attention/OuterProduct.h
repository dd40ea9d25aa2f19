// The one inner loop of attention: sums[line][head] += line * scalar[head]. A line is sixteen lanes
// of the cache, read once for all heads: of an f32 cache one float in each, of a bf16 cache a pair
// of numbers in each dword, which meets a pair of scalars.
//
//   scores: lines are a dimension (pair of dimensions) of sixteen keys of several tiles,
//           scalars are q[head][dimension]
//   values: lines are sixteen dimensions of a key's value (of a pair of keys'),
//           scalars are p[head][key]
//
//   cache  dots   a lane and scalar pair (even, odd)
//   f32    f32    sum = fma(line, x, sum)
//   bf16   f32    sum = fma(even, x[0], sum);  sum = fma(odd, x[1], sum)
//   bf16   bf16   sum = fma(odd, x[1], sum);  sum = fma(even, x[0], sum): vdpbf16ps, or two FMAs
//
// Scalars are floats in memory, x[1] behind x[0]; for vdpbf16ps pairs of bf16.
//
// Registers: heads * lines sums; the fewer of lines and scalars are held, the others pass through
// one more. A line is one zmm, or two ymm. FMAs take the even and the odd numbers of a pair one
// after the other, reading the line for each.
#pragma once

#include <optional>
#include <vector>

#include "codegen/Lanes.h"

namespace inf {

/// [line][head]
using HeadSums = std::vector<std::vector<Lanes16>>;

HeadSums takeHeadSums(LanesEmitter &lanes, unsigned lines, unsigned heads);

/// Sixteen lanes at `at`, or eight and nothing behind. With a mask, one dword in memory for every
/// lane of a register, what it clears of each lane counts as 0.
struct CacheLine {
  LanesEmitter::Address at;
  bool half = false;
  std::optional<LanesEmitter::Address> mask;
};

class OuterProduct {
public:
  OuterProduct(KernelAssembler &assembler, LanesEmitter &lanesEmitter, const KernelSpec &kernelSpec)
      : a(assembler), lanes(lanesEmitter), spec(kernelSpec) {}

  void emit(const HeadSums &sums, const std::vector<CacheLine> &lines,
            const std::vector<LanesEmitter::Address> &scalars) const;

private:
  /// What an instruction takes of a lane.
  enum class Take { All, Even, Odd };

  void emit(Take take, const HeadSums &sums, const std::vector<CacheLine> &lines,
            const std::vector<LanesEmitter::Address> &scalars) const;
  void load(Take take, const VectorRegister &to, const CacheLine &line, unsigned part) const;
  void loadWhole(const VectorRegister &to, const CacheLine &line, unsigned part) const;
  void broadcast(Take take, const VectorRegister &to, const LanesEmitter::Address &scalar) const;
  void multiply(const Xbyak::Ymm &sum, const Xbyak::Ymm &line, const Xbyak::Ymm &scalar) const;
  /// Registers of a line that hold anything.
  unsigned partsOf(const CacheLine &line) const { return line.half ? 1 : lanes.partCount(); }
  void holdLines(Take take, const HeadSums &sums, const std::vector<CacheLine> &lines,
                 const std::vector<LanesEmitter::Address> &scalars) const;
  void holdScalars(Take take, const HeadSums &sums, const std::vector<CacheLine> &lines,
                   const std::vector<LanesEmitter::Address> &scalars) const;

  KernelAssembler &a;
  LanesEmitter &lanes;
  const KernelSpec &spec;
};

} // namespace inf
