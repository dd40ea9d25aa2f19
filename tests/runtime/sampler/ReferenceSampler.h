// The steps of sampling, written slowly and plainly: what the fast ones are held against.
#pragma once

#include <map>
#include <vector>

#include "runtime/sampler/SamplingOptions.h"

namespace inf::test {

/// The logits after bias, masks and penalties, for a prompt and an answer so far.
std::vector<float> referenceChanges(const SamplingOptions &options, std::vector<float> logits,
                                    const std::vector<int32_t> &prompt,
                                    const std::vector<int32_t> &answer);

/// The probability of each token that may be drawn. `excludeTop`: XTC strikes this time.
std::map<int32_t, double> referenceShares(const SamplingOptions &options,
                                          const std::vector<float> &logits, bool excludeTop);

} // namespace inf::test
