// How the step function calls a kernel: `void kernel(const Args *)`, System V, one pointer in rdi.
// The structs are laid out once here; generators and the lowering use offsetof.
#pragma once

#include <cstdint>

namespace inf {

/// Matmul with its epilogue, over `panels` consecutive panels of 16 outputs:
///   z = sum over k of W[n][k] * x[r][k];  z = z * scale[n] + addend[r][n];  z += bias[n]
///   v = activation(z);  y[r][n] = v + residual[r][n]
/// each step rounded on its own (a product, then a sum: no FMA). With swiglu a unit is a pair of
/// panels (gate, up) and gives 16 outputs:
///   swiglu:   v = (gate * sigmoid(gate)) * up
///   clamped:  g = min(gate, limit), u = clamp(up, -limit, limit); v = ((u + 1) * g) *
///             sigmoid(alpha * g)      with sigmoid of codegen/Exp.h; NaN stays NaN
/// Reduction order per output (never depends on rows, panels or position; the same on every ISA):
///   dense: two partial sums, even k and odd k, each a chain of FMAs in ascending k (a last odd
///          column joins the even chain); then even + odd.
///   block formats: per block of 32 columns one FMA chain from 0 in ascending k of (code value *
///          x), then total = fma(chain, scale, total), from 0; int4a: then total = fma(minimum,
///          sum of x, total), the sum in ascending k from 0. mxfp4: scale = 2^(byte - 127), byte
///          0..254.
///   bf16 input, bf16 weights: one chain from 0 over pairs of columns, k = 0, 2, 4, ...:
///          total = fma(W[k+1], x[k+1], total);  total = fma(W[k], x[k], total);  the odd column
///          first, each sum rounded to nearest even; beside a last odd column are zeros. Denormal
///          x, W and sums count as 0 of their sign, before and after each fma. That is what
///          vdpbf16ps does whatever MXCSR says (found out on Zen 4 with all classes of numbers; the
///          rounding is the architecture's manual's too), and FMAs with DAZ and FTZ set: kernels
///          without it set these for the reduction alone, and leave MXCSR as the step has it.
///   q8 input, weights in a block format: per block of 32 columns the exact integer
///          c = sum of code * q, mxfp4 codes counted twice (-12..12), then
///          total = fma(float(c), w * a, total), from 0, with the block's scales w of the weight
///          and a of the row, w * a rounded; int4a: then total = fma(minimum * a, float(sum of q),
///          total); mxfp4: in the end total * 0.5.
/// Neither weights nor x are read behind their end. y may equal residual (in place). Padding
/// outputs of the last panel are written too: rows of buffers are padded to 16 floats.
struct LinearArgs {
  const uint8_t *weights; ///< first panel (or pair)
  const void *const *x;   ///< [rows] -> f32 [columns], or a q8 or bf16 row (abi/ActivationRows.h)
  float *const *y;        ///< [rows] -> first output of the slice
  const float *bias;      ///< slice of the packed vector: 16 a panel (32 a pair: gate, up)
  const float *scale;     ///< likewise
  const float *const *addend;   ///< [rows] -> as bias, per row
  const float *const *residual; ///< [rows] -> first output of the slice
  int64_t rows;                 ///< >= 1, any
  int64_t panels;               ///< >= 1; pairs with swiglu
  int64_t columns;              ///< k, >= 1; for block formats a multiple of 32
  float swigluLimit;            ///< clamped form: gate <= limit, -limit <= up <= limit
  float swigluAlpha;            ///< clamped form: (up + 1) * gate * sigmoid(alpha * gate)
};

/// Attention of one row's `group` query heads that share a kv head, over keys firstKey..lastKey:
///   z_j = scale * q . K_j;  p_j = exp(z_j - m) / (exp(sink - m) + sum_i exp(z_i - m))
/// by online softmax over tiles of 16 keys on the absolute grid (tile t = positions 16t..16t+15),
/// ascending; starts from m = max(sink, -1e30), sums = exp(sink - m) in lane 0 and 0 in 15 others;
/// without sinks m = -1e30, all 0. Per tile, with exp of codegen/Exp.h:
///   z = dot(K, q) * scale;  m' = max(m, max z);  p = exp(z - m');  alpha = exp(m - m');
///   sums[i] = fma(sums[i], alpha, p of key i), masked lanes 0;  acc = acc * alpha + V, p in keys
/// At the end acc / hsum(sums); hsum folds 16 lanes as i + (i+8), i + (i+4), i + (i+2), i + (i+1).
///
/// dot is a chain from 0 over ascending dimensions, acc a chain over ascending keys:
///   f32 dots of f32 keys: one FMA for each number, those of keys in range alone.
///   f32 dots of bf16 keys: the same by pairs of dimensions, or of keys (2i, 2i + 1): the even one,
///          then the odd one. Of a pair with one key in range, the other has p = 0 and V = 0.
///   bf16 dots of bf16 keys: q is rounded to bf16 first (nearest even, NaN stays NaN), p where it
///          has been computed, so that the sums have what the products have. Pairs go the odd one
///          first, as rows in bf16 do (LinearArgs): vdpbf16ps, or two FMAs. From start to end every
///          operation takes denormals for 0 of their sign, as operand and as result; so does the
///          rounding of q. (No p is one: exp gives normal numbers or 0.) MXCSR is left as the step
///          has it.
///
/// Keys and values outside firstKey..lastKey may hold anything, NaN included, but the keys of a
/// whole tile must be readable, and the other half of a pair. `out` need not be initialized and
/// must not overlap `q`. A tile lies in one block (blockTokens is a power of two, at least 16). In
/// a block, for this layer and kv head:
///           f32                                       bf16
///   keys    [blockTokens / 16][headDim][16 keys]      [blockTokens / 16][headDim / 2][16 keys][2]
///   values  [blockTokens][headDim]                    [blockTokens / 2][headDim][2 keys]
struct AttentionArgs {
  const float *q;            ///< [group][headDim]
  float *out;                ///< [group][headDim], also the accumulator
  const uint8_t *kvBase;     ///< block b starts at kvBase + b * blockBytes
  const int32_t *blockTable; ///< [position / blockTokens] -> block
  int64_t blockBytes;
  int64_t keyOffset, valueOffset; ///< in a block
  int64_t firstKey, lastKey;      ///< inclusive, 0 <= firstKey <= lastKey
  const float *sinks;             ///< [group]
  float scale;
};

} // namespace inf
