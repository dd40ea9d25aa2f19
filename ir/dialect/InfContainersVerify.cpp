// Verifiers of what holds ops: models, weights, tables, groups, blocks, steps and their layers. As
// InfOpsVerify.cpp, by the numbers of InfOps.td.
#include "ir/dialect/InfDialect.h"
#include "ir/dialect/Lookup.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace inf::ir {

/// A wrong slot would read and write another layer's keys. What is no group is for the op that
/// names it to say.
static LogicalResult verifySlot(LayerOp layer, BlockOp block, SymbolTableCollection &tables) {
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
  if (getActivations() && !llvm::is_contained({"f32", "q8", "mxint8", "bf16"}, *getActivations()))
    return emitOpError() << "(C5) expected activations f32, q8, mxint8 or bf16, found "
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

} // namespace inf::ir
