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

/// Llama 3's scaling. With w the wavelength 2 pi / frequency: frequencies of w < original / high
/// are kept, of w > original / low divided by the factor; between, s = (original / w - low) / (high
/// - low) blends (1 - s) / factor + s of them.
struct Llama3Settings {
  double factor = 1, low = 1, high = 4, originalContext = 0;
};
double llama3Frequency(double frequency, const Llama3Settings &llama3);

/// headDim / 2 inverse frequencies (radians per position) and the factor that multiplies cos and
/// sin: 1, or 0.1 ln(factor) + 1 for yarn unless the table names one.
struct RopeFrequencies {
  std::vector<double> inverse;
  double attentionFactor = 1;
};
/// Unscaled: theta^(-2j / headDim).
RopeFrequencies ropeFrequencies(int64_t headDim, double theta);
/// Blended as YaRN does.
RopeFrequencies ropeFrequencies(int64_t headDim, double theta, const YarnSettings &yarn);
/// Of a table of any type.
RopeFrequencies ropeFrequencies(RopeTableOp table);

} // namespace inf::ir
