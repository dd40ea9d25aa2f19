// What `infrun bench` was asked to measure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inf {

struct BenchOptions {
  std::string modelPath, load = "auto", numa = "auto"; ///< as `infrun` has them
  std::vector<uint64_t> promptTokens = {512};
  uint64_t generatedTokens = 64; ///< 0: no decoding
  std::vector<uint64_t> contexts = {0};
  std::vector<uint64_t> batches = {1};
  /// Sequences decoded together hold one text: rows of a step choose the same experts.
  bool sameText = false;
  uint64_t repeat = 3;
  std::optional<unsigned> threads; ///< nullopt: chosen, or the sweep
  bool sweep = false;              ///< every count of threads from 1 to all cores
  bool stages = false, roof = true, json = false, verbose = false;
};

/// "128,512" -> {128, 512}. \throws Error Usage naming `flag` for anything but 1 to 64 decimal
/// numbers from `least` to `most`.
std::vector<uint64_t> parseCounts(std::string_view flag, std::string_view text, uint64_t least,
                                  uint64_t most);

/// "sweep" or a number. \throws Error Usage for anything else.
void parseThreads(std::string_view text, BenchOptions &options);

/// What a model can serve.
struct BenchLimits {
  uint64_t context = 0;    ///< tokens a sequence can hold
  uint64_t stepTokens = 0; ///< sequences that a step can give logits for
};

/// Tokens that a sequence must hold for all measurements. The runs of a decode measurement go on
/// from each other, unless they start from nothing, and with several sequences one more counts
/// experts (Runner): filling a context anew for each would take far
/// longer than the decoding.
/// \throws Error TooLong for more than the model's context, Usage for a batch beyond a step.
uint64_t neededContext(const BenchOptions &options, const BenchLimits &limits);

/// Tokens of the run that is not counted.
constexpr uint64_t warmUpTokens(uint64_t generated) { return generated < 2 ? generated : 2; }

} // namespace inf
