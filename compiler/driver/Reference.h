// The reference interpreter on a model as a user has it: what a compiled model must reach.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/Compile.h"

namespace inf {

struct ReferenceOptions {
  /// Input, weights, and what the model rounds (quantPolicy, activations, kvElement: nothing unless
  /// said). stopAfter: evaluate the IR after that stage.
  CompileOptions model;
  std::vector<int32_t> tokens;
  std::string logitsPath;  ///< safetensors to write, `line0.logits` [tokens, vocabulary]; "" = none
  std::string comparePath; ///< safetensors of `infrun score --logits`; "" = none
};

struct ReferenceReport {
  uint64_t values = 0;
  bool finite = true; ///< every logit of both sides
  int32_t lastArgmax = 0;
  std::optional<double> largestDifference; ///< with comparePath
};

/// Evaluates the tokens as one sequence. Fails with BadInput when the file to compare with has no
/// `line0.logits` of the same shape.
ReferenceReport runReferenceModel(const ReferenceOptions &options);

} // namespace inf
