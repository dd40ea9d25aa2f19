// What each op computes, written from InfOps.td as plainly as it can be.
#include "ir/reference/Evaluate.h"

#include <algorithm>
#include <cmath>

#include "ir/dialect/RopeFrequencies.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace inf::ir {
namespace {

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
    context.reader.readRows(weight, expert, first, count, out.data());
    return out;
  }
  std::vector<float> vector(Value value, int64_t expert = 0) {
    return rows(value, expert, 0, cast<WeightType>(value.getType()).getRows());
  }

private:
  EvaluationContext &context;
};

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

ReferenceTensor attend(EvaluationContext &context, AttentionOp op) {
  const ReferenceTensor &q = context.at(op.getQ());
  auto group = context.model.lookupSymbol<KvGroupOp>(op.getGroupAttr());
  std::vector<float> sinks;
  if (op.getSinks())
    sinks = Weights(context).vector(op.getSinks());
  int64_t window = group.getWindow(), headDim = op.getHeadDim();
  int64_t queriesPerKv = op.getHeads() / op.getKvHeads();
  ReferenceTensor out = ReferenceTensor::zeros(q.rows, q.width);
  for (int64_t r = 0; r < q.rows; ++r)
    for (int64_t head = 0; head < int64_t(op.getHeads()); ++head)
      attendHead(
          context.cache, q.row(r) + head * headDim, sinks.empty() ? nullptr : &sinks[size_t(head)],
          window ? std::max<int64_t>(0, r - window + 1) : 0, r, head / queriesPerKv, headDim,
          float(op.getScale().convertToDouble()), op.roundsToBf16(), out.row(r) + head * headDim);
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

ReferenceTensor linear(EvaluationContext &context, LinearOp op) {
  Weights weights(context);
  ReferenceTensor x = context.at(op.getX());
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
    addTensor(z, context.at(op.getAddend()));
  if (op.getBias())
    addVector(z, weights.vector(op.getBias()));
  if (op.getActivation())
    z = gated(z, *op.getActivation());
  if (op.getResidual())
    addTensor(z, context.at(op.getResidual()));
  return z;
}

ReferenceTensor qkv(EvaluationContext &context, QkvOp op) {
  Weights weights(context);
  ReferenceTensor x = context.at(op.getX());
  if (op.getNorm())
    x = rmsNorm(x, weights.vector(op.getNorm()), op.getEps()->convertToDouble());
  ReferenceTensor z = multiply(weights, x, op.getWeight(), 0);
  if (op.getBias())
    addVector(z, weights.vector(op.getBias()));
  int64_t headDim = op.getHeadDim(), q = op.getHeads() * headDim, kv = op.getKvHeads() * headDim;
  auto turned = [&](int64_t begin, int64_t heads, Value norm) {
    ReferenceTensor part = slice(z, begin, heads * headDim);
    if (norm)
      part = rmsNorm(part, weights.vector(norm), op.getHeadEps()->convertToDouble(), heads);
    return rotate(context, part, op.getTableAttr(), heads, headDim);
  };
  append(context, turned(q, op.getKvHeads(), op.getKNorm()), slice(z, q + kv, kv),
         op.getGroupAttr());
  return turned(0, op.getHeads(), op.getQNorm());
}

void evaluateRouter(EvaluationContext &context, RouterOp op) {
  Weights weights(context);
  ReferenceTensor normed =
      rmsNorm(context.at(op.getX()), weights.vector(op.getNorm()), op.getEps().convertToDouble());
  ReferenceTensor logits = multiply(weights, normed, op.getWeight(), 0);
  if (op.getBias())
    addVector(logits, weights.vector(op.getBias()));
  TopK top = topK(logits, op.getK(), op.getOverAll());
  context.set(op.getNormed(), std::move(normed));
  context.set(op.getExperts(), std::move(top.experts));
  context.set(op.getWeights(), std::move(top.weights));
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
  const ReferenceTensor &experts = context.at(op.getExperts());
  const ReferenceTensor &shares = context.at(op.getWeights());
  ReferenceTensor up = expertUp(weights, context.at(op.getX()), experts, shares.width,
                                op.getGateUp(), op.getGateUpBias(), op.getActivationAttr());
  return weightedSum(expertDown(weights, up, experts, shares.width, op.getDown(), op.getDownBias()),
                     shares, nullptr);
}

ReferenceTensor outputRows(EvaluationContext &context, OutputRowsOp op) {
  const ReferenceTensor &x = context.at(op.getX());
  ReferenceTensor out = ReferenceTensor::zeros(int64_t(context.outputs.size()), x.width);
  for (int64_t r = 0; r < out.rows; ++r)
    std::copy_n(x.row(context.outputs[size_t(r)]), x.width, out.row(r));
  return out;
}

} // namespace

void evaluate(EvaluationContext &context, Operation *op) {
  auto at = [&](Value value) -> const ReferenceTensor & { return context.at(value); };
  auto set = [&](Value value, ReferenceTensor tensor) { context.set(value, std::move(tensor)); };
  Weights weights(context);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](UseOp) {})
      .Case([&](EmbeddingOp o) { set(o.getResult(), embed(context, o)); })
      .Case([&](RmsNormOp o) {
        set(o.getResult(), rmsNorm(at(o.getX()), weights.vector(o.getWeight()),
                                   o.getEps().convertToDouble(), int64_t(o.getHeads())));
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
        TopK top = topK(at(o.getLogits()), o.getK(), o.getOverAll());
        set(o.getExperts(), std::move(top.experts));
        set(o.getWeights(), std::move(top.weights));
      })
      .Case([&](MoeOp o) { set(o.getResult(), moe(context, o)); })
      .Case([&](SwigluOp o) { set(o.getResult(), gated(at(o.getX()), o.getActivationAttr())); })
      .Case([&](QuantizeActivationOp o) { set(o.getResult(), at(o.getX())); })
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
  for (Value result : op->getResults()) {
    if (isQ8(result))
      set(result, quantizeDequantize(at(result), q8Block, isMxint8(result)));
    if (isBf16(result))
      set(result, roundedToBf16(at(result)));
  }
}

} // namespace inf::ir
