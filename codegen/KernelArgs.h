// How the step function calls a kernel: `void kernel(const Args *)`, System V, one pointer in rdi.
// The structs are laid out once here; generators and the lowering use offsetof.
#pragma once

#include <cstdint>

#include "codegen/KernelSpec.h"

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
///   the same by groups (Bf16Order::Groups): per group of 32 columns two FMA chains from 0 in
///          ascending k, even = fma(W[k], x[k], even) over its even columns, odd likewise over its
///          odd ones; then total = total + (even + odd), from 0, each sum rounded. W and x of
///          columns that the last group lacks are zeros and take part: a chain of -0 ends as 0.
///          Denormals as above. That is tdpbf16ps by the architecture's manual (Intel SDM volume 2,
///          TDPBF16PS: FMAs to nearest even with DAZ and FTZ, MXCSR neither read nor written), a
///          tile of 32 columns after the other into the same sums; Emerald Rapids does it so.
///          Where the result is NaN, which NaN is not part of either order.
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
  /// linearScratchBytes of the kernel's own to work in, on a cache line; not read where that is 0.
  uint8_t *scratch;
};

/// Rows in bf16 for AMX tiles (AmxExactProduct.cpp), 128 at most: pairs of tiles of 16, and a
/// pair's block more, which is loaded and not used.
constexpr int64_t exactScratchBytes(int64_t rows, int64_t columns) {
  const int64_t pairs = (rows + 31) / 32;
  return (pairs < 4 ? pairs : 4) * columns * 64 + 2048;
}
/// What a linear kernel on AMX tiles works in beside its frame, for q8 rows, 128 of them at most at
/// a time: two expanded panels and the rows by tiles of 16, 640 bytes a block each, blocks two by
/// two (AmxProduct.cpp); for mxfp4 exactScratchBytes before them.
constexpr int64_t linearScratchBytes(const KernelSpec &spec, int64_t mostRows, int64_t columns) {
  if (spec.isa != KernelIsa::Amx || spec.inputs != InputFormat::Q8)
    return 0;
  const int64_t tiles = (mostRows + 15) / 16, blocks = (columns / 32 + 1) / 2 * 2;
  return (spec.weights == WeightFormat::MXFP4 ? exactScratchBytes(mostRows, columns) : 0) +
         (2 + (tiles < 8 ? tiles : 8)) * blocks * 640;
}

/// Keys of a chunk of attention: positions 1024c .. 1024c + 1023.
inline constexpr int64_t attentionChunkKeys = 1024;

