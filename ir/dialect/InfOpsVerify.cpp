// Verifiers of the ops of blocks and steps. Each check carries the number that InfOps.td gives it;
// tests/ir/verify-*.mlir has a case per number.
#include "ir/dialect/InfDialect.h"
#include "ir/dialect/Lookup.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace inf::ir {

namespace {

/// `weight` has exactly this shape.
LogicalResult expectWeight(Operation *op, Value weight, ArrayRef<int64_t> shape, const char *rule,
                           StringRef what) {
  auto type = cast<WeightType>(weight.getType());
  if (type.getShape() == shape)
    return success();
  return op->emitOpError() << "(" << rule << ") expected " << what << " of shape [" << shape
                           << "], found [" << type.getShape() << "]";
}

LogicalResult expectFeatures(Operation *op, Value value, int64_t features, const char *rule,
                             StringRef what) {
  if (featuresOf(value) == features)
    return success();
  return op->emitOpError() << "(" << rule << ") expected " << what << " with " << features
                           << " features, found " << featuresOf(value);
}

/// By division: a product of hostile numbers may wrap around to the right one.
LogicalResult expectHeads(Operation *op, Value value, int64_t heads, int64_t headDim,
                          const char *rule, StringRef what) {
  int64_t features = featuresOf(value);
  if (headDim > 0 && features % headDim == 0 && features / headDim == heads)
    return success();
  return op->emitOpError() << "(" << rule << ") expected " << what << " with " << heads
                           << " heads of " << headDim << " features, found " << features;
}

LogicalResult expectType(Operation *op, Value value, Type type, const char *rule, StringRef what) {
  if (value.getType() == type)
    return success();
  return op->emitOpError() << "(" << rule << ") expected " << what << " of type " << type
                           << ", found " << value.getType();
}

/// `value` has this type or a rounded form of it.
LogicalResult expectTypeOrRounded(Operation *op, Value value, RankedTensorType type,
                                  const char *rule, StringRef what) {
  bool fits = (isRounded(value) ? typeInFormOf(type, value) : type) == value.getType();
  return fits ? success() : expectType(op, value, type, rule, what);
}

/// The norm prologue: a vector of x's features, together with eps.
LogicalResult verifyNorm(Operation *op, Value x, Value norm, std::optional<APFloat> eps,
                         const char *rule) {
  if (!norm != !eps)
    return op->emitOpError() << "(" << rule << ") expected norm and eps together";
  if (!norm)
    return success();
  if (isRounded(x))
    return op->emitOpError() << "(" << rule << ") expected x in f32 with a norm, found "
                             << x.getType();
  if (!(eps->convertToDouble() > 0))
    return op->emitOpError() << "(" << rule << ") expected eps > 0, found "
                             << eps->convertToDouble();
  return expectWeight(op, norm, {featuresOf(x)}, rule, "norm");
}

Type indexType(MLIRContext *context, int64_t k) {
  return RankedTensorType::get({ShapedType::kDynamic, k}, IntegerType::get(context, 32));
}

RankedTensorType pairType(MLIRContext *context, int64_t k, int64_t features) {
  return RankedTensorType::get({ShapedType::kDynamic, k, features}, Float32Type::get(context));
}

int64_t outputsAfter(std::optional<ActivationAttr> activation, int64_t rows) {
  return activation ? rows / 2 : rows;
}

/// `experts` are some router's choice among `count` experts: nothing else keeps an index inside the
/// weights.
LogicalResult verifyChosen(Operation *op, Value experts, int64_t count, const char *rule) {
  int64_t among = 0;
  if (auto top = experts.getDefiningOp<RouterTopKOp>())
    among = featuresOf(top.getLogits());
  else if (auto router = experts.getDefiningOp<RouterOp>())
    among = router.getWeight().getType().getRows();
  if (!among)
    return op->emitOpError() << "(" << rule << ") expected the experts of a router";
  if (among != count)
    return op->emitOpError() << "(" << rule << ") expected experts of a router over " << count
                             << ", found " << among;
  return success();
}

LogicalResult verifyTable(Operation *op, SymbolTableCollection &tables, FlatSymbolRefAttr name,
                          int64_t headDim, const char *rule) {
  auto table = lookup<RopeTableOp>(op, tables, name, rule);
  if (failed(table))
    return failure();
  if (int64_t(table->getHeadDim()) != headDim)
    return op->emitOpError() << "(" << rule << ") expected a rope_table with head_dim " << headDim
                             << ", found " << table->getHeadDim();
  return success();
}

LogicalResult verifyGroup(Operation *op, SymbolTableCollection &tables, FlatSymbolRefAttr name,
                          int64_t kvHeads, int64_t headDim, const char *rule) {
  auto group = lookup<KvGroupOp>(op, tables, name, rule);
  if (failed(group))
    return failure();
  if (int64_t(group->getKvHeads()) != kvHeads || int64_t(group->getHeadDim()) != headDim)
    return op->emitOpError() << "(" << rule << ") expected a kv_group with kv_heads " << kvHeads
                             << " and head_dim " << headDim << ", found " << group->getKvHeads()
                             << " and " << group->getHeadDim();
  return success();
}

} // namespace

