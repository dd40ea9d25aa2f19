// Verifiers. Each check carries the number that InfOps.td gives it; tests/ir/verify-*.mlir has a
// case per number.
#include "ir/dialect/InfDialect.h"

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

LogicalResult expectType(Operation *op, Value value, Type type, const char *rule, StringRef what) {
  if (value.getType() == type)
    return success();
  return op->emitOpError() << "(" << rule << ") expected " << what << " of type " << type
                           << ", found " << value.getType();
}

/// The norm prologue: a vector of x's features, together with eps.
LogicalResult verifyNorm(Operation *op, Value x, Value norm, std::optional<APFloat> eps,
                         const char *rule) {
  if (!norm != !eps)
    return op->emitOpError() << "(" << rule << ") expected norm and eps together";
  if (!norm)
    return success();
  if (!(eps->convertToDouble() > 0))
    return op->emitOpError() << "(" << rule << ") expected eps > 0, found "
                             << eps->convertToDouble();
  return expectWeight(op, norm, {featuresOf(x)}, rule, "norm");
}

Type indexType(MLIRContext *context, int64_t k) {
  return RankedTensorType::get({ShapedType::kDynamic, k}, IntegerType::get(context, 32));
}

Type pairType(MLIRContext *context, int64_t k, int64_t features) {
  return RankedTensorType::get({ShapedType::kDynamic, k, features}, Float32Type::get(context));
}

int64_t outputsAfter(std::optional<ActivationAttr> activation, int64_t rows) {
  return activation ? rows / 2 : rows;
}

template <typename SymbolOp>
FailureOr<SymbolOp> lookup(Operation *op, SymbolTableCollection &tables, FlatSymbolRefAttr name,
                           const char *rule) {
  auto found = tables.lookupNearestSymbolFrom<SymbolOp>(op, name);
  if (!found)
    return op->emitOpError() << "(" << rule << ") expected " << name << " to be an "
                             << SymbolOp::getOperationName() << " of this model";
  return found;
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
// Attributes and types
//===--------------------------------------------------------------------------------------------===//

LogicalResult WeightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape) {
  if (shape.empty() || shape.size() > 3)
    return emitError() << "expected [rows], [rows, columns] or [experts, rows, columns], found "
                       << shape.size() << " dimensions";
  int64_t elements = 1;
  for (int64_t dim : shape)
    if (dim <= 0 || __builtin_mul_overflow(elements, dim, &elements) ||
        elements > (int64_t(1) << 48))
      return emitError() << "expected positive dimensions of at most 2^48 elements, found ["
                         << shape << "]";
  return success();
}

LogicalResult ActivationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                     ActivationKind kind, FloatAttr limit, FloatAttr alpha) {
  bool clamped = kind == ActivationKind::SwigluClamped;
  if (clamped != bool(limit) || clamped != bool(alpha))
    return emitError() << "expected limit and alpha with swiglu_clamped, and only there";
  if (clamped && !(limit.getValueAsDouble() > 0))
    return emitError() << "expected limit > 0, found " << limit.getValueAsDouble();
  return success();
}

LogicalResult PartAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr tensor,
                               StringAttr scales, Format stored, int64_t rows, bool, bool) {
  if (!tensor || tensor.empty())
    return emitError() << "expected the name of a checkpoint tensor";
  if ((stored == Format::MXFP4) != bool(scales))
    return emitError() << "expected scales with mxfp4, and only there";
  if (rows <= 0)
    return emitError() << "expected rows > 0, found " << rows;
  return success();
}

LogicalResult PartitionAttr::verify(function_ref<InFlightDiagnostic()> emitError, Axis,
                                    int64_t grain, int64_t rowTile) {
  if (grain <= 0 || rowTile <= 0)
    return emitError() << "expected grain and row_tile > 0, found " << grain << " and " << rowTile;
  return success();
}

