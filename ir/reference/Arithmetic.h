// The arithmetic of the reference: plain functions over rows of numbers, no IR but its attributes.
// Sums run in double where they are short, and in eight interleaved floats where they are the cost
// of the whole (dot products): the order is no model of any kernel's.
#pragma once

#include <vector>

#include "ir/reference/Interpreter.h"

namespace inf::ir {

/// Keys and values of a layer: one row per position.
struct ReferenceCache {
  ReferenceTensor keys, values;
};

float dot(const float *x, const float *y, int64_t n);

/// What an f32 becomes when it is kept as bf16: nearest, ties to even.
float roundToBf16(float x);

/// weight * x * rsqrt(mean(x^2) + eps), row by row, or for each of the row's equal parts.
ReferenceTensor rmsNorm(const ReferenceTensor &x, const std::vector<float> &weight, double eps,
                        int64_t heads = 1);
/// x[r][i] += vector[i].
void addVector(ReferenceTensor &x, const std::vector<float> &vector);
void addTensor(ReferenceTensor &x, const ReferenceTensor &other);
/// activation(x[r][i], x[r][half + i]).
ReferenceTensor gated(const ReferenceTensor &x, ActivationAttr activation);
/// Features [begin, begin + width).
ReferenceTensor slice(const ReferenceTensor &x, int64_t begin, int64_t width);

/// One row and head: softmax over keys first..last, the sink (null: none) in the denominator. With
/// bf16Dots q and the weights of keys are rounded as inf.attention says.
void attendHead(const ReferenceCache &cache, const float *q, const float *sink, int64_t first,
                int64_t last, int64_t kvHead, int64_t headDim, float scale, bool bf16Dots,
                float *out);

struct TopK {
  ReferenceTensor experts, weights;
};
/// The k highest of each row, of equals the lower index first, and the softmax over just those, or
/// their share of the one over all.
TopK topK(const ReferenceTensor &logits, int64_t k, bool overAll);

/// residual (null: 0) + sum over k of weights[r][k] * partials[r][k].
ReferenceTensor weightedSum(const ReferenceTensor &partials, const ReferenceTensor &weights,
                            const ReferenceTensor *residual);
/// Every value by roundToBf16.
ReferenceTensor roundedToBf16(const ReferenceTensor &x);
/// round(x / s) * s with s = max|x| / 127 of each block, or the next power of two.
ReferenceTensor quantizeDequantize(const ReferenceTensor &x, int64_t block, bool powersOfTwo);

} // namespace inf::ir
