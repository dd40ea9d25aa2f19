// Verifiers of ops. Each check carries the number that InfOps.td gives it; tests/ir/verify-*.mlir
// has a case per number.
#include "ir/dialect/InfDialect.h"

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
  bool fits = isQ8(value)     ? q8Type(type) == value.getType()
              : isBf16(value) ? bf16Type(type) == value.getType()
                              : type == value.getType();
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

/// A wrong slot would read and write another layer's keys. What is no group is for the op that
/// names it to say.
LogicalResult verifySlot(LayerOp layer, BlockOp block, SymbolTableCollection &tables) {
  uint64_t slot = layer.getKvSlot();
  for (Operation &op : block.getBody().front()) {
    auto name = op.getAttrOfType<FlatSymbolRefAttr>("group");
    auto group = name ? tables.lookupNearestSymbolFrom<KvGroupOp>(&op, name) : KvGroupOp();
    if (!group)
      continue;
    ArrayRef<int64_t> layers = group.getLayers();
    if (slot >= layers.size() || layers[slot] != int64_t(layer.getIndex()))
      return layer.emitOpError() << "(C2) expected slot " << int64_t(slot) << " of " << name
                                 << " to be that of layer " << layer.getIndex();
  }
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
// Containers
//===--------------------------------------------------------------------------------------------===//

LogicalResult ModelOp::verifyRegions() {
  auto outside = [](int64_t value, int64_t low, int64_t high) {
    return value < low || value > high;
  };
  for (uint64_t size : {getVocabulary(), getHidden(), getMaxContext()})
    if (outside(int64_t(size), 1, largestSize))
      return emitOpError() << "(C3) expected vocabulary, hidden and max_context in 1.."
                           << largestSize << ", found " << int64_t(size);
  for (std::optional<uint64_t> rows : {getMaxRows(), getMaxOutputRows()})
    if (rows && outside(int64_t(*rows), 1, 65536))
      return emitOpError() << "(C4) expected max_rows and max_output_rows in 1..65536, found "
                           << int64_t(*rows);
  if (int64_t(getArena().value_or(0)) < 0 || int64_t(getScratch().value_or(0)) < 0)
    return emitOpError() << "(C4) expected arena and scratch >= 0";
  if (getActivations() && !llvm::is_contained({"f32", "q8", "bf16"}, *getActivations()))
    return emitOpError() << "(C5) expected activations f32, q8 or bf16, found "
                         << *getActivations();
  auto steps = getBody().getOps<StepOp>();
  if (std::distance(steps.begin(), steps.end()) != 1)
    return emitOpError() << "(C1) expected exactly one inf.step";
  int64_t next = 0;
  for (LayerOp layer : (*steps.begin()).getBody().getOps<LayerOp>())
    if (int64_t(layer.getIndex()) != next++)
      return mlir::emitError(layer.getLoc()) << "'inf.model' op (C2) expected layer " << next - 1
                                             << ", found " << int64_t(layer.getIndex());
  return success();
}

LogicalResult WeightOp::verify() {
  WeightType type = getType();
  int64_t rows = 0;
  bool allMxfp4 = !getParts().empty();
  for (PartAttr part : getParts().getAsRange<PartAttr>()) {
    if (__builtin_add_overflow(rows, part.getRows(), &rows))
      return emitOpError() << "(C1) expected parts of " << type.getRows() << " rows in all";
    allMxfp4 &= part.getStored() == Format::MXFP4;
  }
  if (rows != type.getRows())
    return emitOpError() << "(C1) expected parts of " << type.getRows() << " rows in all, found "
                         << rows;
  if (getLayout()) {
    bool vector = *getLayout() == Layout::Vector || *getLayout() == Layout::VectorPairs;
    if (vector != type.isVector())
      return emitOpError() << "(C2) expected a vector in a vector layout and a matrix in another, "
                              "found layout "
                           << stringifyLayout(*getLayout());
  }
  if (type.isVector() && getFormat().value_or(Format::F32) != Format::F32)
    return emitOpError() << "(C2) expected a vector to be packed as f32, found "
                         << stringifyFormat(*getFormat());
  SmallVector<Format> formats = llvm::map_to_vector(getParts().getAsRange<PartAttr>(),
                                                    [](PartAttr part) { return part.getStored(); });
  if (getFormat())
    formats.push_back(*getFormat());
  for (Format format : formats)
    if (isBlockFormat(format) && type.getColumns() % q8Block)
      return emitOpError() << "(C3) expected columns to be a multiple of 32 for "
                           << stringifyFormat(format) << ", found " << type.getColumns();
  if (getFormat() == Format::MXFP4 && !allMxfp4)
    return emitOpError() << "(C3) expected every part to be stored as mxfp4: other formats are not "
                            "converted to it";
  constexpr uint64_t largestOffset = uint64_t(1) << 56; // sizes can still be added to it
  if (getOffset() && (*getOffset() > largestOffset || *getOffset() % 64))
    return emitOpError() << "(C4) expected an offset in 0..2^56 that is a multiple of 64, found "
                         << int64_t(*getOffset());
  return success();
}

/// The numbers that a type of rope_table works with, missing or out of range.
static StringRef missingOfRope(RopeTableOp table) {
  StringRef type = table.getType();
  if (type == "linear" && !table.getFactor())
    return "factor with linear";
  if (type == "divided") {
    std::optional<ArrayRef<double>> divisors = table.getDivisors();
    if (!divisors || divisors->size() != table.getHeadDim() / 2 ||
        !llvm::all_of(*divisors, [](double divisor) { return divisor > 0; }))
      return "head_dim / 2 divisors above 0 with divided";
  }
  if (type == "llama3") {
    if (!table.getFactor() || !table.getLowFrequencyFactor() || !table.getHighFrequencyFactor() ||
        !table.getOriginalContext())
      return "factor, low_frequency_factor, high_frequency_factor and original_context with llama3";
    if (!(table.getLowFrequencyFactor()->convertToDouble() <
          table.getHighFrequencyFactor()->convertToDouble()))
      return "low_frequency_factor below high_frequency_factor with llama3";
  }
  if (type == "yarn" && (!table.getFactor() || !table.getBetaFast() || !table.getBetaSlow() ||
                         !table.getOriginalContext()))
    return "factor, beta_fast, beta_slow and original_context with yarn";
  return "";
}

LogicalResult RopeTableOp::verify() {
  if (!llvm::is_contained({"default", "linear", "divided", "llama3", "yarn"}, getType()))
    return emitOpError() << "(C1) expected type default, linear, divided, llama3 or yarn, found "
                         << getType();
  if (int64_t(getHeadDim()) <= 0 || getHeadDim() % 2)
    return emitOpError() << "(C1) expected an even head_dim > 0, found " << getHeadDim();
  if (StringRef missing = missingOfRope(*this); !missing.empty())
    return emitOpError() << "(C2) expected " << missing;
  return success();
}

LogicalResult KvGroupOp::verify() {
  if (getElement() != "f32" && getElement() != "bf16")
    return emitOpError() << "(C1) expected element f32 or bf16, found " << getElement();
  int64_t tokens = getBlockTokens(), window = getWindow();
  int64_t headDim = getHeadDim(), kvHeads = getKvHeads();
  if (tokens < 16 || tokens > 4096 || tokens % 16)
    return emitOpError() << "(C2) expected block_tokens to be a multiple of 16 in 16..4096, found "
                         << tokens;
  if (window < 0 || window > largestSize)
    return emitOpError() << "(C3) expected window in 0.." << largestSize << ", found " << window;
  if (headDim <= 0 || headDim % 8)
    return emitOpError() << "(C4) expected head_dim to be a positive multiple of 8, found "
                         << headDim;
  if (kvHeads <= 0 || kvHeads > largestSize / headDim)
    return emitOpError() << "(C4) expected kv_heads > 0 and kv_heads * head_dim <= " << largestSize
                         << ", found " << kvHeads << " heads";
  int64_t previous = -1;
  for (int64_t layer : getLayers()) {
    if (layer <= previous)
      return emitOpError() << "(C5) expected ascending layers, found " << layer << " after "
                           << previous;
    previous = layer;
  }
  return success();
}

LogicalResult BlockOp::verifyRegions() {
  auto inputs = getFunctionType().getInputs();
  auto results = getFunctionType().getResults();
  if (inputs.empty() || results.size() != 1 || inputs[0] != results[0] ||
      !isRowsOf<Float32Type>(inputs[0], 1))
    return emitOpError() << "(C1) expected (residual stream, weights...) -> residual stream";
  for (unsigned i = 1; i < inputs.size(); ++i)
    if (!isa<WeightType>(inputs[i]) || slotName(i).empty())
      return emitOpError() << "(C1) expected argument " << i << " to be a weight with an inf.slot";
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getNumOperands() != 1 || yield.getOperand(0).getType() != results[0])
    return emitOpError() << "(C2) expected to end in inf.yield of " << results[0];
  return success();
}