LogicalResult InfDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef key = attribute.getName();
  if (key == kernelAttrName && !isa<StringAttr>(attribute.getValue()))
    return op->emitOpError() << "expected " << key << " to be a kernel's symbol name";
  if (key == partitionAttrName && !isa<PartitionAttr>(attribute.getValue()))
    return op->emitOpError() << "expected " << key << " to be an #inf.partition";
  if (key == offsetsAttrName) {
    auto offsets = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    if (!offsets || offsets.size() != op->getNumResults())
      return op->emitOpError() << "expected " << key << " to have one offset per result";
  }
  return success();
}

//===--------------------------------------------------------------------------------------------===//
// Containers
//===--------------------------------------------------------------------------------------------===//

LogicalResult ModelOp::verifyRegions() {
  if (int64_t(getVocabulary()) <= 0 || int64_t(getHidden()) <= 0 || int64_t(getMaxContext()) <= 0)
    return emitOpError() << "(C3) expected positive vocabulary, hidden and max_context";
  auto steps = getBody().getOps<StepOp>();
  if (std::distance(steps.begin(), steps.end()) != 1)
    return emitOpError() << "(C1) expected exactly one inf.step";
  int64_t next = 0;
  for (LayerOp layer : (*steps.begin()).getBody().getOps<LayerOp>())
    if (int64_t(layer.getIndex()) != next++)
      return layer.emitOpError() << "(C2) expected layer " << next - 1 << ", found "
                                 << layer.getIndex();
  return success();
}

LogicalResult WeightOp::verify() {
  WeightType type = getType();
  int64_t rows = 0;
  bool allMxfp4 = !getParts().empty();
  for (PartAttr part : getParts().getAsRange<PartAttr>()) {
    rows += part.getRows();
    allMxfp4 &= part.getStored() == Format::MXFP4;
  }
  if (rows != type.getRows())
    return emitOpError() << "(C1) expected parts of " << type.getRows() << " rows in all, found "
                         << rows;
  if (getLayout()) {
    bool vector = *getLayout() == Layout::Vector || *getLayout() == Layout::VectorPairs;
    if (vector != type.isVector() || (vector && getFormat() && *getFormat() != Format::F32))
      return emitOpError() << "(C2) expected a vector to be packed as f32 in a vector layout and a "
                              "matrix in another, found layout "
                           << stringifyLayout(*getLayout());
  }
  if (getFormat() == Format::MXFP4) {
    if (type.getColumns() % 32)
      return emitOpError() << "(C3) expected columns to be a multiple of 32 for mxfp4, found "
                           << type.getColumns();
    if (!allMxfp4)
      return emitOpError() << "(C3) expected every part to be stored as mxfp4: other formats are "
                              "not converted to it";
  }
  if (getOffset() && (int64_t(*getOffset()) < 0 || *getOffset() % 64))
    return emitOpError() << "(C4) expected an offset >= 0 that is a multiple of 64, found "
                         << *getOffset();
  return success();
}

LogicalResult RopeTableOp::verify() {
  if (getType() != "default" && getType() != "yarn")
    return emitOpError() << "(C1) expected type default or yarn, found " << getType();
  if (int64_t(getHeadDim()) <= 0 || getHeadDim() % 2)
    return emitOpError() << "(C1) expected an even head_dim > 0, found " << getHeadDim();
  bool all = getFactor() && getBetaFast() && getBetaSlow() && getOriginalContext();
  if (getType() == "yarn" && !all)
    return emitOpError()
           << "(C2) expected factor, beta_fast, beta_slow and original_context with yarn";
  return success();
}

LogicalResult KvGroupOp::verify() {
  if (getElement() != "f32" && getElement() != "bf16")
    return emitOpError() << "(C1) expected element f32 or bf16, found " << getElement();
  if (int64_t(getBlockTokens()) <= 0 || getBlockTokens() % 16)
    return emitOpError() << "(C2) expected block_tokens to be a positive multiple of 16, found "
                         << getBlockTokens();
  if (int64_t(getWindow()) < 0)
    return emitOpError() << "(C3) expected window >= 0, found " << getWindow();
  if (int64_t(getHeadDim()) <= 0 || getHeadDim() % 16)
    return emitOpError() << "(C4) expected head_dim to be a positive multiple of 16, found "
                         << getHeadDim();
  return success();
}

