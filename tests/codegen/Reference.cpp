#include "tests/codegen/Reference.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include <immintrin.h>

#include "codegen/Exp.h"
#include "runtime/abi/ActivationRows.h"
#include "tests/codegen/PackedWeights.h"
#include "tests/codegen/Tolerances.h"

namespace inf::test {
namespace {

const uint8_t *panelOf(const KernelSpec &spec, const LinearArgs &args, int64_t panel) {
  return args.weights + panel * static_cast<int64_t>(weightBytes(
                                    spec.weights, packedColumnsOf(spec, args.columns) * 16));
}

const float *floatInput(const LinearArgs &args, int64_t r) {
  return static_cast<const float *>(args.x[r]);
}

float bf16Input(const LinearArgs &args, int64_t r, int64_t k) {
  return static_cast<float>(
      elementValue(WeightFormat::BF16, static_cast<const uint8_t *>(args.x[r]), k));
}

/// Denormals count as zero, read and written, as long as this lives. What is to be computed so must
/// be in a function that the compiler can't look into: it knows nothing of MXCSR.
class ZeroDenormals {
public:
  ZeroDenormals() : before(_mm_getcsr()) { _mm_setcsr(before | 0x8040); }
  ~ZeroDenormals() { _mm_setcsr(before); }
  ZeroDenormals(const ZeroDenormals &) = delete;
  ZeroDenormals &operator=(const ZeroDenormals &) = delete;

private:
  const unsigned before;
};

/// A q8 row, read as runtime/abi/ActivationRows.h describes it.
struct Q8Row {
  Q8Row(const LinearArgs &args, int64_t r) : start(static_cast<const uint8_t *>(args.x[r])) {
    blocks = start + q8BlocksOffset(static_cast<uint64_t>(args.columns));
  }
  int code(int64_t column) const { return static_cast<int8_t>(start[column]); }
  float scale(int64_t column) const {
    Q8Block block;
    std::memcpy(&block, blocks + column / 32 * static_cast<int64_t>(sizeof block), sizeof block);
    return block.scale;
  }

