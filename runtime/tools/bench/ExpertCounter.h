// Which experts the rows of a step chose, layer by layer: the stages' own outputs, read at the
// barriers behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/format/Manifest.h"
#include "runtime/session/Session.h"

namespace inf {

class ExpertCounter {
public:
  /// nullopt where the manifest doesn't say what is needed: stages with the choice of every layer
  /// that has experts, and weights that name their layer.
  static std::optional<ExpertCounter> create(const Manifest &manifest);

  /// For a session of its own: every barrier then is two. The counter must stay where it is.
  BarrierHook hook();

  /// Bytes of the distinct experts that each step since the last call read, scales and biases
  /// included, a step after the other; nullopt when a step had other stages than the manifest
  /// names, or a choice was no expert.
  std::optional<uint64_t> take();

private:
  /// A stage that leaves the chosen experts of a layer.
  struct Choice {
    size_t stage;
    StageOutput output;   ///< [rows][chosen] int32
    uint64_t expertBytes; ///< of one expert of the layer
  };

  ExpertCounter(std::vector<Choice> choices, size_t stages, uint64_t experts);
  void complete(const inf_step &step);
  uint64_t distinct(const StageOutput &output, const inf_step &step);

  std::vector<Choice> choices; ///< ascending stages
  size_t stages, at = 0, next = 0;
  std::vector<bool> seen; ///< [experts]
  uint64_t bytes = 0;
  bool broken = false;
};

} // namespace inf