LogicalResult BlockOp::verifyRegions() {
  auto inputs = getFunctionType().getInputs();
  auto results = getFunctionType().getResults();
  if (inputs.empty() || results.size() != 1 || inputs[0] != results[0] ||
      !isa<RankedTensorType>(inputs[0]))
    return emitOpError() << "(C1) expected (residual stream, weights...) -> residual stream";
  for (unsigned i = 1; i < inputs.size(); ++i)
    if (!isa<WeightType>(inputs[i]) || slotName(i).empty())
      return emitOpError() << "(C1) expected argument " << i << " to be a weight with an inf.slot";
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getNumOperands() != 1 || yield.getOperand(0).getType() != results[0])
    return emitOpError() << "(C2) expected to end in inf.yield of " << results[0];
  return success();
}

LogicalResult StepOp::verifyRegions() {
  Block &block = getBody().front();
  auto tokens = RankedTensorType::get({ShapedType::kDynamic}, IntegerType::get(getContext(), 32));
  if (block.getNumArguments() != 1 || block.getArgument(0).getType() != tokens)
    return emitOpError() << "(C1) expected one argument of type " << tokens;
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  auto model = (*this)->getParentOfType<ModelOp>();
  if (!yield || yield.getNumOperands() != 2 ||
      yield.getOperand(0).getType() != activationType(getContext(), model.getHidden()) ||
      yield.getOperand(1).getType() != activationType(getContext(), model.getVocabulary()))
    return emitOpError() << "(C2) expected to yield hidden [?, " << model.getHidden()
                         << "] and logits [?, " << model.getVocabulary() << "]";
  return success();
}

LogicalResult UseOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto weight = lookup<WeightOp>(*this, tables, getWeightAttr(), "C1");
  if (failed(weight))
    return failure();
  if (weight->getType() != getResult().getType())
    return emitOpError() << "(C1) expected type " << weight->getType() << ", found "
                         << getResult().getType();
  return success();
}

LogicalResult LayerOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto block = lookup<BlockOp>(*this, tables, getBlockAttr(), "C2");
  if (failed(block))
    return failure();
  ArrayRef<Type> inputs = block->getArgumentTypes();
  if (getWeights().size() + 1 != inputs.size() || getX().getType() != inputs[0])
    return emitOpError() << "(C2) expected " << inputs.size() - 1 << " weights and a residual of "
                         << inputs[0] << ", found " << getWeights().size() << " and "
                         << getX().getType();
  for (auto [i, name] : llvm::enumerate(getWeights().getAsRange<FlatSymbolRefAttr>())) {
    auto weight = lookup<WeightOp>(*this, tables, name, "C2");
    if (failed(weight))
      return failure();
    if (weight->getType() != inputs[i + 1])
      return emitOpError() << "(C2) expected " << name << " to have type " << inputs[i + 1]
                           << ", found " << weight->getType();
  }
  return success();
}

//===--------------------------------------------------------------------------------------------===//
// Ops of an imported model
//===--------------------------------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  auto type = getWeight().getType();
  if (type.getShape().size() != 2)
    return emitOpError() << "(C1) expected a matrix, found [" << type.getShape() << "]";
  return expectFeatures(*this, getResult(), type.getColumns(), "C1", "a result");
}

LogicalResult RmsNormOp::verify() {
  if (failed(expectType(*this, getResult(), getX().getType(), "C2", "a result")))
    return failure();
  if (failed(expectWeight(*this, getWeight(), {featuresOf(getX())}, "C1", "weight")))
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
  int64_t begin = getBegin(), features = featuresOf(getX());
  if (begin < 0 || begin + featuresOf(getResult()) > features)
    return emitOpError() << "(C1) expected a range inside " << features << " features, found ["
                         << begin << ", " << begin + featuresOf(getResult()) << ")";
  return success();
}