  const uint8_t *start, *blocks;
};

double inputValue(const KernelSpec &spec, const LinearArgs &args, int64_t r, int64_t k) {
  if (spec.inputs == InputFormat::F32)
    return floatInput(args, r)[k];
  if (spec.inputs == InputFormat::BF16)
    return bf16Input(args, r, k);
  const Q8Row row(args, r);
  return static_cast<double>(row.code(k)) * row.scale(k);
}

float orderedDense(const KernelSpec &spec, const LinearArgs &args, int64_t r, const uint8_t *panel,
                   unsigned n) {
  float sums[2] = {0, 0};
  for (int64_t k = 0; k < args.columns; ++k) {
    const float w = static_cast<float>(packedValue(spec, panel, k, n));
    sums[k % 2] = std::fma(w, floatInput(args, r)[k], sums[k % 2]);
  }
  return sums[0] + sums[1];
}

float orderedBlocks(const KernelSpec &spec, const LinearArgs &args, int64_t r, const uint8_t *panel,
                    unsigned n) {
  const float *x = floatInput(args, r);
  float total = 0;
  for (int64_t first = 0; first < args.columns; first += 32) {
    const PackedBlock block(spec.weights, panel, first);
    float chain = 0, sum = 0;
    for (int64_t k = first; k < first + 32; ++k) {
      chain = std::fma(static_cast<float>(block.code(k, n)), x[k], chain);
      sum += x[k];
    }
    total = std::fma(chain, block.scale(n), total);
    if (spec.weights == WeightFormat::INT4A)
      total = std::fma(block.minimum(n), sum, total);
  }
  return total;
}

float orderedQ8(const KernelSpec &spec, const LinearArgs &args, int64_t r, const uint8_t *panel,
                unsigned n) {
  const bool mxfp4 = spec.weights == WeightFormat::MXFP4;
  const Q8Row row(args, r);
  float total = 0;
  for (int64_t first = 0; first < args.columns; first += 32) {
    const PackedBlock block(spec.weights, panel, first);
    int dot = 0, sum = 0;
    for (int64_t k = first; k < first + 32; ++k) {
      dot += static_cast<int>(block.code(k, n) * (mxfp4 ? 2 : 1)) * row.code(k);
      sum += row.code(k);
    }
    const float a = row.scale(first), wa = block.scale(n) * a;
    total = std::fma(static_cast<float>(dot), wa, total);
    if (spec.weights == WeightFormat::INT4A) {
      const float minimum = block.minimum(n) * a;
      total = std::fma(minimum, static_cast<float>(sum), total);
    }
  }
  return mxfp4 ? total * 0.5f : total;
}

[[gnu::noipa]] float bf16Chain(const KernelSpec &spec, const LinearArgs &args, int64_t r,
                               const uint8_t *panel, unsigned n) {
  float total = 0;
  for (int64_t pair = 0; pair < args.columns; pair += 2)
    for (int64_t k : {pair + 1, pair})
      total = std::fma(static_cast<float>(packedValue(spec, panel, k, n)), bf16Input(args, r, k),
                       total);
  return total;
}

/// Columns beyond the last are zeros.
[[gnu::noipa]] float bf16Groups(const KernelSpec &spec, const LinearArgs &args, int64_t r,
                                const uint8_t *panel, unsigned n) {
  float total = 0;
  for (int64_t first = 0; first < args.columns; first += 32) {
    float sums[2] = {0, 0};
    for (int64_t k = first; k < first + 32; ++k) {
      const bool there = k < args.columns;
      const float w = there ? static_cast<float>(packedValue(spec, panel, k, n)) : 0.0f;
      sums[k % 2] = std::fma(w, there ? bf16Input(args, r, k) : 0.0f, sums[k % 2]);
    }
    const float both = sums[0] + sums[1];
    total = total + both;
  }
  return total;
}

float orderedBf16(const KernelSpec &spec, const LinearArgs &args, int64_t r, const uint8_t *panel,
                  unsigned n) {
  const ZeroDenormals scope;
  return spec.order == Bf16Order::Groups ? bf16Groups(spec, args, r, panel, n)
                                         : bf16Chain(spec, args, r, panel, n);
}

float orderedReduction(const KernelSpec &spec, const LinearArgs &args, int64_t r,
                       const uint8_t *panel, unsigned n) {
  if (spec.inputs == InputFormat::Q8)
    return orderedQ8(spec, args, r, panel, n);
  if (spec.inputs == InputFormat::BF16)
    return orderedBf16(spec, args, r, panel, n);
  return isBlockFormat(spec.weights) ? orderedBlocks(spec, args, r, panel, n)
                                     : orderedDense(spec, args, r, panel, n);
}

/// z of one panel; `slot` is where the panel's values lie in bias, scale and addend.
float orderedPanel(const KernelSpec &spec, const LinearArgs &args, int64_t r, int64_t slot,
                   unsigned n) {
  const uint8_t *panel = panelOf(spec, args, slot);
  float z = orderedReduction(spec, args, r, panel, n);
  const int64_t index = slot * 16 + n;
  if (spec.scale)
    z = z * args.scale[index];
  if (spec.addend)
    z = z + args.addend[r][index];
  if (spec.bias)
    z = z + args.bias[index];
  return z;
}

float orderedSigmoid(float x) { return 1.0f / (1.0f + orderedExp(-x)); }

Exact exactPanel(const KernelSpec &spec, const LinearArgs &args, int64_t r, int64_t slot,
                 unsigned n) {
  const uint8_t *panel = panelOf(spec, args, slot);
  double z = 0, magnitude = 0;
  for (int64_t k = 0; k < args.columns; ++k) {
    const double x = inputValue(spec, args, r, k);
    z += packedValue(spec, panel, k, n) * x;
    magnitude += packedMagnitude(spec, panel, k, n) * std::abs(x);
  }
  const int64_t index = slot * 16 + n;
  if (spec.scale) {
    z *= args.scale[index];
    magnitude *= std::abs(args.scale[index]);
  }
  for (float term :
       {spec.addend ? args.addend[r][index] : 0.0f, spec.bias ? args.bias[index] : 0.0f}) {
    z += term;
    magnitude += std::abs(term);
  }
  const double steps = static_cast<double>(args.columns) + epilogueSteps;
  return {z, steps * roundoff * magnitude};
}

Exact exactActivation(const KernelSpec &spec, const LinearArgs &args, Exact gate, Exact up) {
  double g = gate.value, u = up.value, alpha = 1;
  if (spec.activation == Activation::SwigluClamped) {
    alpha = args.swigluAlpha;
    const double limit = args.swigluLimit;
    g = std::min(g, limit);
    u = std::clamp(u, -limit, limit) + 1;
  }
  const double silu = g / (1 + std::exp(-alpha * g));
  const double bound = siluSlope * gate.bound * (std::abs(u) + up.bound) +
                       std::abs(silu) * (up.bound + roundoff * std::abs(u)) +
                       activationRelative * (1 + alpha * std::abs(g)) * std::abs(silu * u);
  return {silu * u, bound};
}

struct KvView {
  const KernelSpec &spec;
  const AttentionArgs &args;

