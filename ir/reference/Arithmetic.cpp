#include "ir/reference/Arithmetic.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <numeric>

namespace inf::ir {
namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

float activate(ActivationAttr activation, float gate, float up) {
  if (activation.getKind() == ActivationKind::Swiglu)
    return gate * sigmoid(gate) * up;
  float limit = float(activation.getLimit().getValueAsDouble());
  float alpha = float(activation.getAlpha().getValueAsDouble());
  gate = std::min(gate, limit);
  up = std::clamp(up, -limit, limit);
  return (up + 1) * gate * sigmoid(alpha * gate);
}

/// Logits of keys `first` on to exp(logit - highest), rounded where they are relative to the
/// highest logit of their chunk up to the end of their tile. Kernels that sum by groups have tiles
/// of 32: another power of two to round at, here and there.
void roundWeights(std::vector<float> &logits, int64_t first, float highest) {
  constexpr int64_t tileKeys = 16, chunkKeys = 1024;
  float running = -INFINITY;
  for (size_t begin = 0; begin < logits.size();) {
    const int64_t key = first + int64_t(begin);
    if (key % chunkKeys == 0)
      running = -INFINITY;
    size_t end = std::min(logits.size(), begin + size_t(tileKeys - key % tileKeys));
    running = std::max(running, *std::max_element(logits.begin() + begin, logits.begin() + end));
    for (; begin < end; ++begin)
      logits[begin] = roundToBf16(std::exp(logits[begin] - running)) * std::exp(running - highest);
  }
}

} // namespace

float dot(const float *x, const float *y, int64_t n) {
  std::array<float, 8> sums{};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; ++lane)
      sums[lane] += x[i + lane] * y[i + lane];
  for (; i < n; ++i)
    sums[0] += x[i] * y[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0f);
}

float roundToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if (std::isfinite(x))
    bits += 0x7fff + (bits >> 16 & 1);
  bits &= 0xffff0000;
  std::memcpy(&x, &bits, 4);
  return x;
}

ReferenceTensor rmsNorm(const ReferenceTensor &x, const std::vector<float> &weight, double eps,
                        int64_t heads) {
  ReferenceTensor out = ReferenceTensor::zeros(x.rows, x.width);
  int64_t width = x.width / heads;
  for (int64_t part = 0; part < x.rows * heads; ++part) {
    const float *from = x.values.data() + part * width;
    float *to = out.values.data() + part * width;
    double squares = 0;
    for (int64_t i = 0; i < width; ++i)
      squares += double(from[i]) * from[i];
    float scale = float(1 / std::sqrt(squares / double(width) + eps));
    for (int64_t i = 0; i < width; ++i)
      to[i] = weight[size_t(i)] * (from[i] * scale);
  }
  return out;
}

void addVector(ReferenceTensor &x, const std::vector<float> &vector) {
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t i = 0; i < x.width; ++i)
      x.row(r)[i] += vector[size_t(i)];
}

void addTensor(ReferenceTensor &x, const ReferenceTensor &other) {
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] += other.values[i];
}

ReferenceTensor gated(const ReferenceTensor &x, ActivationAttr activation) {
  int64_t half = x.width / 2;
  ReferenceTensor out = ReferenceTensor::zeros(x.rows, half);
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t i = 0; i < half; ++i)
      out.row(r)[i] = activate(activation, x.row(r)[i], x.row(r)[half + i]);
  return out;
}

ReferenceTensor slice(const ReferenceTensor &x, int64_t begin, int64_t width) {
  ReferenceTensor out = ReferenceTensor::zeros(x.rows, width);
  for (int64_t r = 0; r < x.rows; ++r)
    std::copy_n(x.row(r) + begin, width, out.row(r));
  return out;
}