/// Attention of one row's `group` query heads that share a kv head, over keys firstKey..lastKey:
///   z_j = scale * q . K_j;  p_j = exp(z_j - m) / (exp(sink - m) + sum_i exp(z_i - m))
/// The keys are cut into chunks on the absolute grid, so that a row's bits are the same whether one
/// call goes through all of them or several calls through some each. With exp of codegen/Exp.h:
///   1. Of each chunk that holds a key, m, s and acc[headDim] by online softmax over tiles of 16
///      keys on the absolute grid (tile t = positions 16t..16t+15), ascending; from m = -1e30, 16
///      sums of 0, acc = 0, per tile
///        z = dot(K, q) * scale;  m' = max(m, max z);  p = exp(z - m');  alpha = exp(m - m');
///        sums[i] = fma(sums[i], alpha, p of key i), masked lanes 0;
///        acc = acc * alpha + V, p in keys;
///      then s = hsum(sums), which folds 16 lanes as i + (i+8), i + (i+4), i + (i+2), i + (i+1).
///   2. M, S, A are those of the first chunk; each further one, ascending, joins by
///        M' = max(M, m);  b = exp(M - M');  g = exp(m - M');
///        S = fma(S, b, s * g);  A = fma(acc, g, A * b)       s * g and A * b rounded.
///   3. out = A * r with r = 1 / S; with sinks
///        M' = max(M, sink);  b = exp(M - M');  r = b / fma(S, b, exp(sink - M')).
///
/// dot is a chain from 0 over ascending dimensions, acc a chain over ascending keys:
///   f32 dots of f32 keys: one FMA for each number, those of keys in range alone.
///   f32 dots of bf16 keys: the same by pairs of dimensions, or of keys (2i, 2i + 1): the even one,
///          then the odd one. Of a pair with one key in range, the other has p = 0 and V = 0.
///   bf16 dots of bf16 keys: q is rounded to bf16 first (nearest even, NaN stays NaN), p where it
///          has been computed, so that the sums have what the products have. Pairs go the odd one
///          first, as rows in bf16 do (LinearArgs): vdpbf16ps, or two FMAs. From start to end every
///          operation of all three steps takes denormals for 0 of their sign, as operand and as
///          result; so does the rounding of q. (No p is one: exp gives normal numbers or 0.) MXCSR
///          is left as the step has it.
///   bf16 dots by groups (Bf16Order::Groups), head_dim a multiple of 32: the same roundings; groups
///          of 32 dimensions, and of 32 keys on the absolute grid, are added as groups of columns
///          are (LinearArgs), for each total = total + (even + odd). The 32 keys are one tile of
///          step 1, with one m' and one alpha, p and V of those out of range are 0 and take part;
///          of key i >= 16 p goes to sums[i - 16] as sums + p.
///
/// Three forms of a call, by `partials` and `partialCount`:
///   null, 0   all three steps, to `out`.
///   p, 0      step 1 alone: firstKey..lastKey lie in one chunk, whose m, s and acc go to the
///             partial at p; `out` and `sinks` are not read.
///   p, n > 0  steps 2 and 3: n partials, attentionPartialBytes(headDim, group) apart from p on,
///             of chunks in ascending order; the first is overwritten. No q, no key is read.
///
/// Keys and values outside firstKey..lastKey may hold anything, NaN included, but the keys of a
/// whole tile must be readable (by groups of 32), and the other half of a pair. `out` need not be
/// initialized and must not overlap `q`. A tile lies in one block (blockTokens is a power of two,
/// at least 16, by groups 32). In a block, for this layer and kv head:
///           f32                                       bf16
///   keys    [blockTokens / 16][headDim][16 keys]      [blockTokens / 16][headDim / 2][16 keys][2]
///   values  [blockTokens][headDim]                    [blockTokens / 2][headDim][2 keys]
struct AttentionArgs {
  const float *q;            ///< [group][headDim]
  float *out;                ///< [group][headDim]; A until step 3. Not used with partials alone
  const uint8_t *kvBase;     ///< block b starts at kvBase + b * blockBytes
  const int32_t *blockTable; ///< [position / blockTokens] -> block
  int64_t blockBytes;
  int64_t keyOffset, valueOffset; ///< of these heads, from a block's start
  int64_t firstKey, lastKey;      ///< inclusive, 0 <= firstKey <= lastKey
  const float *sinks;             ///< [group]
  float scale;
  uint8_t *partials;    ///< of this row and kv head; null: none
  int64_t partialCount; ///< 0 or those that join
  /// Keys that the calling thread goes to next, to be fetched beside this call's last block: where
  /// their block of this head starts, its values as far behind as here. Null: none. Any address
  /// will do: nothing depends on it but time.
  const uint8_t *next;
};

/// A partial: a line of sixteen floats with m of each head, one with s, then acc [group][headDim],
/// padded to whole lines. In which lane a head stands is the kernel's affair.
inline constexpr int64_t attentionPartialLine = 64;
constexpr int64_t attentionPartialBytes(int64_t headDim, int64_t group) {
  const int64_t acc = group * headDim * int64_t(sizeof(float));
  return 2 * attentionPartialLine +
         (acc + attentionPartialLine - 1) / attentionPartialLine * attentionPartialLine;
}

} // namespace inf