  const uint8_t *block(int64_t position) const {
    return args.kvBase + args.blockTable[position / spec.blockTokens] * args.blockBytes;
  }
  bool bf16Dots() const { return spec.inputs == InputFormat::BF16; }
  bool byGroups() const { return spec.order == Bf16Order::Groups; }
  /// With one maximum.
  int64_t keysTogether() const { return byGroups() ? 32 : 16; }
  float key(int64_t position, unsigned d) const {
    return static_cast<float>(elementValue(spec.kv, block(position) + args.keyOffset,
                                           keyElement(spec, position % spec.blockTokens, d)));
  }
  float value(int64_t position, unsigned d) const {
    return static_cast<float>(elementValue(spec.kv, block(position) + args.valueOffset,
                                           valueElement(spec, position % spec.blockTokens, d)));
  }
  float q(unsigned h, unsigned d) const {
    const float x = args.q[h * spec.headDim + d];
    return bf16Dots() ? nearestBf16(x) : x;
  }
  /// sum + both of a pair, in the order of the dots; a f32 cache has no pairs: any order is one.
  float addPair(float sum, std::array<float, 2> x, std::array<float, 2> y) const {
    const size_t first = bf16Dots() ? 1 : 0;
    sum = std::fma(x[first], y[first], sum);
    return std::fma(x[1 - first], y[1 - first], sum);
  }
  /// total + a group of 32: even and odd ones by themselves, then both. x(i) * y(i).
  static float addGroup(float total, const auto &x, const auto &y) {
    float even = 0, odd = 0;
    for (unsigned i = 0; i < 32; i += 2) {
      even = std::fma(x(i), y(i), even);
      odd = std::fma(x(i + 1), y(i + 1), odd);
    }
    const float both = even + odd;
    return total + both;
  }
  float score(unsigned h, int64_t position) const {
    float z = 0;
    if (byGroups()) {
      for (unsigned d = 0; d < spec.headDim; d += 32)
        z = addGroup(
            z, [&](unsigned i) { return key(position, d + i); },
            [&](unsigned i) { return q(h, d + i); });
      return z * args.scale;
    }
    for (unsigned d = 0; d < spec.headDim; d += 2)
      z = addPair(z, {key(position, d), key(position, d + 1)}, {q(h, d), q(h, d + 1)});
    return z * args.scale;
  }
  /// acc + the keys of a tile: those in range, and 0 for the other half of a pair.
  float weighted(float acc, const std::vector<float> &p, int64_t tile, unsigned d) const {
    const auto inRange = [&](int64_t key) {
      return tile + key >= args.firstKey && tile + key <= args.lastKey;
    };
    const auto valueAt = [&](int64_t key) { return inRange(key) ? value(tile + key, d) : 0.0f; };
    if (byGroups())
      return addGroup(acc, valueAt, [&](unsigned i) { return p[i]; });
    for (int64_t j = 0; j < 16; j += 2) {
      const size_t even = static_cast<size_t>(j);
      if (spec.kv == WeightFormat::F32) {
        for (int64_t key : {j, j + 1})
          if (inRange(key))
            acc = std::fma(valueAt(key), p[static_cast<size_t>(key)], acc);
      } else if (inRange(j) || inRange(j + 1)) {
        acc = addPair(acc, {valueAt(j), valueAt(j + 1)}, {p[even], p[even + 1]});
      }
    }
    return acc;
  }
};

float foldedSum(std::vector<float> lanes) {
  for (size_t distance : {8, 4, 2, 1})
    for (size_t i = 0; i < distance; ++i)
      lanes[i] = lanes[i] + lanes[i + distance];
  return lanes[0];
}

/// What a chunk of keys leaves, or several together.
struct HeadState {
  float m = -1e30f, sum = 0;
  std::vector<float> acc;
};

[[gnu::noipa]] HeadState orderedChunk(const KvView &kv, unsigned h, int64_t firstKey,
                                      int64_t lastKey) {
  const KernelSpec &spec = kv.spec;
  HeadState state;
  std::vector<float> sums(16, 0.0f);
  state.acc.assign(spec.headDim, 0.0f);
  const int64_t together = kv.keysTogether();
  for (int64_t tile = firstKey / together * together; tile <= lastKey; tile += together) {
    std::vector<float> p(static_cast<size_t>(together), -INFINITY);
    float newM = state.m;
    for (int64_t j = 0; j < together; ++j)
      if (tile + j >= firstKey && tile + j <= lastKey) {
        p[static_cast<size_t>(j)] = kv.score(h, tile + j);
        newM = std::max(newM, p[static_cast<size_t>(j)]);
      }
    const float alpha = orderedExp(state.m - newM);
    for (size_t j = 0; j < p.size(); ++j) {
      p[j] = orderedExp(p[j] - newM);
      if (kv.bf16Dots())
        p[j] = nearestBf16(p[j]);
      sums[j % 16] = std::fma(sums[j % 16], j < 16 ? alpha : 1.0f, p[j]);
    }
    state.m = newM;
    for (unsigned d = 0; d < spec.headDim; ++d)
      state.acc[d] = kv.weighted(state.acc[d] * alpha, p, tile, d);
  }
  state.sum = foldedSum(sums);
  return state;
}

[[gnu::noipa]] void joinChunk(HeadState &total, const HeadState &chunk) {
  const float m = std::max(total.m, chunk.m);
  const float b = orderedExp(total.m - m), g = orderedExp(chunk.m - m);
  const float scaled = chunk.sum * g;
  total.sum = std::fma(total.sum, b, scaled);
  total.m = m;
  for (size_t d = 0; d < total.acc.size(); ++d) {
    const float before = total.acc[d] * b;
    total.acc[d] = std::fma(chunk.acc[d], g, before);
  }
}

[[gnu::noipa]] float orderedOutputFactor(const HeadState &total, float sink) {
  const float m = std::max(total.m, sink);
  const float b = orderedExp(total.m - m);
  return b / std::fma(total.sum, b, orderedExp(sink - m));
}

[[gnu::noipa]] void orderedHead(const KvView &kv, unsigned h, float *out) {
  const auto lastOfChunk = [&](int64_t key) { return std::min(key | 1023, kv.args.lastKey); };
  int64_t key = kv.args.firstKey;
  HeadState total = orderedChunk(kv, h, key, lastOfChunk(key));
  while ((key = lastOfChunk(key) + 1) <= kv.args.lastKey)
    joinChunk(total, orderedChunk(kv, h, key, lastOfChunk(key)));
  const float r = kv.spec.sinks ? orderedOutputFactor(total, kv.args.sinks[h]) : 1.0f / total.sum;
  for (unsigned d = 0; d < kv.spec.headDim; ++d)
    out[d] = total.acc[d] * r;
}

void exactHead(const KvView &kv, unsigned h, double *out) {
  const KernelSpec &spec = kv.spec;
  double m = spec.sinks ? static_cast<double>(kv.args.sinks[h]) : -INFINITY;
  std::vector<double> z;
  for (int64_t j = kv.args.firstKey; j <= kv.args.lastKey; ++j) {
    double dot = 0;
    for (unsigned d = 0; d < spec.headDim; ++d)
      dot += static_cast<double>(kv.key(j, d)) * kv.q(h, d);
    z.push_back(dot * kv.args.scale);
    m = std::max(m, z.back());
  }
  double sum = spec.sinks ? std::exp(kv.args.sinks[h] - m) : 0;
  std::fill(out, out + spec.headDim, 0.0);
  for (size_t i = 0; i < z.size(); ++i) {
    const double p = std::exp(z[i] - m);
    sum += p;
    for (unsigned d = 0; d < spec.headDim; ++d)
      out[d] += p * kv.value(kv.args.firstKey + static_cast<int64_t>(i), d);
  }
  for (unsigned d = 0; d < spec.headDim; ++d)
    out[d] /= sum;
}

} // namespace

int64_t keyElement(const KernelSpec &spec, int64_t inBlock, unsigned d) {
  const unsigned together = spec.kv == WeightFormat::BF16 ? 2 : 1;
  const int64_t line = inBlock / 16 * (spec.headDim / together) + d / together;
  return (line * 16 + inBlock % 16) * together + d % together;
}

int64_t valueElement(const KernelSpec &spec, int64_t inBlock, unsigned d) {
  const unsigned together = spec.kv == WeightFormat::BF16 ? 2 : 1;
  return (inBlock / together * spec.headDim + d) * together + inBlock % together;
}

float nearestBf16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x))
    return std::bit_cast<float>(0x7FC00000u);
  if ((bits & 0x7F800000u) == 0) // a denormal counts as 0
    bits &= 0x80000000u;
  bits += 0x7FFF + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xFFFF0000u);
}

