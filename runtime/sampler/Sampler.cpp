#include "runtime/sampler/Sampler.h"

#include <cmath>
#include <limits>

#include "runtime/base/Error.h"
#include "runtime/sampler/HighestLogit.h"

namespace inf {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Ids are int32_t, so no more can be told apart.
size_t checkedCapacity(size_t maxVocabulary) {
  constexpr size_t most = size_t(std::numeric_limits<int32_t>::max());
  if (maxVocabulary == 0 || maxVocabulary > most)
    fail(ErrorCode::Internal, "a sampler for {} tokens was asked for, expected 1 to {}",
         maxVocabulary, most);
  return maxVocabulary;
}

} // namespace

Sampler::Sampler(const SamplingOptions &samplingOptions, size_t maxVocabulary)
    : options(samplingOptions), random(samplingOptions.seed),
      capacity(checkedCapacity(maxVocabulary)), changes(samplingOptions, capacity),
      candidates(samplingOptions.temperature > 0 ? capacity : 0, samplingOptions.typicalP < 1),
      mirostatLimit(2 * double(samplingOptions.mirostatTau)) {}

int32_t Sampler::sample(std::span<const float> logits) {
  if (logits.size() > capacity)
    fail(ErrorCode::Internal, "{} logits were given, expected 1 to {} (the vocabulary)",
         logits.size(), capacity);
  int32_t best = highestLogit(logits);
  if (!changes.active())
    return options.temperature == 0 ? best : choose(logits, logits[size_t(best)]);
  std::span<const float> row = changes.apply(logits);
  best = highestAfterChanges(row);
  return options.temperature == 0 ? best : choose(row, row[size_t(best)]);
}

int32_t Sampler::choose(std::span<const float> logits, float highest) {
  candidates.gather(logits);
  if (options.topNSigma > 0)
    candidates.keepTopNSigma(double(options.topNSigma), highest);
  if (options.topK > 0) // by logits, which the temperature orders alike: fewer to weigh
    candidates.keepTopK(size_t(options.topK));
  candidates.weigh(options.temperature, highest);
  if (options.mirostat)
    return drawByMirostat();
  if (options.typicalP < 1)
    candidates.keepTypicalP(double(options.typicalP));
  if (options.topP < 1)
    candidates.keepTopP(double(options.topP));
  if (options.minP > 0)
    candidates.keepMinP(double(options.minP));
  if (options.xtcProbability > 0 && random.nextUnit() < double(options.xtcProbability))
    candidates.excludeTopChoices(double(options.xtcThreshold));
  return candidates.draw(random.nextUnit()).id;
}

/// Basu et al. 2021, "Mirostat", algorithm 2: tokens above the limit are left out, and the limit
/// follows the error between the surprise of what was drawn and the aim.
int32_t Sampler::drawByMirostat() {
  candidates.keepSurpriseBelow(mirostatLimit);
  Candidates::Draw drawn = candidates.draw(random.nextUnit());
  double error = -std::log2(drawn.share) - double(options.mirostatTau);
  mirostatLimit -= double(options.mirostatEta) * error;
  return drawn.id;
}

int32_t Sampler::highestAfterChanges(std::span<const float> row) const {
  for (float logit : row)
    if (logit > -infinity)
      return highestLogit(row);
  fail(ErrorCode::Usage,
       "--logit-bias and the stop tokens exclude all {} tokens that the model thinks possible. "
       "Ban fewer.",
       row.size());
}

void Sampler::requireKnown(int32_t id) const {
  if (id < 0 || size_t(id) >= capacity)
    fail(ErrorCode::Internal, "token {} was accepted, expected 0 to {}", id, capacity - 1);
}

void Sampler::acceptPrompt(std::span<const int32_t> ids) {
  for (int32_t id : ids) {
    requireKnown(id);
    changes.acceptPrompt(id);
  }
}

void Sampler::accept(int32_t id) {
  requireKnown(id);
  changes.accept(id);
}

} // namespace inf
