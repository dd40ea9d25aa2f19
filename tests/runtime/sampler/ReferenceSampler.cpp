#include "tests/runtime/sampler/ReferenceSampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <set>

namespace inf::test {
namespace {

struct Token {
  int32_t id;
  double logit, share;
};
using Tokens = std::vector<Token>;

std::vector<int32_t> lastOf(const std::vector<int32_t> &all, int window) {
  size_t count = window == 0 ? all.size() : std::min(all.size(), size_t(window));
  return {all.end() - std::ptrdiff_t(count), all.end()};
}

void penalizeRuns(const SamplingOptions &o, std::vector<float> &logits,
                  const std::vector<int32_t> &history) {
  std::vector<int32_t> text = lastOf(history, o.dryWindow);
  auto breaks = [&](int32_t id) {
    return std::find(o.dryBreakers.begin(), o.dryBreakers.end(), id) != o.dryBreakers.end();
  };
  std::map<int32_t, int> longest;
  for (int place = 0; place < int(text.size()); ++place) {
    int length = 0;
    while (length < place &&
           text[size_t(place - 1 - length)] == text[text.size() - 1 - size_t(length)] &&
           !breaks(text[size_t(place - 1 - length)]))
      ++length;
    int32_t next = text[size_t(place)];
    if (length >= o.dryAllowedLength && !breaks(next))
      longest[next] = std::max(longest[next], length);
  }
  for (auto [id, length] : longest)
    logits[size_t(id)] =
        float(double(logits[size_t(id)]) -
              std::min(1e9, double(o.dryMultiplier) *
                                std::pow(double(o.dryBase), length - o.dryAllowedLength)));
}

void normalize(Tokens &tokens) {
  double sum = 0;
  for (const Token &token : tokens)
    sum += token.share;
  for (Token &token : tokens)
    token.share /= sum;
}

void sortBy(Tokens &tokens, const std::function<double(const Token &)> &key) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [&](const Token &a, const Token &b) { return key(a) < key(b); });
}

void keepShare(Tokens &tokens, double p) {
  double reached = 0;
  size_t kept = 0;
  while (kept < tokens.size() && reached < p)
    reached += tokens[kept++].share;
  tokens.resize(kept);
  normalize(tokens);
}

void keepIf(Tokens &tokens, const std::function<bool(const Token &)> &keeps) {
  Tokens kept;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(kept), keeps);
  tokens = kept;
  normalize(tokens);
}

void keepTypical(Tokens &tokens, double p) {
  double entropy = 0;
  for (const Token &token : tokens)
    entropy -= token.share * std::log(token.share);
  sortBy(tokens, [&](const Token &token) { return std::abs(-std::log(token.share) - entropy); });
  keepShare(tokens, p);
  sortBy(tokens, [](const Token &token) { return -token.logit; });
}

void excludeTop(Tokens &tokens, double threshold) {
  size_t above = 0; // the tokens stand likeliest first
  while (above < tokens.size() && tokens[above].share >= threshold)
    ++above;
  if (above >= 2)
    tokens.erase(tokens.begin(), tokens.begin() + std::ptrdiff_t(above) - 1);
  normalize(tokens);
}

Tokens nearTheBest(const SamplingOptions &o, const std::vector<float> &logits) {
  Tokens tokens;
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > -INFINITY)
      tokens.push_back({int32_t(i), double(logits[i]), 1});
  double mean = 0, variance = 0;
  for (const Token &token : tokens)
    mean += token.logit / double(tokens.size());
  for (const Token &token : tokens)
    variance += (token.logit - mean) * (token.logit - mean) / double(tokens.size());
  sortBy(tokens, [](const Token &token) { return -token.logit; });
  double least = tokens[0].logit - double(o.topNSigma) * std::sqrt(variance);
  if (o.topNSigma > 0)
    keepIf(tokens, [&](const Token &token) { return token.logit >= least; });
  return tokens;
}

} // namespace

std::vector<float> referenceChanges(const SamplingOptions &o, std::vector<float> logits,
                                    const std::vector<int32_t> &prompt,
                                    const std::vector<int32_t> &answer) {
  for (const LogitBias &one : o.logitBias)
    logits[size_t(one.id)] += one.bias == -100 ? -INFINITY : one.bias;
  if (o.ignoreStops || answer.size() < o.minTokens)
    for (int32_t id : o.stopTokens)
      logits[size_t(id)] = -INFINITY;
  std::vector<int32_t> history = prompt;
  history.insert(history.end(), answer.begin(), answer.end());
  std::vector<int32_t> recent = lastOf(history, o.repetitionWindow);
  for (int32_t id : std::set<int32_t>(recent.begin(), recent.end())) {
    float &logit = logits[size_t(id)];
    logit = logit < 0 ? logit * o.repetitionPenalty : logit / o.repetitionPenalty;
  }
  for (int32_t id : std::set<int32_t>(answer.begin(), answer.end())) {
    auto count = float(std::count(answer.begin(), answer.end(), id));
    logits[size_t(id)] -= o.presencePenalty + o.frequencyPenalty * count;
  }
  if (o.dryMultiplier > 0)
    penalizeRuns(o, logits, history);
  return logits;
}

std::map<int32_t, double> referenceShares(const SamplingOptions &o,
                                          const std::vector<float> &logits, bool xtcStrikes) {
  Tokens tokens = nearTheBest(o, logits);
  if (o.topK > 0 && size_t(o.topK) < tokens.size())
    tokens.resize(size_t(o.topK));
  double highest = tokens[0].logit;
  for (Token &token : tokens)
    token.share = std::exp((token.logit - highest) / double(o.temperature));
  normalize(tokens);
  if (o.typicalP < 1)
    keepTypical(tokens, double(o.typicalP));
  if (o.topP < 1)
    keepShare(tokens, double(o.topP));
  double best = tokens[0].share;
  keepIf(tokens, [&](const Token &token) { return token.share >= double(o.minP) * best; });
  if (xtcStrikes)
    excludeTop(tokens, double(o.xtcThreshold));
  std::map<int32_t, double> shares;
  for (const Token &token : tokens)
    shares[token.id] = token.share;
  return shares;
}

} // namespace inf::test