float orderedExp(float x) {
  if (x < exppoly::minInput)
    return 0;
  const float clamped = std::min(x, exppoly::maxInput);
  const float n = std::nearbyint(clamped * exppoly::log2e);
  float r = std::fma(n, -exppoly::ln2Hi, clamped);
  r = std::fma(n, -exppoly::ln2Lo, r);
  float p = exppoly::coefficients[0];
  for (size_t i = 1; i < exppoly::coefficients.size(); ++i)
    p = std::fma(p, r, exppoly::coefficients[i]);
  return std::bit_cast<float>(std::bit_cast<int32_t>(p) + static_cast<int32_t>(n) * (1 << 23));
}

float orderedLinear(const KernelSpec &spec, const LinearArgs &args, int64_t r, int64_t p,
                    unsigned n) {
  float v = 0;
  if (spec.activation == Activation::None) {
    v = orderedPanel(spec, args, r, p, n);
  } else {
    float gate = orderedPanel(spec, args, r, 2 * p, n);
    float up = orderedPanel(spec, args, r, 2 * p + 1, n);
    if (spec.activation == Activation::SwigluClamped) {
      gate = std::min(gate, args.swigluLimit);
      up = std::max(std::min(up, args.swigluLimit), -args.swigluLimit);
      v = ((up + 1.0f) * gate) * orderedSigmoid(args.swigluAlpha * gate);
    } else {
      v = (gate * orderedSigmoid(gate)) * up;
    }
  }
  return spec.residual ? v + args.residual[r][p * 16 + n] : v;
}

