#include "runtime/sampler/LogitChanges.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float banned = -100;

void requireKnown(std::string_view flag, int32_t id, size_t vocabulary) {
  if (id < 0 || size_t(id) >= vocabulary)
    fail(ErrorCode::Usage, "{} names token {}, expected 0 to {}: the model has {} tokens", flag, id,
         vocabulary - 1, vocabulary);
}

const SamplingOptions &checked(const SamplingOptions &options, size_t vocabulary) {
  options.validate();
  for (const LogitBias &one : options.logitBias)
    requireKnown("--logit-bias", one.id, vocabulary);
  for (int32_t id : options.stopTokens)
    requireKnown("the list of stop tokens", id, vocabulary);
  for (int32_t id : options.dryBreakers)
    requireKnown("--dry-breaker", id, vocabulary);
  return options;
}

} // namespace

LogitChanges::LogitChanges(const SamplingOptions &samplingOptions, size_t vocabulary)
    : options(checked(samplingOptions, vocabulary)) {
  if (options.repetitionPenalty != 1) {
    repeated.emplace(vocabulary);
    if (options.repetitionWindow > 0)
      repeatedWindow.emplace(size_t(options.repetitionWindow));
  }
  if (options.presencePenalty != 0 || options.frequencyPenalty != 0)
    answered.emplace(vocabulary);
  if (options.dryMultiplier > 0)
    dry.emplace(options, vocabulary);
  if (active() || repeated || answered || dry)
    changed.resize(vocabulary);
}

bool LogitChanges::masksStops() const {
  return !options.stopTokens.empty() && (options.ignoreStops || generated < options.minTokens);
}

bool LogitChanges::active() const {
  return !options.logitBias.empty() || masksStops() || repeated || dry ||
         (answered && generated > 0);
}

void LogitChanges::remember(int32_t id) {
  if (dry)
    dry->push(id);
  if (!repeated)
    return;
  repeated->add(id);
  int32_t leaving = repeatedWindow ? repeatedWindow->push(id) : -1;
  if (leaving >= 0)
    repeated->remove(leaving);
}

void LogitChanges::acceptPrompt(int32_t id) { remember(id); }

void LogitChanges::accept(int32_t id) {
  remember(id);
  ++generated;
  if (answered)
    answered->add(id);
}

std::span<const float> LogitChanges::apply(std::span<const float> logits) {
  std::span<float> row = std::span(changed).first(logits.size());
  std::copy(logits.begin(), logits.end(), row.begin());
  bias(row);
  if (masksStops())
    for (int32_t id : options.stopTokens)
      exclude(id, row);
  if (repeated)
    penalizeRepetition(row);
  if (answered)
    penalizeAnswer(row);
  if (dry)
    dry->apply(row);
  return row;
}

void LogitChanges::exclude(int32_t id, std::span<float> row) const {
  if (size_t(id) < row.size())
    row[size_t(id)] = -infinity;
}

void LogitChanges::bias(std::span<float> row) const {
  for (const LogitBias &one : options.logitBias)
    if (one.bias == banned)
      exclude(one.id, row);
    else if (size_t(one.id) < row.size())
      row[size_t(one.id)] += one.bias;
}

void LogitChanges::penalizeRepetition(std::span<float> row) const {
  // Not beyond what a float holds: an infinite logit would not be a choice any more.
  constexpr float most = std::numeric_limits<float>::max();
  for (int32_t id : repeated->distinct()) {
    if (size_t(id) >= row.size() || row[size_t(id)] == -infinity)
      continue;
    float &logit = row[size_t(id)];
    logit = logit < 0 ? logit * options.repetitionPenalty : logit / options.repetitionPenalty;
    logit = std::clamp(logit, -most, most);
  }
}

void LogitChanges::penalizeAnswer(std::span<float> row) const {
  for (int32_t id : answered->distinct())
    if (size_t(id) < row.size())
      row[size_t(id)] -=
          options.presencePenalty + options.frequencyPenalty * float(answered->count(id));
}

} // namespace inf