//===--------------------------------------------------------------------------------------------===//
// Ops of an imported model
//===--------------------------------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  auto type = getWeight().getType();
  if (type.getShape().size() != 2)
    return emitOpError() << "(C1) expected a matrix, found [" << type.getShape() << "]";
  if (failed(expectFeatures(*this, getResult(), type.getColumns(), "C1", "a result")))
    return failure();
  auto model = (*this)->getParentOfType<ModelOp>();
  if (model && type.getRows() < int64_t(model.getVocabulary()))
    return emitOpError() << "(C2) expected a row for each of " << model.getVocabulary()
                         << " tokens, found " << type.getRows();
  return success();
}

LogicalResult RmsNormOp::verify() {
  int64_t heads = getHeads(), features = featuresOf(getX());
  if (heads < 1)
    return emitOpError() << "(C4) expected heads >= 1, found " << heads;
  if (failed(heads == 1
                 ? expectTypeOrRounded(*this, getResult(), getX().getType(), "C2", "a result")
                 : expectType(*this, getResult(), getX().getType(), "C2", "a result of parts")))
    return failure();
  if (features % heads)
    return emitOpError() << "(C1) expected x to be " << heads << " equal parts, found " << features
                         << " features";
  if (failed(expectWeight(*this, getWeight(), {features / heads}, "C1", "weight")))
    return failure();
  if (!(getEps().convertToDouble() > 0))
    return emitOpError() << "(C3) expected eps > 0, found " << getEps().convertToDouble();
  return success();
}

LogicalResult LinearOp::verify() {
  auto type = getWeight().getType();
  if (type.getShape().size() != 2 || type.getColumns() != featuresOf(getX()))
    return emitOpError() << "(C1) expected a weight with " << featuresOf(getX())
                         << " columns, found [" << type.getShape() << "]";
  int64_t rows = type.getRows();
  if (getActivation() && rows % 2)
    return emitOpError() << "(C2) expected an even number of rows with an activation";
  if (failed(expectFeatures(*this, getResult(), outputsAfter(getActivation(), rows), "C2",
                            "a result")))
    return failure();
  if (getBias() && failed(expectWeight(*this, getBias(), {rows}, "C3", "bias")))
    return failure();
  if (getScale() && failed(expectWeight(*this, getScale(), {rows}, "C3", "scale")))
    return failure();
  if (getAddend() && failed(expectFeatures(*this, getAddend(), rows, "C3", "addend")))
    return failure();
  if (getResidual() &&
      failed(expectType(*this, getResidual(), getResult().getType(), "C4", "residual")))
    return failure();
  return verifyNorm(*this, getX(), getNorm(), getEps(), "C5");
}

LogicalResult SliceOp::verify() {
  int64_t begin = getBegin(), count = featuresOf(getResult()), features = featuresOf(getX());
  if (begin < 0 || begin > features - count)
    return emitOpError() << "(C1) expected a range inside " << features << " features, found "
                         << count << " from " << begin;
  return success();
}

LogicalResult RopeOp::verify() {
  if (getResult().getType() != getX().getType())
    return emitOpError() << "(C1) expected the result to have x's type";
  return expectHeads(*this, getX(), getHeads(), getHeadDim(), "C1", "x");
}
LogicalResult RopeOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyTable(*this, tables, getTableAttr(), getHeadDim(), "C2");
}

