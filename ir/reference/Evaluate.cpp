// What each op computes, written from InfOps.td as plainly as it can be. Sums run in double where
// they are short, and in eight interleaved floats where they are the cost of the whole (dot
// products): the order is no model of any kernel's.
#include "ir/reference/Evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ir/dialect/RopeFrequencies.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace inf::ir {
namespace {

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

float roundToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if (std::isfinite(x))
    bits += 0x7fff + (bits >> 16 & 1);
  bits &= 0xffff0000;
  std::memcpy(&x, &bits, 4);
  return x;
}

float roundToF16(float x) {
  bool loses = false;
  llvm::APFloat value(x);
  value.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &loses);
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return value.convertToFloat();
}

/// Reading weights of the running op.
class Weights {
public:
  explicit Weights(EvaluationContext &evaluation) : context(evaluation) {}

  WeightOp declared(Value value) {
    if (auto use = value.getDefiningOp<UseOp>())
      return context.model.lookupSymbol<WeightOp>(use.getWeightAttr());
    return context.weights.at(value);
  }
  /// Rows as the compiled model holds them.
  std::vector<float> rows(Value value, int64_t expert, int64_t first, int64_t count) {
    WeightOp weight = declared(value);
    std::vector<float> out(size_t(count * weight.getType().getColumns()));
    context.reader.readRows(weight.getSymName().str(), expert, first, count, out.data());
    if (weight.getFormat() != weight.storedFormat()) { // else they have been through it
      if (weight.getFormat() == Format::BF16)
        std::transform(out.begin(), out.end(), out.begin(), roundToBf16);
      if (weight.getFormat() == Format::F16)
        std::transform(out.begin(), out.end(), out.begin(), roundToF16);
    }
    return out;
  }
  std::vector<float> vector(Value value, int64_t expert = 0) {
    return rows(value, expert, 0, cast<WeightType>(value.getType()).getRows());
  }

private:
  EvaluationContext &context;
};

ReferenceTensor rmsNorm(const ReferenceTensor &x, const std::vector<float> &weight, double eps) {
  ReferenceTensor out = ReferenceTensor::zeros(x.rows, x.width);
  for (int64_t r = 0; r < x.rows; ++r) {
    double squares = 0;
    for (int64_t i = 0; i < x.width; ++i)
      squares += double(x.row(r)[i]) * x.row(r)[i];
    float scale = float(1 / std::sqrt(squares / double(x.width) + eps));
    for (int64_t i = 0; i < x.width; ++i)
      out.row(r)[i] = weight[size_t(i)] * (x.row(r)[i] * scale);
  }
  return out;
}

/// x . weight[expert]^T, the weight read in strips so that it is never held whole.
ReferenceTensor multiply(Weights &weights, const ReferenceTensor &x, Value weight, int64_t expert) {
  auto type = cast<WeightType>(weight.getType());
  ReferenceTensor out = ReferenceTensor::zeros(x.rows, type.getRows());
  constexpr int64_t strip = 64;
  for (int64_t first = 0; first < type.getRows(); first += strip) {
    int64_t count = std::min(strip, type.getRows() - first);
    std::vector<float> rows = weights.rows(weight, expert, first, count);
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t n = 0; n < count; ++n)
        out.row(r)[first + n] = dot(x.row(r), rows.data() + n * x.width, x.width);
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

/// Row r is at position r.
ReferenceTensor rotate(EvaluationContext &context, const ReferenceTensor &x,
                       FlatSymbolRefAttr table, int64_t heads, int64_t headDim) {
  auto frequencies = ropeFrequencies(context.model.lookupSymbol<RopeTableOp>(table));
  ReferenceTensor out = ReferenceTensor::zeros(x.rows, x.width);
  int64_t half = headDim / 2;
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t j = 0; j < half; ++j) {
        double angle = double(r) * frequencies.inverse[size_t(j)];
        float cos = float(std::cos(angle) * frequencies.attentionFactor);
        float sin = float(std::sin(angle) * frequencies.attentionFactor);
        float a = x.row(r)[head * headDim + j], b = x.row(r)[head * headDim + half + j];
        out.row(r)[head * headDim + j] = a * cos - b * sin;
        out.row(r)[head * headDim + half + j] = b * cos + a * sin;
      }
  return out;
}

