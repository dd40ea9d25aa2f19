// Steps 5 to 13 of sampling: which tokens may be drawn, and the draw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/sampler/Random.h"

namespace inf {

/// The tokens that are left, each with its weight: exp((logit - highest) / temperature) after
/// weigh(). The filters leave at least one, in a defined order: a seed must mean the same tokens.
class Candidates {
public:
  /// All memory is taken here: 16 bytes a token, 16 more when typical-p will be asked for.
  Candidates(size_t capacity, bool withTypical);

  /// Starts from a row, without the tokens of -infinity.
  void gather(std::span<const float> logits);
  /// Logits at least `highest` - n * their standard deviation (Tang et al. 2024, "Top-nσ").
  void keepTopNSigma(double n, float highest);
  void weigh(float temperature, float highest);
  void keepTopK(size_t k);
  /// With H the entropy of what is left: the tokens whose surprise is nearest to H, the fewest that
  /// reach share p (Meister et al. 2022, "Locally Typical Sampling"). The likeliest may go.
  void keepTypicalP(double p);
  /// The fewest of the likeliest whose share is at least p (Holtzman et al. 2020).
  void keepTopP(double p);
  /// Those with at least p times the highest weight (Nguyen et al. 2024).
  void keepMinP(double p);
  /// Leaves out, when two or more tokens have at least share `threshold`, all of these but the
  /// least likely: "exclude top choices" (P. E. Weidmann, text-generation-webui, pull request
  /// 6335).
  void excludeTopChoices(double threshold);
  /// Those whose surprise -log2(share) is at most `limit` bits; the likeliest in any case.
  void keepSurpriseBelow(double limit);

  struct Draw {
    int32_t id;
    double share; ///< its weight / sum of the weights left
  };
  Draw draw(double unit) const; ///< `unit`: [0, 1)

private:
  struct Candidate {
    float logit;
    int32_t id;
    double weight;
  };
  struct Shift {
    double distance; ///< |surprise - entropy|, in nats
    uint32_t index;  ///< of the candidate
  };

  static bool likelier(const Candidate &a, const Candidate &b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  }
  double totalWeight() const;
  void keepAbove(double least); ///< weights of at least that

  std::vector<Candidate> tokens; ///< at most [capacity]; likeliest first when sorted
  std::vector<Shift> shifts;     ///< of keepTypicalP
  bool sorted = false;
};

} // namespace inf
