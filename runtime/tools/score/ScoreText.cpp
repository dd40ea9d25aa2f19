#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/tools/score/Score.h"

namespace inf {

double Score::perplexity() const { return std::exp(mean()); }

void Comparison::add(const TokenComparison &token) {
  model.sum += token.modelNll;
  reference.sum += token.referenceNll;
  ++model.tokens;
  ++reference.tokens;
  divergences.push_back(token.divergence);
  sameTop += token.sameTop;
}

double Comparison::meanDivergence() const {
  return std::accumulate(divergences.begin(), divergences.end(), 0.0) /
         static_cast<double>(divergences.size());
}

double Comparison::divergenceAt(double share) const {
  std::vector<double> sorted = divergences;
  const auto count = static_cast<double>(sorted.size());
  const auto place = static_cast<size_t>(std::clamp(std::ceil(share * count), 1.0, count)) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(place),
                   sorted.end());
  return sorted[place];
}

double Comparison::agreement() const {
  return static_cast<double>(sameTop) / static_cast<double>(divergences.size());
}

namespace {

using Json = nlohmann::ordered_json;

Json toJson(const Score &score, std::string_view input) {
  return {{"perplexity", score.perplexity()}, {"nll", score.mean()},      {"tokens", score.tokens},
          {"sequences", score.sequences},     {"seconds", score.seconds}, {"input", input}};
}

} // namespace

std::string scoreText(const Score &score, std::string_view input) {
  return fmt::format("perplexity {:.6f} ({}; mean NLL {:.6f} nats over {} tokens in {} sequences; "
                     "{:.2f} s)\n",
                     score.perplexity(), input, score.mean(), score.tokens, score.sequences,
                     score.seconds);
}

std::string scoreJson(const Score &score, std::string_view input) {
  return toJson(score, input).dump(2) + "\n";
}

std::string comparisonText(const Comparison &comparison, std::string_view input,
                           std::string_view reference) {
  return fmt::format("against {}: KL divergence {:.6f} nats a token (99 % of tokens up to {:.6f}, "
                     "most {:.6f}); same likeliest token {:.2f} %\n"
                     "perplexity {:.6f} against {:.6f} ({}; {} tokens in {} sequences; {:.2f} s)\n",
                     reference, comparison.meanDivergence(), comparison.divergenceAt(0.99),
                     comparison.divergenceAt(1), 100 * comparison.agreement(),
                     comparison.model.perplexity(), comparison.reference.perplexity(), input,
                     comparison.model.tokens, comparison.model.sequences, comparison.model.seconds);
}

std::string comparisonJson(const Comparison &comparison, std::string_view input,
                           std::string_view reference) {
  Json object = toJson(comparison.model, input);
  object["against"] = {{"model", reference},
                       {"perplexity", comparison.reference.perplexity()},
                       {"nll", comparison.reference.mean()},
                       {"kl", comparison.meanDivergence()},
                       {"kl_99", comparison.divergenceAt(0.99)},
                       {"kl_most", comparison.divergenceAt(1)},
                       {"top1_agreement", comparison.agreement()}};
  return object.dump(2) + "\n";
}

} // namespace inf
