// Steps 1 to 4 of sampling: what changes logits before a token is chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/sampler/DryPenalty.h"
#include "runtime/sampler/SamplingOptions.h"
#include "runtime/sampler/TokenCounts.h"

namespace inf {

/// In this order, each off by default:
///
///   1. logit bias is added, -100 excludes the token; stop tokens are excluded
///   2. repetition penalty r, of tokens in prompt and answer: logit / r, or logit * r where the
///      logit is negative (Keskar et al. 2019, "CTRL"; the form of Hugging Face transformers)
///   3. presence and frequency penalties, of tokens in the answer alone:
///      logit - presence - frequency * count (the form of OpenAI's API)
///   4. DRY (DryPenalty.h)
///
/// Only the tokens concerned are touched, in a copy of the row.
class LogitChanges {
public:
  /// All memory is taken here. Fails with Usage for an id of the options beyond the vocabulary.
  LogitChanges(const SamplingOptions &samplingOptions, size_t vocabulary);

  void acceptPrompt(int32_t id);
  void accept(int32_t id);
  /// Whether apply() would change anything of any row now.
  bool active() const;
  /// The changed copy of `logits` ([vocabulary] at most), valid until the next call.
  std::span<const float> apply(std::span<const float> logits);

private:
  bool masksStops() const;
  void remember(int32_t id);
  void exclude(int32_t id, std::span<float> row) const;
  void bias(std::span<float> row) const;
  void penalizeRepetition(std::span<float> row) const;
  void penalizeAnswer(std::span<float> row) const;

  const SamplingOptions options;
  uint64_t generated = 0;
  std::optional<TokenCounts> repeated;       ///< prompt and answer, within the window
  std::optional<TokenWindow> repeatedWindow; ///< nothing leaves without
  std::optional<TokenCounts> answered;
  std::optional<DryPenalty> dry;
  std::vector<float> changed; ///< [vocabulary], or empty when nothing will ever change
};

} // namespace inf