/// Rows of one step come in two numbers; what would mix them reads past the end of the fewer.
static LogicalResult verifyRowKinds(Block &body) {
  llvm::DenseSet<Value> outputRows;
  for (Operation &op : body) {
    auto isActivation = [](Value value) { return isa<RankedTensorType>(value.getType()); };
    int64_t all = llvm::count_if(op.getOperands(), isActivation);
    int64_t few = llvm::count_if(op.getOperands(), [&](Value v) { return outputRows.contains(v); });
    bool needsFew = isa<LmHeadOp, YieldOp>(op);
    bool mayHaveFew =
        needsFew || isa<RmsNormOp, LinearOp, SliceOp, SwigluOp, QuantizeActivationOp, AddOp>(op);
    if (few != (needsFew ? all : 0) && !(mayHaveFew && few == all))
      return mlir::emitError(op.getLoc())
             << "'inf.step' op (C3) expected " << op.getName() << " to take "
             << (needsFew ? "output rows" : "all rows, or output rows alone where it may");
    if (few || isa<OutputRowsOp>(op))
      outputRows.insert(op.result_begin(), op.result_end());
  }
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
  return verifyRowKinds(block);
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
  auto block = lookup<BlockOp>(*this, tables, getBlockAttr(), "C1");
  if (failed(block))
    return failure();
  ArrayRef<Type> inputs = block->getArgumentTypes();
  if (getWeights().size() + 1 != inputs.size() || getX().getType() != inputs[0])
    return emitOpError() << "(C1) expected " << inputs.size() - 1 << " weights and a residual of "
                         << inputs[0] << ", found " << getWeights().size() << " and "
                         << getX().getType();
  for (auto [i, name] : llvm::enumerate(getWeights().getAsRange<FlatSymbolRefAttr>())) {
    auto weight = lookup<WeightOp>(*this, tables, name, "C1");
    if (failed(weight))
      return failure();
    if (weight->getType() != inputs[i + 1])
      return emitOpError() << "(C1) expected " << name << " to have type " << inputs[i + 1]
                           << ", found " << weight->getType();
  }
  return verifySlot(*this, *block, tables);
}

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
  Type wanted = isBf16(getResult()) ? bf16Type(getX().getType()) : q8Type(getX().getType());
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
