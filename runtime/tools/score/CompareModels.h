// Two models over the same sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/session/Session.h"
#include "runtime/tools/score/Score.h"

namespace inf {

/// Fails with Usage, saying what differs, unless an id means the same to both: the same number of
/// logits and, where both have a tokenizer, the same tokens.
void requireSameVocabulary(const Model &model, const Model &reference);

/// Each sequence from nothing; the tokens 1 ... n-1 of each are counted. Both models take turns,
/// as many positions each as fit into 64 MB of logits, so that memory does not grow with a text.
/// `eachLogits` gets those of `model`, of every token. Fails as Session::prefill does.
class ModelComparer {
public:
  using EachLogits = std::function<void(std::span<const float> logits)>;

  ModelComparer(Session &modelSession, Session &referenceSession, EachLogits eachLogits = {});
  void add(std::span<const int32_t> sequence);
  /// Seconds are those of add().
  const Comparison &result() const { return comparison; }

private:
  void keepLogits(std::span<const int32_t> tokens);
  void compareTurn(std::span<const int32_t> sequence, size_t begin, size_t count);

  Session &model, &reference;
  EachLogits each;
  size_t vocabulary, turn; ///< logits of a row; rows of a turn
  std::vector<float> kept; ///< the model's of this turn: [turn][vocabulary]
  Comparison comparison;
};

} // namespace inf
