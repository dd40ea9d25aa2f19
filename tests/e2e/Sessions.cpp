#include "tests/e2e/Sessions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace inf::test {

std::unique_ptr<Session> openSession(const std::string &model, const SessionSetup &setup) {
  SessionOptions options;
  options.context = setup.context;
  options.maxSequences = setup.sequences;
  options.threads.threads = setup.threads;
  options.threads.pin = false; // tests run beside each other
  options.taps = setup.taps;
  return std::make_unique<Session>(Model::load(model), options);
}

AllLogits prefillLogits(Session &session, uint32_t sequence, std::span<const int32_t> tokens,
                        uint32_t chunk) {
  AllLogits all;
  PrefillOptions options;
  options.chunk = chunk;
  options.eachLogits = [&](uint64_t, std::span<const float> logits) {
    all.insert(all.end(), logits.begin(), logits.end());
  };
  session.prefill(sequence, tokens, options);
  return all;
}

AllLogits soloLogits(const std::string &model, std::span<const int32_t> tokens,
                     const SessionSetup &setup, uint32_t chunk) {
  return prefillLogits(*openSession(model, setup), 0, tokens, chunk);
}

std::span<const float> row(const AllLogits &logits, size_t index, size_t vocabulary) {
  return std::span(logits).subspan(index * vocabulary, vocabulary);
}

int32_t highest(std::span<const float> logits) {
  return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double largestDifference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size())
    return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double(a[i]) - double(b[i]));
    if (std::isnan(difference))
      return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

bool sameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

} // namespace inf::test
