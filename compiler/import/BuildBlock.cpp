#include "compiler/import/BuildBlock.h"

#include <cmath>

using namespace mlir;

namespace inf {

namespace {

class BlockBuilder {
public:
  BlockBuilder(OpBuilder &opBuilder, const ModelDesc &modelDesc, const BlockDesc &blockDesc,
               const std::string &kvGroup, const std::vector<BlockSlot> &blockSlots)
      : builder(opBuilder), desc(modelDesc), block(blockDesc), group(kvGroup), slots(blockSlots),
        residualType(activation(modelDesc.hidden)) {}

  void build(const std::string &name) {
    OpBuilder::InsertionGuard guard(builder);
    Value x = begin(name);
    x = attention(x);
    x = block.moe ? experts(x, *block.moe) : mlp(x, *block.mlp);
    builder.create<ir::YieldOp>(loc(), ValueRange{x});
  }

private:
  Location loc() { return builder.getUnknownLoc(); }
  IntegerAttr i64(uint64_t value) { return builder.getI64IntegerAttr(int64_t(value)); }
  RankedTensorType activation(int64_t features) {
    return ir::activationType(builder.getContext(), features);
  }
  FlatSymbolRefAttr symbol(const std::string &name) {
    return FlatSymbolRefAttr::get(builder.getContext(), name);
  }

  /// Opens the block with the residual stream and one argument per slot; returns the residual.
  Value begin(const std::string &name) {
    SmallVector<Type> inputs{residualType};
    SmallVector<Attribute> attributes{builder.getDictionaryAttr({})};
    for (const BlockSlot &slot : slots) {
      inputs.push_back(slot.type);
      attributes.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(ir::slotAttrName, builder.getStringAttr(slot.name))));
    }
    auto op =
        builder.create<ir::BlockOp>(loc(), builder.getStringAttr(name),
                                    TypeAttr::get(builder.getFunctionType(inputs, residualType)),
                                    builder.getArrayAttr(attributes), nullptr);
    Block &body = op.getBody().emplaceBlock();
    for (Type type : inputs)
      body.addArgument(type, loc());
    entry = &body;
    builder.setInsertionPointToEnd(&body);
    return body.getArgument(0);
  }

  /// The argument of a slot; null when the kind of layer has no such weight.
  Value slot(const std::string &name) {
    for (auto [i, candidate] : llvm::enumerate(slots))
      if (candidate.name == name)
        return entry->getArgument(i + 1);
    return nullptr;
  }

  Value norm(Value x, const std::string &name) {
    return builder.create<ir::RmsNormOp>(loc(), x.getType(), x, slot(name),
                                         builder.getF64FloatAttr(desc.normEps), i64(1));
  }

  /// The norm of each head, where the kind of layer has one.
  Value headNorm(Value x, const std::string &name, uint64_t heads) {
    if (!block.attention.qkNorm)
      return x;
    return builder.create<ir::RmsNormOp>(loc(), x.getType(), x, slot(name),
                                         builder.getF64FloatAttr(desc.normEps), i64(heads));
  }

  Value linear(Value x, const std::string &name) {
    Value weight = slot(name + ".weight");
    auto type = activation(cast<ir::WeightType>(weight.getType()).getRows());
    return builder.create<ir::LinearOp>(loc(), type, x, weight, slot(name + ".bias"), Value(),
                                        Value(), Value(), Value(), FloatAttr(),
                                        ir::ActivationAttr());
  }

  Value rope(Value x, uint64_t heads) {
    const AttentionDesc &a = block.attention;
    return builder.create<ir::RopeOp>(loc(), x.getType(), x, i64(heads), i64(a.headDim),
                                      symbol(ropeSymbol(a.rope)));
  }

  Value attention(Value x) {
    const AttentionDesc &a = block.attention;
    Value h = norm(x, "attention.norm.weight");
    Value q = headNorm(linear(h, "attention.q"), "attention.q_norm.weight", a.heads);
    q = rope(q, a.heads);
    Value k = headNorm(linear(h, "attention.k"), "attention.k_norm.weight", a.kvHeads);
    k = rope(k, a.kvHeads);
    Value v = linear(h, "attention.v");
    builder.create<ir::KvAppendOp>(loc(), k, v, symbol(group));
    double scale = a.scale.value_or(1 / std::sqrt(double(a.headDim)));
    Value attended = builder.create<ir::AttentionOp>(
        loc(), q.getType(), q, slot("attention.sinks"), i64(a.heads), i64(a.kvHeads),
        i64(a.headDim), builder.getF64FloatAttr(scale), symbol(group), StringAttr());
    return builder.create<ir::AddOp>(loc(), x, linear(attended, "attention.o"));
  }

  ir::ActivationAttr activationAttr(const ActivationDesc &activationDesc) {
    MLIRContext *context = builder.getContext();
    if (activationDesc.type == "swiglu")
      return ir::ActivationAttr::get(context, ir::ActivationKind::Swiglu, {}, {});
    return ir::ActivationAttr::get(context, ir::ActivationKind::SwigluClamped,
                                   builder.getF64FloatAttr(activationDesc.limit),
                                   builder.getF64FloatAttr(activationDesc.alpha));
  }

  Value mlp(Value x, const MlpDesc &mlpDesc) {
    Value gateUp = linear(norm(x, "mlp.norm.weight"), "mlp.gate_up");
    Value act = builder.create<ir::SwigluOp>(loc(), activation(mlpDesc.intermediate), gateUp,
                                             activationAttr(mlpDesc.activation));
    return builder.create<ir::AddOp>(loc(), x, linear(act, "mlp.down"));
  }

  Value experts(Value x, const MoeDesc &moe) {
    Value h = norm(x, "moe.norm.weight");
    auto indices =
        RankedTensorType::get({ShapedType::kDynamic, int64_t(moe.topK)}, builder.getI32Type());
    auto top = builder.create<ir::RouterTopKOp>(
        loc(), indices, activation(moe.topK), linear(h, "moe.router"), i64(moe.topK),
        moe.normalizeTopK ? UnitAttr() : builder.getUnitAttr());
    Value y = builder.create<ir::MoeOp>(loc(), residualType, h, top.getExperts(), top.getWeights(),
                                        slot("moe.gate_up.weight"), slot("moe.gate_up.bias"),
                                        slot("moe.down.weight"), slot("moe.down.bias"),
                                        activationAttr(moe.activation));
    return builder.create<ir::AddOp>(loc(), x, y);
  }

  OpBuilder &builder;
  const ModelDesc &desc;
  const BlockDesc &block;
  const std::string &group;
  const std::vector<BlockSlot> &slots;
  RankedTensorType residualType;
  Block *entry = nullptr;
};

} // namespace

void buildBlock(OpBuilder &builder, const ModelDesc &desc, const std::string &name,
                const BlockDesc &block, const std::string &kvGroup,
                const std::vector<BlockSlot> &slots) {
  BlockBuilder(builder, desc, block, kvGroup, slots).build(name);
}

} // namespace inf