LogicalResult KvAppendOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto group = lookup<KvGroupOp>(*this, tables, getGroupAttr(), "C1");
  if (failed(group))
    return failure();
  int64_t features = group->getKvHeads() * group->getHeadDim();
  if (failed(expectFeatures(*this, getK(), features, "C1", "k")))
    return failure();
  return expectFeatures(*this, getV(), features, "C1", "v");
}

LogicalResult AttentionOp::verify() {
  if (failed(expectHeads(*this, getQ(), getHeads(), getHeadDim(), "C1", "q")) ||
      failed(expectHeads(*this, getResult(), getHeads(), getHeadDim(), "C1", "a result")))
    return failure();
  if (int64_t(getKvHeads()) <= 0 || getHeads() % getKvHeads())
    return emitOpError() << "(C2) expected heads to be a multiple of kv_heads, found " << getHeads()
                         << " and " << getKvHeads();
  if (getSinks() && failed(expectWeight(*this, getSinks(), {int64_t(getHeads())}, "C3", "sinks")))
    return failure();
  int64_t shared = getHeads() / getKvHeads() * getHeadDim();
  if (isQ8(getResult()) && shared % q8Block)
    return emitOpError() << "(C5) expected a multiple of 32 features that share a kv head for a q8 "
                            "result, found "
                         << shared;
  if (getDots() && *getDots() != "f32" && *getDots() != "bf16")
    return emitOpError() << "(C6) expected dots f32 or bf16, found " << *getDots();
  return success();
}
LogicalResult AttentionOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyGroup(*this, tables, getGroupAttr(), getKvHeads(), getHeadDim(), "C4")))
    return failure();
  auto group = lookup<KvGroupOp>(*this, tables, getGroupAttr(), "C4");
  if (roundsToBf16() && group->getElement() != "bf16")
    return emitOpError() << "(C6) expected dots f32 over a kv_group of " << group->getElement()
                         << ", found bf16";
  return success();
}

LogicalResult RouterTopKOp::verify() {
  int64_t k = getK(), experts = featuresOf(getLogits());
  if (k < 1 || k > experts)
    return emitOpError() << "(C1) expected 1 <= k <= " << experts << ", found " << k;
  if (failed(expectType(*this, getExperts(), indexType(getContext(), k), "C2", "experts")))
    return failure();
  return expectType(*this, getWeights(), activationType(getContext(), k), "C2", "weights");
}

LogicalResult MoeOp::verify() {
  int64_t h = featuresOf(getX());
  auto gateUp = getGateUp().getType(), down = getDown().getType();
  int64_t experts = down.getExperts(), i = down.getColumns();
  if (failed(expectWeight(*this, getDown(), {experts, h, i}, "C1", "down")) ||
      failed(expectWeight(*this, getGateUp(), {experts, 2 * i, h}, "C1", "gate_up")))
    return failure();
  if (getGateUpBias() &&
      failed(expectWeight(*this, getGateUpBias(), {gateUp.getExperts(), 2 * i, 1}, "C2",
                          "gate_up bias")))
    return failure();
  if (getDownBias() &&
      failed(expectWeight(*this, getDownBias(), {experts, h, 1}, "C2", "down bias")))
    return failure();
  if (failed(expectType(*this, getResult(), getX().getType(), "C3", "a result")))
    return failure();
  int64_t k = featuresOf(getExperts());
  if (failed(expectFeatures(*this, getWeights(), k, "C4", "weights")))
    return failure();
  return verifyChosen(*this, getExperts(), experts, "C4");
}

LogicalResult SwigluOp::verify() {
  return expectFeatures(*this, getX(), 2 * featuresOf(getResult()), "C1", "x");
}

LogicalResult QuantizeActivationOp::verify() {
  Type wanted = typeInFormOf(getX().getType(), getResult());
  return expectType(*this, getResult(), wanted, "C1", "a result");
}

LogicalResult LmHeadOp::verify() {
  return expectWeight(*this, getWeight(), {featuresOf(getResult()), featuresOf(getX())}, "C1",
                      "weight");
}

//===--------------------------------------------------------------------------------------------===//
// Fused forms
//===--------------------------------------------------------------------------------------------===//

