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

RopeFrequencies ropeFrequencies(int64_t headDim, double theta, std::optional<YarnSettings> yarn,
                                std::optional<double> attentionFactor) {
  RopeFrequencies result;
  YarnRange range = yarn ? yarnRange(headDim, theta, *yarn) : YarnRange{};
  // An empty ramp would divide by zero; transformers widens it by the same thousandth.
  double width = range.high - range.low;
  if (width == 0)
    width = 0.001;
  for (int64_t j = 0; j < headDim / 2; ++j) {
    double kept = std::pow(theta, -2.0 * double(j) / double(headDim));
    if (yarn) {
      double ramp = std::clamp((double(j) - range.low) / width, 0.0, 1.0);
      kept = kept / yarn->factor * ramp + kept * (1 - ramp);
    }
    result.inverse.push_back(kept);
  }
  if (attentionFactor)
    result.attentionFactor = *attentionFactor;
  else if (yarn && yarn->factor > 1)
    result.attentionFactor = 0.1 * std::log(yarn->factor) + 1;
  return result;
}

RopeFrequencies ropeFrequencies(RopeTableOp table) {
  auto number = [](std::optional<llvm::APFloat> value) -> std::optional<double> {
    return value ? std::optional<double>(value->convertToDouble()) : std::nullopt;
  };
  std::optional<YarnSettings> yarn;
  if (table.getType() == "yarn")
    yarn = YarnSettings{*number(table.getFactor()), *number(table.getBetaFast()),
                        *number(table.getBetaSlow()), *number(table.getOriginalContext()),
                        table.getTruncate()};
  return ropeFrequencies(table.getHeadDim(), table.getTheta().convertToDouble(), yarn,
                         number(table.getAttentionFactor()));
}

} // namespace inf::ir
