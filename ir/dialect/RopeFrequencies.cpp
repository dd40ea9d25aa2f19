#include "ir/dialect/RopeFrequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/dialect/InfDialect.h"

namespace inf::ir {

YarnRange yarnRange(int64_t headDim, double theta, const YarnSettings &yarn) {
  auto dimension = [&](double rotations) {
    return double(headDim) * std::log(yarn.originalContext / (2 * std::numbers::pi * rotations)) /
           (2 * std::log(theta));
  };
  double low = dimension(yarn.betaFast), high = dimension(yarn.betaSlow);
  if (yarn.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  return {std::max(low, 0.0), std::min(high, double(headDim - 1))};
}

double llama3Frequency(double frequency, const Llama3Settings &llama3) {
  double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < llama3.originalContext / llama3.high)
    return frequency;
  if (wavelength > llama3.originalContext / llama3.low)
    return frequency / llama3.factor;
  double kept = (llama3.originalContext / wavelength - llama3.low) / (llama3.high - llama3.low);
  return (1 - kept) * frequency / llama3.factor + kept * frequency;
}

RopeFrequencies ropeFrequencies(int64_t headDim, double theta) {
  RopeFrequencies result;
  for (int64_t j = 0; j < headDim / 2; ++j)
    result.inverse.push_back(std::pow(theta, -2.0 * double(j) / double(headDim)));
  return result;
}

RopeFrequencies ropeFrequencies(int64_t headDim, double theta, const YarnSettings &yarn) {
  RopeFrequencies result = ropeFrequencies(headDim, theta);
  YarnRange range = yarnRange(headDim, theta, yarn);
  // An empty ramp would divide by zero; transformers widens it by the same thousandth.
  double width = range.high - range.low;
  if (width == 0)
    width = 0.001;
  for (int64_t j = 0; j < headDim / 2; ++j) {
    double &kept = result.inverse[size_t(j)];
    double ramp = std::clamp((double(j) - range.low) / width, 0.0, 1.0);
    kept = kept / yarn.factor * ramp + kept * (1 - ramp);
  }
  if (yarn.factor > 1)
    result.attentionFactor = 0.1 * std::log(yarn.factor) + 1;
  return result;
}

/// `scale(j, frequency)` for each pair of an unscaled table.
template <typename Scale> static RopeFrequencies scaled(RopeTableOp table, Scale scale) {
  RopeFrequencies result =
      ropeFrequencies(int64_t(table.getHeadDim()), table.getTheta().convertToDouble());
  for (size_t j = 0; j < result.inverse.size(); ++j)
    result.inverse[j] = scale(j, result.inverse[j]);
  return result;
}

/// By type; the verifier has seen to it that its numbers are there.
static RopeFrequencies ofType(RopeTableOp table) {
  auto number = [](std::optional<llvm::APFloat> value) { return value->convertToDouble(); };
  llvm::StringRef type = table.getType();
  if (type == "yarn")
    return ropeFrequencies(int64_t(table.getHeadDim()), table.getTheta().convertToDouble(),
                           YarnSettings{number(table.getFactor()), number(table.getBetaFast()),
                                        number(table.getBetaSlow()),
                                        number(table.getOriginalContext()), table.getTruncate()});
  if (type == "llama3") {
    Llama3Settings settings{number(table.getFactor()), number(table.getLowFrequencyFactor()),
                            number(table.getHighFrequencyFactor()),
                            number(table.getOriginalContext())};
    return scaled(table, [&](size_t, double f) { return llama3Frequency(f, settings); });
  }
  if (type == "linear")
    return scaled(table, [&](size_t, double f) { return f / number(table.getFactor()); });
  if (type == "divided")
    return scaled(table, [&](size_t j, double f) { return f / (*table.getDivisors())[j]; });
  return scaled(table, [](size_t, double f) { return f; });
}

RopeFrequencies ropeFrequencies(RopeTableOp table) {
  RopeFrequencies result = ofType(table);
  if (std::optional<llvm::APFloat> factor = table.getAttentionFactor())
    result.attentionFactor = factor->convertToDouble();
  return result;
}

} // namespace inf::ir
