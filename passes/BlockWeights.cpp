#include "passes/BlockWeights.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include "passes/QuantPolicy.h"

using namespace mlir;

namespace inf {

namespace {

ir::StepOp stepOf(ir::ModelOp model) { return *model.getBody().getOps<ir::StepOp>().begin(); }

/// "layers.3.attention.q.weight" with slot "attention.q.weight" gives "layers.3.".
StringRef layerPrefix(StringRef weight, StringRef slot) {
  return weight.ends_with(slot) ? weight.drop_back(slot.size()) : StringRef();
}

/// A weight of `parts` for a layer, declared next to the layer's other weights and packed as they
/// are. Layers may share weights, or names may follow no pattern: then a number makes it unique.
FlatSymbolRefAttr declareWeight(ir::ModelOp model, ir::WeightOp neighbour,
                                const std::string &wanted, ir::WeightType type,
                                ArrayRef<Attribute> parts) {
  std::string name = wanted;
  for (int i = 1; model.lookupSymbol(name); ++i)
    name = wanted + "." + std::to_string(i);
  OpBuilder builder(neighbour);
  auto weight = builder.create<ir::WeightOp>(neighbour.getLoc(), builder.getStringAttr(name),
                                             TypeAttr::get(type), builder.getArrayAttr(parts),
                                             neighbour.getFormatAttr(), nullptr, nullptr, nullptr);
  if (Attribute from = neighbour->getAttr(formatFromAttrName))
    weight->setAttr(formatFromAttrName, from);
  return FlatSymbolRefAttr::get(model.getContext(), name);
}

} // namespace

std::vector<ir::LayerOp> layersOf(ir::ModelOp model, ir::BlockOp block) {
  std::vector<ir::LayerOp> layers;
  for (auto layer : stepOf(model).getBody().getOps<ir::LayerOp>())
    if (layer.getBlock() == block.getSymName())
      layers.push_back(layer);
  return layers;
}

ir::WeightOp boundWeight(ir::ModelOp model, ir::LayerOp layer, unsigned index) {
  auto name = cast<FlatSymbolRefAttr>(layer.getWeights()[index - 1]);
  return model.lookupSymbol<ir::WeightOp>(name);
}

std::vector<ir::WeightOp> weightsBehind(ir::ModelOp model, Value value) {
  std::vector<ir::WeightOp> weights;
  if (auto use = value.getDefiningOp<ir::UseOp>()) {
    weights.push_back(model.lookupSymbol<ir::WeightOp>(use.getWeightAttr()));
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto block = dyn_cast<ir::BlockOp>(argument.getOwner()->getParentOp());
    for (ir::LayerOp layer : layersOf(model, block))
      weights.push_back(boundWeight(model, layer, argument.getArgNumber()));
  }
  return weights;
}

Value concatenateArguments(ir::ModelOp model, ir::BlockOp block, ArrayRef<Value> arguments,
                           const std::string &slot) {
  int64_t rows = 0;
  for (Value argument : arguments)
    rows += cast<ir::WeightType>(argument.getType()).getRows();
  auto first = cast<ir::WeightType>(arguments[0].getType());
  SmallVector<int64_t> shape(first.getShape());
  shape[shape.size() == 3 ? 1 : 0] = rows;
  auto type = ir::WeightType::get(model.getContext(), shape);

  for (ir::LayerOp layer : layersOf(model, block)) {
    SmallVector<Attribute> parts;
    for (Value argument : arguments) {
      unsigned index = cast<BlockArgument>(argument).getArgNumber();
      llvm::append_range(parts, boundWeight(model, layer, index).getParts());
    }
    unsigned index = cast<BlockArgument>(arguments[0]).getArgNumber();
    ir::WeightOp neighbour = boundWeight(model, layer, index);
    std::string name = (layerPrefix(neighbour.getSymName(), block.slotName(index)) + slot).str();
    SmallVector<Attribute> weights(layer.getWeights().begin(), layer.getWeights().end());
    weights.push_back(declareWeight(model, neighbour, name, type, parts));
    layer.setWeightsAttr(ArrayAttr::get(model.getContext(), weights));
  }
  OpBuilder builder(model.getContext());
  auto attributes = builder.getDictionaryAttr(
      builder.getNamedAttr(ir::slotAttrName, builder.getStringAttr(slot)));
  unsigned index = block.getNumArguments();
  block.insertArgument(index, type, attributes, arguments[0].getLoc());
  return block.getArgument(index);
}

void dropUnusedArguments(ir::ModelOp model, ir::BlockOp block) {
  llvm::BitVector unused(block.getNumArguments());
  for (unsigned i = 1; i < block.getNumArguments(); ++i)
    if (block.getArgument(i).use_empty())
      unused.set(i);
  for (ir::LayerOp layer : layersOf(model, block)) {
    SmallVector<Attribute> kept;
    llvm::SmallSetVector<ir::WeightOp, 8> dropped; // one weight may be bound to several arguments
    for (auto [i, weight] : llvm::enumerate(layer.getWeights())) {
      if (unused.test(i + 1))
        dropped.insert(boundWeight(model, layer, i + 1));
      else
        kept.push_back(weight);
    }
    layer.setWeightsAttr(ArrayAttr::get(model.getContext(), kept));
    for (ir::WeightOp weight : dropped)
      if (SymbolTable::symbolKnownUseEmpty(weight, model))
        weight.erase();
  }
  block.eraseArguments(unused);
}

} // namespace inf