void append(EvaluationContext &context, const ReferenceTensor &k, const ReferenceTensor &v,
            FlatSymbolRefAttr groupName) {
  auto group = context.model.lookupSymbol<KvGroupOp>(groupName);
  context.cache = {k, v};
  if (group.getElement() == "bf16")
    for (auto *stored : {&context.cache.keys, &context.cache.values})
      std::transform(stored->values.begin(), stored->values.end(), stored->values.begin(),
                     roundToBf16);
}

/// One row and head: softmax over the keys it sees, the sink in the denominator.
void attendHead(const ReferenceCache &cache, const float *q, const float *sink, int64_t first,
                int64_t last, int64_t kvHead, int64_t headDim, float scale, float *out) {
  std::vector<float> logits;
  float highest = sink ? *sink : -INFINITY;
  for (int64_t key = first; key <= last; ++key) {
    logits.push_back(scale * dot(q, cache.keys.row(key) + kvHead * headDim, headDim));
    highest = std::max(highest, logits.back());
  }
  double sum = sink ? std::exp(double(*sink) - highest) : 0;
  for (float &logit : logits) {
    logit = std::exp(logit - highest);
    sum += logit;
  }
  std::vector<float> total(size_t(headDim), 0.0f);
  for (int64_t key = first; key <= last; ++key)
    for (int64_t d = 0; d < headDim; ++d)
      total[size_t(d)] += logits[size_t(key - first)] * cache.values.row(key)[kvHead * headDim + d];
  for (int64_t d = 0; d < headDim; ++d)
    out[d] = float(total[size_t(d)] / sum);
}

ReferenceTensor attend(EvaluationContext &context, AttentionOp op) {
  const ReferenceTensor &q = context.values.at(op.getQ());
  auto group = context.model.lookupSymbol<KvGroupOp>(op.getGroupAttr());
  std::vector<float> sinks;
  if (op.getSinks())
    sinks = Weights(context).vector(op.getSinks());
  int64_t window = group.getWindow(), headDim = op.getHeadDim();
  int64_t queriesPerKv = op.getHeads() / op.getKvHeads();
  ReferenceTensor out = ReferenceTensor::zeros(q.rows, q.width);
  for (int64_t r = 0; r < q.rows; ++r)
    for (int64_t head = 0; head < int64_t(op.getHeads()); ++head)
      attendHead(context.cache, q.row(r) + head * headDim,
                 sinks.empty() ? nullptr : &sinks[size_t(head)],
                 window ? std::max<int64_t>(0, r - window + 1) : 0, r, head / queriesPerKv, headDim,
                 float(op.getScale().convertToDouble()), out.row(r) + head * headDim);
  return out;
}

struct TopK {
  ReferenceTensor experts, weights;
};

TopK topK(const ReferenceTensor &logits, int64_t k) {
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
    for (int64_t i = 0; i < k; ++i)
      out.weights.row(r)[i] = float(out.weights.row(r)[i] / sum);
  }
  return out;
}

/// Rows of `x` that chose each expert, multiplied by its weight: [rows][k * outputs].
/// `input(r, i)` is the vector of row r's i-th choice.
template <typename Input>
ReferenceTensor multiplyChosen(Weights &weights, const ReferenceTensor &experts, int64_t k,
                               Value weight, Value bias, int64_t width, Input input) {
  auto type = cast<WeightType>(weight.getType());
  ReferenceTensor out = ReferenceTensor::zeros(experts.rows, k * type.getRows());
  for (int64_t expert = 0; expert < type.getExperts(); ++expert) {
    std::vector<std::pair<int64_t, int64_t>> chosen;
    for (int64_t r = 0; r < experts.rows; ++r)
      for (int64_t i = 0; i < k; ++i)
        if (experts.indices[size_t(r * k + i)] == expert)
          chosen.emplace_back(r, i);
    if (chosen.empty())
      continue;
    ReferenceTensor x = ReferenceTensor::zeros(int64_t(chosen.size()), width);
    for (size_t n = 0; n < chosen.size(); ++n)
      std::copy_n(input(chosen[n].first, chosen[n].second), width, x.row(int64_t(n)));
    ReferenceTensor y = multiply(weights, x, weight, expert);
    if (bias)
      addVector(y, weights.vector(bias, expert));
    for (size_t n = 0; n < chosen.size(); ++n)
      std::copy_n(y.row(int64_t(n)), y.width,
                  out.row(chosen[n].first) + chosen[n].second * y.width);
  }
  return out;
}