void attendHead(const ReferenceCache &cache, const float *q, const float *sink, int64_t first,
                int64_t last, int64_t kvHead, int64_t headDim, float scale, bool bf16Dots,
                float *out) {
  std::vector<float> query(q, q + headDim), weights;
  if (bf16Dots)
    std::transform(query.begin(), query.end(), query.begin(), roundToBf16);
  float highest = sink ? *sink : -INFINITY;
  for (int64_t key = first; key <= last; ++key) {
    weights.push_back(scale * dot(query.data(), cache.keys.row(key) + kvHead * headDim, headDim));
    highest = std::max(highest, weights.back());
  }
  if (bf16Dots)
    roundWeights(weights, first, highest);
  else
    for (float &weight : weights)
      weight = std::exp(weight - highest);
  double sum = std::accumulate(weights.begin(), weights.end(),
                               sink ? std::exp(double(*sink) - highest) : 0.0);
  std::vector<float> total(size_t(headDim), 0.0f);
  for (int64_t key = first; key <= last; ++key)
    for (int64_t d = 0; d < headDim; ++d)
      total[size_t(d)] +=
          weights[size_t(key - first)] * cache.values.row(key)[kvHead * headDim + d];
  for (int64_t d = 0; d < headDim; ++d)
    out[d] = float(total[size_t(d)] / sum);
}

TopK topK(const ReferenceTensor &logits, int64_t k, bool overAll) {
  TopK out{ReferenceTensor::zeros(logits.rows, k), ReferenceTensor::zeros(logits.rows, k)};
  out.experts.indices.resize(size_t(logits.rows * k));
  for (int64_t r = 0; r < logits.rows; ++r) {
    std::vector<int32_t> order(size_t(logits.width));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return logits.row(r)[a] > logits.row(r)[b]; });
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      float e = std::exp(logits.row(r)[order[size_t(i)]] - logits.row(r)[order[0]]);
      out.experts.indices[size_t(r * k + i)] = order[size_t(i)];
      out.weights.row(r)[i] = e;
      sum += e;
    }
    for (int64_t i = k; overAll && i < logits.width; ++i)
      sum += std::exp(logits.row(r)[order[size_t(i)]] - logits.row(r)[order[0]]);
    for (int64_t i = 0; i < k; ++i)
      out.weights.row(r)[i] = float(out.weights.row(r)[i] / sum);
  }
  return out;
}

ReferenceTensor weightedSum(const ReferenceTensor &partials, const ReferenceTensor &weights,
                            const ReferenceTensor *residual) {
  int64_t k = weights.width, width = partials.width / k;
  ReferenceTensor out = residual ? *residual : ReferenceTensor::zeros(partials.rows, width);
  for (int64_t r = 0; r < out.rows; ++r)
    for (int64_t choice = 0; choice < k; ++choice)
      for (int64_t i = 0; i < width; ++i)
        out.row(r)[i] += weights.row(r)[choice] * partials.row(r)[choice * width + i];
  return out;
}

ReferenceTensor roundedToBf16(const ReferenceTensor &x) {
  ReferenceTensor out = x;
  for (float &value : out.values)
    value = roundToBf16(value);
  return out;
}

/// The next power of two from x >= 0 upwards; 0, infinity and NaN stay.
static float powerOfTwo(float x) {
  if (!(x > 0) || std::isinf(x))
    return x;
  int exponent;
  float fraction = std::frexp(x, &exponent); // 0.5 <= fraction < 1
  return std::max(std::ldexp(1.0f, fraction == 0.5f ? exponent - 1 : exponent), FLT_MIN);
}

ReferenceTensor quantizeDequantize(const ReferenceTensor &x, int64_t block, bool powersOfTwo) {
  ReferenceTensor out = x;
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t begin = 0; begin < x.width; begin += block) {
      float highest = 0;
      for (int64_t i = begin; i < begin + block; ++i)
        highest = std::max(highest, std::abs(x.row(r)[i]));
      float scale = powersOfTwo ? powerOfTwo(highest / 127) : highest / 127;
      for (int64_t i = begin; i < begin + block && scale > 0; ++i)
        out.row(r)[i] = std::clamp(std::nearbyint(x.row(r)[i] / scale), -127.0f, 127.0f) * scale;
    }
  return out;
}

} // namespace inf::ir
