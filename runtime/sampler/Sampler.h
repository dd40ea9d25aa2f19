// Chooses the next token from the logits of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/sampler/Random.h"
#include "runtime/sampler/SamplingOptions.h"

namespace inf {

/// At temperature 0: the token of the highest logit, the lowest id among equals; filters and seed
/// play no part. Otherwise, in the order Hugging Face transformers applies them:
///
///   1. temperature  weight(i) = exp((logit(i) - highest) / temperature), in double
///   2. top-k        the K tokens of highest logit
///   3. top-p        the shortest run of the likeliest of those whose share of *their* sum is >= P
///                   (Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration")
///   4. min-p        of those, the ones with weight >= P * highest weight (Nguyen et al. 2024)
///   5. one token is drawn with probability weight / sum of the weights left
///
/// Where equal logits meet a limit (top-k, top-p), the lower ids stay: exactly K tokens are kept,
/// where transformers keeps all that equal the K-th. The likeliest token always stays. A draw takes
/// one number of the generator at temperature > 0 and none at 0.
class Sampler {
public:
  /// `maxVocabulary` is the largest number of logits that sample() will see; all memory is
  /// allocated here (16 bytes each). Fails with Usage for bad options.
  Sampler(const SamplingOptions &samplingOptions, size_t maxVocabulary);

  /// `logits`: [vocabulary], one row; -infinity excludes a token. Returns the index of the chosen
  /// one. Does not allocate. Fails with Internal, naming the index, for NaN or +infinity, for no
  /// logits or more than maxVocabulary, and when every logit is -infinity.
  int32_t sample(std::span<const float> logits);

private:
  struct Candidate {
    float logit;
    int32_t id;
    double weight;
  };

  static bool likelier(const Candidate &a, const Candidate &b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  }
  void gather(std::span<const float> logits);
  void keepTopK();
  void weigh(float highest);
  void keepTopP();
  void keepMinP();
  int32_t draw();

  SamplingOptions options;
  Random random;
  size_t capacity;
  std::vector<Candidate> candidates; ///< at most [capacity]; by id, or likeliest first when sorted
  bool sorted = false;               ///< the candidates stand likeliest first
};

} // namespace inf