LogicalResult RopeOp::verify() {
  if (getResult().getType() != getX().getType())
    return emitOpError() << "(C1) expected the result to have x's type";
  return expectFeatures(*this, getX(), getHeads() * getHeadDim(), "C1", "x");
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
  int64_t features = getHeads() * getHeadDim();
  if (failed(expectFeatures(*this, getQ(), features, "C1", "q")) ||
      failed(expectFeatures(*this, getResult(), features, "C1", "a result")))
    return failure();
  if (int64_t(getKvHeads()) <= 0 || getHeads() % getKvHeads())
    return emitOpError() << "(C2) expected heads to be a multiple of kv_heads, found " << getHeads()
                         << " and " << getKvHeads();
  if (getSinks())
    return expectWeight(*this, getSinks(), {int64_t(getHeads())}, "C3", "sinks");
  return success();
}
LogicalResult AttentionOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyGroup(*this, tables, getGroupAttr(), getKvHeads(), getHeadDim(), "C4");
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
  if (getGateUpBias() && failed(expectWeight(*this, getGateUpBias(), {gateUp.getExperts(), 2 * i, 1},
                                             "C2", "gate_up bias")))
    return failure();
  if (getDownBias() &&
      failed(expectWeight(*this, getDownBias(), {experts, h, 1}, "C2", "down bias")))
    return failure();
  return expectType(*this, getResult(), getX().getType(), "C3", "a result");
}

LogicalResult SwigluOp::verify() {
  return expectFeatures(*this, getX(), 2 * featuresOf(getResult()), "C1", "x");
}

LogicalResult QuantizeActivationOp::verify() {
  int64_t block = getBlock(), features = featuresOf(getX());
  if (block <= 0 || features % block)
    return emitOpError() << "(C1) expected block to divide " << features << " features, found "
                         << block;
  return expectType(*this, getResult(), getX().getType(), "C2", "a result");
}

LogicalResult LmHeadOp::verify() {
  return expectWeight(*this, getWeight(), {featuresOf(getResult()), featuresOf(getX())}, "C1",
                      "weight");
}

//===--------------------------------------------------------------------------------------------===//
// Fused forms
//===--------------------------------------------------------------------------------------------===//

LogicalResult QkvOp::verify() {
  int64_t rows = (getHeads() + 2 * getKvHeads()) * getHeadDim();
  if (failed(expectWeight(*this, getWeight(), {rows, featuresOf(getX())}, "C1", "weight")))
    return failure();
  if (getBias() && failed(expectWeight(*this, getBias(), {rows}, "C2", "bias")))
    return failure();
  if (failed(verifyNorm(*this, getX(), getNorm(), getEps(), "C3")))
    return failure();
  return expectFeatures(*this, getQ(), getHeads() * getHeadDim(), "C4", "a result");
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
  if (failed(expectType(*this, getNormed(), getX().getType(), "C3", "normed")) ||
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
  return expectType(*this, getResult(), pairType(getContext(), k, i), "C2", "a result");
}

LogicalResult ExpertDownOp::verify() {
  int64_t h = featuresOf(getResult()), i = featuresOf(getX()), k = featuresOf(getExperts());
  int64_t experts = getWeight().getType().getExperts();
  if (failed(expectType(*this, getX(), pairType(getContext(), k, i), "C1", "x")) ||
      failed(expectType(*this, getPartials(), pairType(getContext(), k, h), "C1", "partials")) ||
      failed(expectWeight(*this, getWeight(), {experts, h, i}, "C1", "weight")))
    return failure();
  if (getBias() && failed(expectWeight(*this, getBias(), {experts, h, 1}, "C2", "bias")))
    return failure();
  if (getResidual())
    return expectType(*this, getResidual(), getResult().getType(), "C3", "residual");
  return success();
}

} // namespace inf::ir