ReferenceTensor expertUp(Weights &weights, const ReferenceTensor &x, const ReferenceTensor &experts,
                         int64_t k, Value weight, Value bias, ActivationAttr activation) {
  ReferenceTensor z = multiplyChosen(weights, experts, k, weight, bias, x.width,
                                     [&](int64_t r, int64_t) { return x.row(r); });
  int64_t width = z.width / k;
  ReferenceTensor out = ReferenceTensor::zeros(x.rows, z.width / 2);
  for (int64_t i = 0; i < k; ++i) {
    ReferenceTensor part = gated(slice(z, i * width, width), activation);
    for (int64_t r = 0; r < x.rows; ++r)
      std::copy_n(part.row(r), part.width, out.row(r) + i * part.width);
  }
  return out;
}

ReferenceTensor expertDown(Weights &weights, const ReferenceTensor &x,
                           const ReferenceTensor &experts, int64_t k, Value weight, Value bias) {
  int64_t width = x.width / k;
  return multiplyChosen(weights, experts, k, weight, bias, width,
                        [&](int64_t r, int64_t i) { return x.row(r) + i * width; });
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

ReferenceTensor quantizeDequantize(const ReferenceTensor &x, int64_t block) {
  ReferenceTensor out = x;
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t begin = 0; begin < x.width; begin += block) {
      float highest = 0;
      for (int64_t i = begin; i < begin + block; ++i)
        highest = std::max(highest, std::abs(x.row(r)[i]));
      float scale = highest / 127;
      for (int64_t i = begin; i < begin + block && scale > 0; ++i)
        out.row(r)[i] = std::clamp(std::nearbyint(x.row(r)[i] / scale), -127.0f, 127.0f) * scale;
    }
  return out;
}

ReferenceTensor linear(EvaluationContext &context, LinearOp op) {
  Weights weights(context);
  ReferenceTensor x = context.values.at(op.getX());
  if (op.getNorm())
    x = rmsNorm(x, weights.vector(op.getNorm()), op.getEps()->convertToDouble());
  ReferenceTensor z = multiply(weights, x, op.getWeight(), 0);
  if (op.getScale()) {
    std::vector<float> scale = weights.vector(op.getScale());
    for (int64_t r = 0; r < z.rows; ++r)
      for (int64_t i = 0; i < z.width; ++i)
        z.row(r)[i] *= scale[size_t(i)];
  }
  if (op.getAddend())
    addTensor(z, context.values.at(op.getAddend()));
  if (op.getBias())
    addVector(z, weights.vector(op.getBias()));
  if (op.getActivation())
    z = gated(z, *op.getActivation());
  if (op.getResidual())
    addTensor(z, context.values.at(op.getResidual()));
  return z;
}

ReferenceTensor qkv(EvaluationContext &context, QkvOp op) {
  Weights weights(context);
  ReferenceTensor x = context.values.at(op.getX());
  if (op.getNorm())
    x = rmsNorm(x, weights.vector(op.getNorm()), op.getEps()->convertToDouble());
  ReferenceTensor z = multiply(weights, x, op.getWeight(), 0);
  if (op.getBias())
    addVector(z, weights.vector(op.getBias()));
  int64_t headDim = op.getHeadDim(), q = op.getHeads() * headDim, kv = op.getKvHeads() * headDim;
  ReferenceTensor k = rotate(context, slice(z, q, kv), op.getTableAttr(), op.getKvHeads(), headDim);
  append(context, k, slice(z, q + kv, kv), op.getGroupAttr());
  return rotate(context, slice(z, 0, q), op.getTableAttr(), op.getHeads(), headDim);
}

void evaluateRouter(EvaluationContext &context, RouterOp op) {
  Weights weights(context);
  ReferenceTensor normed = rmsNorm(context.values.at(op.getX()), weights.vector(op.getNorm()),
                                   op.getEps().convertToDouble());
  ReferenceTensor logits = multiply(weights, normed, op.getWeight(), 0);
  if (op.getBias())
    addVector(logits, weights.vector(op.getBias()));
  TopK top = topK(logits, op.getK());
  context.values[op.getNormed()] = std::move(normed);
  context.values[op.getExperts()] = std::move(top.experts);
  context.values[op.getWeights()] = std::move(top.weights);
}

ReferenceTensor embed(EvaluationContext &context, EmbeddingOp op) {
  Weights weights(context);
  ReferenceTensor out =
      ReferenceTensor::zeros(int64_t(context.tokens.size()), featuresOf(op.getResult()));
  for (int64_t r = 0; r < out.rows; ++r) {
    std::vector<float> row = weights.rows(op.getWeight(), 0, context.tokens[size_t(r)], 1);
    std::copy(row.begin(), row.end(), out.row(r));
  }
  return out;
}

