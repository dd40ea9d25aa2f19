// Chooses the next token from the logits of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/sampler/Candidates.h"
#include "runtime/sampler/LogitChanges.h"
#include "runtime/sampler/Random.h"
#include "runtime/sampler/SamplingOptions.h"

namespace inf {

/// A chain of steps, each off by default. First the logits are changed (LogitChanges.h):
///
///    1. logit bias, bans; stop tokens masked
///    2. repetition penalty
///    3. presence and frequency penalties
///    4. DRY
///
/// At temperature 0 the token of the highest logit is taken then, the lowest id among equals;
/// the rest and the seed play no part. Otherwise candidates are chosen (Candidates.h):
///
///    5. top-n-sigma
///    6. temperature  weight(i) = exp((logit(i) - highest) / temperature), in double
///    7. top-k
///    8. typical-p
///    9. top-p
///   10. min-p
///   11. XTC          takes one random number where its probability is above 0
///   12. mirostat v2, which excludes 5 and 7 to 11
///   13. one token is drawn with probability weight / sum of the weights left
///
/// Bias before penalties as in llama.cpp and vLLM: a penalty sees the logit that would be chosen
/// by. Temperature before the filters as in Hugging Face transformers and vLLM (llama.cpp: last),
/// so that P means the probabilities that are drawn from. The filters follow each other as in
/// llama.cpp; transformers has typical-p last, vLLM min-p before top-k.
///
/// Where equal logits meet a limit, the lower ids stay: exactly K tokens are kept, where
/// transformers keeps all that equal the K-th. At least one token always stays. The generator
/// belongs to the sampler, so no neighbour's draw moves it.
class Sampler {
public:
  /// `maxVocabulary` is the largest number of logits that sample() will see; all memory is
  /// allocated here: 16 bytes each, 16 more with typical-p, 4 more with changes of logits, 12 more
  /// for each kind of count they need, and the windows. Fails with Usage for bad options and for
  /// ids of theirs beyond the vocabulary.
  Sampler(const SamplingOptions &samplingOptions, size_t maxVocabulary);

  /// `logits`: [vocabulary], one row; -infinity excludes a token. Returns the index of the chosen
  /// one, which is not accepted yet. Does not allocate. Fails with Internal, naming the index, for
  /// NaN or +infinity, for no logits or more than maxVocabulary, and when every logit is -infinity;
  /// with Usage when the options exclude every token.
  int32_t sample(std::span<const float> logits);

  /// Tells the penalties what the sequence holds: the prompt, and each generated token. Neither
  /// allocates. Fails with Internal for ids outside 0 to maxVocabulary - 1.
  void acceptPrompt(std::span<const int32_t> ids);
  void accept(int32_t id);

private:
  int32_t choose(std::span<const float> logits, float highest);
  int32_t drawByMirostat();
  int32_t highestAfterChanges(std::span<const float> row) const;
  void requireKnown(int32_t id) const;

  SamplingOptions options;
  Random random;
  size_t capacity;
  LogitChanges changes;
  Candidates candidates;
  double mirostatLimit; ///< bits of surprise above which a token is left out ("mu")
};

} // namespace inf
