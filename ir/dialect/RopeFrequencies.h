// Rotary frequencies from a rope_table: plain arithmetic in double.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace inf::ir {

class RopeTableOp;

struct YarnSettings {
  double factor = 1, betaFast = 32, betaSlow = 1, originalContext = 0;
  bool truncate = true;
};

/// The pair indices between which yarn blends: below `low` frequencies are kept, above `high` they
/// are divided by the factor. dim(r) = d ln(original / (2 pi r)) / (2 ln theta); floor and ceil of
/// it only with truncate. (YaRN, arXiv 2309.00071, section 3.2.)
struct YarnRange {
  double low = 0, high = 0;
};
YarnRange yarnRange(int64_t headDim, double theta, const YarnSettings &yarn);

/// headDim / 2 inverse frequencies (radians per position) and the factor that multiplies cos and
/// sin: 1, or 0.1 ln(factor) + 1 for yarn unless the table names one.
struct RopeFrequencies {
  std::vector<double> inverse;
  double attentionFactor = 1;
};
RopeFrequencies ropeFrequencies(int64_t headDim, double theta, std::optional<YarnSettings> yarn,
                                std::optional<double> attentionFactor);
RopeFrequencies ropeFrequencies(RopeTableOp table);

} // namespace inf::ir
