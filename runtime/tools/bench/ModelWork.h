// What a step must do at least: bytes to read, multiply-accumulates to compute, from the manifest.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/Manifest.h"

namespace inf {

/// Sums over a model's weights. Bytes are packed bytes, scales included.
struct ModelWork {
  uint64_t bytesPerToken = 0;     ///< the manifest's, exact: one row, its logits, chosen experts
  uint64_t embeddingRowBytes = 0; ///< gathered for every row
  uint64_t headBytes = 0;         ///< the vocabulary's matrix: read when a row wants logits
  uint64_t headMacs = 0;          ///< per row that wants logits
  uint64_t denseMacs = 0;         ///< per row, of the other matrices without an expert axis
  uint64_t experts = 0;           ///< 0: none. Of a layer; layers must agree
  uint64_t expertBytes = 0;       ///< of one expert of every layer, all layers together
  uint64_t expertMacs = 0;        ///< likewise, per row that chose it
  /// Experts a row chooses: what bytesPerToken leaves for them over expertBytes. nullopt when that
  /// is not a whole number from 1 to `experts`: then nothing about several rows is known.
  std::optional<uint64_t> chosen;
};

ModelWork modelWork(const Manifest &manifest);

struct StepRows {
  uint64_t rows = 1, outputs = 1; ///< outputs: rows that want logits
};

/// Weight bytes of a step. With experts and more than one row the choice decides: without what was
/// counted of it (ExpertCounter.h) `exact` is false and `bytes` is what min(chosen * rows, experts)
/// distinct experts of every layer take, the upper bound.
struct WeightTraffic {
  uint64_t bytes = 0;
  bool exact = true;
};
WeightTraffic weightTraffic(const ModelWork &work, StepRows step,
                            std::optional<uint64_t> countedExpertBytes = std::nullopt);

/// Multiply-accumulates of all matrices; attention's own are not counted. nullopt when the number
/// of chosen experts is not known.
std::optional<uint64_t> multiplyAccumulates(const ModelWork &work, StepRows step);

/// Bytes of keys and values that a step over positions [first, first + rows) of one sequence needs,
/// each key once, however many rows see it: all before the end in full groups, those in any row's
/// window in window groups.
uint64_t kvBytesOfStep(const inf_model &model, uint64_t first, uint64_t rows);

} // namespace inf