ReferenceTensor moe(EvaluationContext &context, MoeOp op) {
  Weights weights(context);
  const ReferenceTensor &experts = context.values.at(op.getExperts());
  const ReferenceTensor &shares = context.values.at(op.getWeights());
  ReferenceTensor up = expertUp(weights, context.values.at(op.getX()), experts, shares.width,
                                op.getGateUp(), op.getGateUpBias(), op.getActivationAttr());
  return weightedSum(expertDown(weights, up, experts, shares.width, op.getDown(), op.getDownBias()),
                     shares, nullptr);
}

ReferenceTensor outputRows(EvaluationContext &context, OutputRowsOp op) {
  const ReferenceTensor &x = context.values.at(op.getX());
  ReferenceTensor out = ReferenceTensor::zeros(int64_t(context.outputs.size()), x.width);
  for (int64_t r = 0; r < out.rows; ++r)
    std::copy_n(x.row(context.outputs[size_t(r)]), x.width, out.row(r));
  return out;
}

} // namespace

void evaluate(EvaluationContext &context, Operation *op) {
  auto at = [&](Value value) -> const ReferenceTensor & { return context.values.at(value); };
  auto set = [&](Value value, ReferenceTensor tensor) {
    context.values[value] = std::move(tensor);
  };
  Weights weights(context);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](UseOp) {})
      .Case([&](EmbeddingOp o) { set(o.getResult(), embed(context, o)); })
      .Case([&](RmsNormOp o) {
        set(o.getResult(),
            rmsNorm(at(o.getX()), weights.vector(o.getWeight()), o.getEps().convertToDouble()));
      })
      .Case([&](LinearOp o) { set(o.getResult(), linear(context, o)); })
      .Case([&](SliceOp o) {
        set(o.getResult(), slice(at(o.getX()), int64_t(o.getBegin()), featuresOf(o.getResult())));
      })
      .Case([&](RopeOp o) {
        set(o.getResult(),
            rotate(context, at(o.getX()), o.getTableAttr(), o.getHeads(), o.getHeadDim()));
      })
      .Case([&](KvAppendOp o) { append(context, at(o.getK()), at(o.getV()), o.getGroupAttr()); })
      .Case([&](AttentionOp o) { set(o.getResult(), attend(context, o)); })
      .Case([&](RouterTopKOp o) {
        TopK top = topK(at(o.getLogits()), o.getK());
        set(o.getExperts(), std::move(top.experts));
        set(o.getWeights(), std::move(top.weights));
      })
      .Case([&](MoeOp o) { set(o.getResult(), moe(context, o)); })
      .Case([&](SwigluOp o) { set(o.getResult(), gated(at(o.getX()), o.getActivationAttr())); })
      .Case([&](QuantizeActivationOp o) {
        set(o.getResult(), quantizeDequantize(at(o.getX()), o.getBlock()));
      })
      .Case([&](AddOp o) {
        ReferenceTensor sum = at(o.getLhs());
        addTensor(sum, at(o.getRhs()));
        set(o.getResult(), std::move(sum));
      })
      .Case([&](OutputRowsOp o) { set(o.getResult(), outputRows(context, o)); })
      .Case([&](LmHeadOp o) {
        set(o.getResult(), multiply(weights, at(o.getX()), o.getWeight(), 0));
      })
      .Case([&](QkvOp o) { set(o.getQ(), qkv(context, o)); })
      .Case([&](RouterOp o) { evaluateRouter(context, o); })
      .Case([&](ExpertUpOp o) {
        set(o.getResult(),
            expertUp(weights, at(o.getX()), at(o.getExperts()), featuresOf(o.getExperts()),
                     o.getWeight(), o.getBias(), o.getActivationAttr()));
      })
      .Case([&](ExpertDownOp o) {
        ReferenceTensor partials =
            expertDown(weights, at(o.getX()), at(o.getExperts()), featuresOf(o.getExperts()),
                       o.getWeight(), o.getBias());
        set(o.getResult(), weightedSum(partials, at(o.getWeights()),
                                       o.getResidual() ? &at(o.getResidual()) : nullptr));
        set(o.getPartials(), std::move(partials));
      })
      .Default([](Operation *other) {
        llvm::report_fatal_error(llvm::Twine("ir/reference has no meaning for ") +
                                 other->getName().getStringRef());
      });
}

} // namespace inf::ir
