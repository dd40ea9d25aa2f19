// The one inner loop of attention: sums[line][head] += line * scalar[head], one FMA each. A line is
// sixteen elements of the cache, widened once for all heads; a scalar is one float in memory.
//
//   scores: lines are one dimension of the keys of several tiles, scalars are q[head][dimension]
//   values: lines are several dimensions of one key's value,      scalars are p[head][key]
//
// Registers: heads * lines sums; the fewer of lines and scalars are held, the others pass through
// one more; bf16 in zmm takes two for tables. A line is one zmm, or two ymm.
#pragma once

#include <optional>
#include <vector>

#include "codegen/Lanes.h"

namespace inf {

/// [line][head]
using HeadSums = std::vector<std::vector<Lanes16>>;

HeadSums takeHeadSums(LanesEmitter &lanes, unsigned lines, unsigned heads);

/// Sixteen elements at `at`, or eight and nothing behind. A bf16 line that is half of 64 bytes
/// which may be read in one is widened by one instruction, any other by two.
struct CacheLine {
  enum class Part { Alone, LowHalf, HighHalf, EightAlone };
  LanesEmitter::Address at;
  Part part = Part::Alone;
};

class OuterProduct {
public:
  /// Takes and loads the tables of bf16 in zmm.
  OuterProduct(KernelAssembler &assembler, LanesEmitter &lanesEmitter, WeightFormat elements);

  void emit(const HeadSums &sums, const std::vector<CacheLine> &lines,
            const std::vector<LanesEmitter::Address> &scalars) const;

private:
  /// vpermw with it gives a half's sixteen words, each doubled; the mask clears the lower ones.
  struct WordTables {
    Lanes16 lowHalf, highHalf;
    RegisterPool::Lease upperWords;
  };

  void load(const VectorRegister &to, const CacheLine &line, unsigned part) const;
  /// Registers of a line that hold anything.
  unsigned partsOf(const CacheLine &line) const {
    return line.part == CacheLine::Part::EightAlone ? 1 : lanes.partCount();
  }
  void holdLines(const HeadSums &sums, const std::vector<CacheLine> &lines,
                 const std::vector<LanesEmitter::Address> &scalars) const;
  void holdScalars(const HeadSums &sums, const std::vector<CacheLine> &lines,
                   const std::vector<LanesEmitter::Address> &scalars) const;

  KernelAssembler &a;
  LanesEmitter &lanes;
  const WeightFormat format;
  std::optional<WordTables> tables;
};

} // namespace inf