static LogicalResult verifyHeadNorms(QkvOp op) {
  if (!op.getQNorm() != !op.getKNorm() || !op.getQNorm() != !op.getHeadEps())
    return op.emitOpError() << "(C6) expected q_norm, k_norm and head_eps together";
  if (!op.getQNorm())
    return success();
  if (!(op.getHeadEps()->convertToDouble() > 0))
    return op.emitOpError() << "(C6) expected head_eps > 0, found "
                            << op.getHeadEps()->convertToDouble();
  int64_t headDim = op.getHeadDim();
  if (failed(expectWeight(op, op.getQNorm(), {headDim}, "C6", "q_norm")))
    return failure();
  return expectWeight(op, op.getKNorm(), {headDim}, "C6", "k_norm");
}

LogicalResult QkvOp::verify() {
  int64_t rows = (getHeads() + 2 * getKvHeads()) * getHeadDim();
  if (failed(expectWeight(*this, getWeight(), {rows, featuresOf(getX())}, "C1", "weight")))
    return failure();
  if (getBias() && failed(expectWeight(*this, getBias(), {rows}, "C2", "bias")))
    return failure();
  if (failed(verifyNorm(*this, getX(), getNorm(), getEps(), "C3")) ||
      failed(verifyHeadNorms(*this)))
    return failure();
  return expectHeads(*this, getQ(), getHeads(), getHeadDim(), "C4", "a result");
}
LogicalResult QkvOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyTable(*this, tables, getTableAttr(), getHeadDim(), "C5")))
    return failure();
  return verifyGroup(*this, tables, getGroupAttr(), getKvHeads(), getHeadDim(), "C5");
}

LogicalResult RouterOp::verify() {
  int64_t k = getK(), experts = getWeight().getType().getRows();
  if (failed(expectWeight(*this, getWeight(), {experts, featuresOf(getX())}, "C1", "weight")))
    return failure();
  if (getBias() && failed(expectWeight(*this, getBias(), {experts}, "C2", "bias")))
    return failure();
  if (failed(verifyNorm(*this, getX(), getNorm(), getEps(), "C2")))
    return failure();
  if (k < 1 || k > experts)
    return emitOpError() << "(C3) expected 1 <= k <= " << experts << ", found " << k;
  if (failed(expectTypeOrRounded(*this, getNormed(), getX().getType(), "C3", "normed")) ||
      failed(expectType(*this, getExperts(), indexType(getContext(), k), "C3", "experts")))
    return failure();
  return expectType(*this, getWeights(), activationType(getContext(), k), "C3", "weights");
}

LogicalResult ExpertUpOp::verify() {
  int64_t h = featuresOf(getX()), i = featuresOf(getResult()), k = featuresOf(getExperts());
  int64_t experts = getWeight().getType().getExperts();
  if (failed(expectWeight(*this, getWeight(), {experts, 2 * i, h}, "C1", "weight")))
    return failure();
  if (getBias() && failed(expectWeight(*this, getBias(), {experts, 2 * i, 1}, "C1", "bias")))
    return failure();
  if (failed(
          expectTypeOrRounded(*this, getResult(), pairType(getContext(), k, i), "C2", "a result")))
    return failure();
  return verifyChosen(*this, getExperts(), experts, "C3");
}

LogicalResult ExpertDownOp::verify() {
  int64_t h = featuresOf(getResult()), i = featuresOf(getX()), k = featuresOf(getExperts());
  int64_t experts = getWeight().getType().getExperts();
  if (failed(expectTypeOrRounded(*this, getX(), pairType(getContext(), k, i), "C1", "x")) ||
      failed(expectType(*this, getPartials(), pairType(getContext(), k, h), "C1", "partials")) ||
      failed(expectWeight(*this, getWeight(), {experts, h, i}, "C1", "weight")))
    return failure();
  if (getBias() && failed(expectWeight(*this, getBias(), {experts, h, 1}, "C2", "bias")))
    return failure();
  if (getResidual() &&
      failed(expectType(*this, getResidual(), getResult().getType(), "C3", "residual")))
    return failure();
  if (failed(expectFeatures(*this, getWeights(), k, "C4", "weights")))
    return failure();
  return verifyChosen(*this, getExperts(), experts, "C4");
}

} // namespace inf::ir
