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
  options.prefixes = setup.prefixes;
  options.kvBytes = setup.kvBytes;
  options.checkpointTokens = setup.checkpointTokens;
  options.eviction = setup.eviction;
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

AllLogits logitsAt(Session &session, std::span<const int32_t> tokens,
                   std::span<const int64_t> positions) {
  AllLogits found;
  for (size_t begin = 0; begin < tokens.size(); begin += session.maxRows()) {
    std::vector<RowRequest> rows;
    uint32_t outputs = 0;
    for (size_t i = begin; i < std::min(begin + session.maxRows(), tokens.size()); ++i) {
      const bool wanted = std::binary_search(positions.begin(), positions.end(), int64_t(i));
      outputs += wanted;
      rows.push_back({tokens[i], 0, INF_ROW_PROMPT,
                      wanted ? uint8_t{INF_OUTPUT_LOGITS} : uint8_t{INF_OUTPUT_NONE}});
    }
    const StepResult step = session.step(rows);
    for (uint32_t output = 0; output < outputs; ++output)
      found.insert(found.end(), step.logits(output).begin(), step.logits(output).end());
  }
  return found;
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