Exact exactLinear(const KernelSpec &spec, const LinearArgs &args, int64_t r, int64_t p,
                  unsigned n) {
  Exact v = spec.activation == Activation::None
                ? exactPanel(spec, args, r, p, n)
                : exactActivation(spec, args, exactPanel(spec, args, r, 2 * p, n),
                                  exactPanel(spec, args, r, 2 * p + 1, n));
  if (spec.residual) {
    const double residual = args.residual[r][p * 16 + n];
    v.value += residual;
    v.bound += roundoff * (std::abs(residual) + std::abs(v.value));
  }
  v.bound += 0x1p-149; // one denormal
  return v;
}

std::vector<float> orderedAttention(const KernelSpec &spec, const AttentionArgs &args) {
  std::vector<float> out(size_t{spec.group} * spec.headDim);
  std::optional<ZeroDenormals> zeroed;
  if (spec.inputs == InputFormat::BF16)
    zeroed.emplace();
  for (unsigned h = 0; h < spec.group; ++h)
    orderedHead({spec, args}, h, out.data() + h * spec.headDim);
  return out;
}

std::vector<double> exactAttention(const KernelSpec &spec, const AttentionArgs &args) {
  std::vector<double> out(size_t{spec.group} * spec.headDim);
  for (unsigned h = 0; h < spec.group; ++h)
    exactHead({spec, args}, h, out.data() + h * spec.headDim);
  return out;
}

} // namespace inf::test
