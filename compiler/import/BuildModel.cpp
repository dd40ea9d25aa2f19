#include "compiler/import/BuildModel.h"

#include <cmath>

#include "compiler/import/BuildBlock.h"
#include "ir/dialect/InfDialect.h"
#include "runtime/base/Error.h"

using namespace mlir;

namespace inf {

namespace {

ir::WeightType weightType(MLIRContext *context, const WeightDecl &decl) {
  int64_t rows = decl.rows, columns = decl.columns, experts = decl.experts;
  if (experts > 1)
    return ir::WeightType::get(context, {experts, rows, columns});
  if (decl.isVector())
    return ir::WeightType::get(context, {rows});
  return ir::WeightType::get(context, {rows, columns});
}

/// Kv groups by (window, kv_heads, head_dim), in order of first use.
struct KvGroups {
  struct Group {
    const AttentionDesc *attention;
    std::string name;
    std::vector<int64_t> layers;
  };
  std::vector<Group> groups;

  Group &of(const AttentionDesc &attention) {
    for (Group &group : groups)
      if (group.attention->window == attention.window &&
          group.attention->kvHeads == attention.kvHeads &&
          group.attention->headDim == attention.headDim)
        return group;
    std::string name = attention.window ? fmt::format("kv.window{}", attention.window) : "kv.full";
    for (const Group &group : groups)
      if (group.name == name)
        name += fmt::format("_{}x{}", attention.kvHeads, attention.headDim);
    return groups.emplace_back(Group{&attention, name, {}});
  }
};

class ModelBuilder {
public:
  ModelBuilder(MLIRContext &mlirContext, const ModelDesc &modelDesc,
               const std::vector<WeightDecl> &weightDecls, const ImportOptions &importOptions)
      : context(&mlirContext), builder(&mlirContext), desc(modelDesc), decls(weightDecls),
        options(importOptions) {}

  OwningOpRef<ModuleOp> build() {
    OwningOpRef<ModuleOp> module(ModuleOp::create(loc()));
    builder.setInsertionPointToEnd(module->getBody());
    ir::ModelOp model = buildContainer();
    builder.setInsertionPointToEnd(&model.getBody().front());
    for (const auto &[name, rope] : desc.ropes)
      buildRopeTable(name, rope);
    buildKvGroups();
    for (const WeightDecl &decl : decls)
      buildWeight(decl);
    for (const auto &[name, block] : desc.blocks)
      if (std::optional<size_t> layer = firstLayerOf(name))
        buildBlock(builder, desc, name, block, kvGroups.of(block.attention).name, slotsOf(*layer));
    buildStep();
    return module;
  }

private:
  Location loc() { return builder.getUnknownLoc(); }
  template <typename T> IntegerAttr i64(T value) {
    return builder.getI64IntegerAttr(int64_t(value));
  }

  ir::ModelOp buildContainer() {
    auto model = builder.create<ir::ModelOp>(
        loc(), builder.getStringAttr(desc.name), builder.getStringAttr(desc.architecture),
        i64(desc.vocabulary), i64(desc.hidden), i64(desc.maxContext),
        builder.getDenseI64ArrayAttr(desc.eosTokens), i64(desc.bosToken), nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    auto setPath = [&](StringRef key, const std::string &path) {
      if (!path.empty())
        model->setAttr(key, builder.getStringAttr(path));
    };
    setPath("weights_from", desc.weightsDirectory);
    setPath("tokenizer", desc.tokenizerPath);
    setPath("chat_template", desc.chatTemplatePath);
    model.getBody().emplaceBlock();
    return model;
  }

  /// Of the first kind of layer that uses the rope; 0: none does.
  uint64_t headDimOf(const std::string &rope) {
    for (const auto &entry : desc.blocks)
      if (entry.second.attention.rope == rope)
        return entry.second.attention.headDim;
    return 0;
  }

  void buildRopeTable(const std::string &name, const RopeDesc &rope) {
    uint64_t headDim = headDimOf(name);
    if (!headDim)
      return;
    auto table = builder.create<ir::RopeTableOp>(
        loc(), builder.getStringAttr(ropeSymbol(name)), builder.getStringAttr(ropeTypeInIr(rope)),
        i64(headDim), builder.getF64FloatAttr(rope.theta), nullptr, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, builder.getBoolAttr(rope.truncate), nullptr);
    setRopeNumbers(table, rope);
  }

  /// dynamic is default up to the original context, which max_context doesn't exceed.
  static std::string ropeTypeInIr(const RopeDesc &rope) {
    if (rope.type == "dynamic")
      return "default";
    return rope.type == "longrope" ? "divided" : rope.type;
  }

  void setRopeNumbers(ir::RopeTableOp table, const RopeDesc &rope) {
    auto number = [&](double value) { return builder.getF64FloatAttr(value); };
    if (rope.type == "linear" || rope.type == "llama3" || rope.type == "yarn")
      table.setFactorAttr(number(rope.factor));
    if (rope.type == "llama3" || rope.type == "yarn")
      table.setOriginalContextAttr(number(rope.originalContext));
    if (rope.type == "llama3") {
      table.setLowFrequencyFactorAttr(number(rope.lowFrequencyFactor));
      table.setHighFrequencyFactorAttr(number(rope.highFrequencyFactor));
    }
    if (rope.type == "yarn") {
      table.setBetaFastAttr(number(rope.betaFast));
      table.setBetaSlowAttr(number(rope.betaSlow));
    }
    if (rope.type == "divided")
      table.setDivisors(ArrayRef<double>(rope.divisors));
    if (rope.type == "longrope")
      table.setDivisors(ArrayRef<double>(
          double(desc.maxContext) > rope.originalContext ? rope.longFactors : rope.shortFactors));
    if (rope.attentionFactor)
      table.setAttentionFactorAttr(number(*rope.attentionFactor));
    else if (rope.type == "longrope" && rope.factor > 1)
      table.setAttentionFactorAttr(
          number(std::sqrt(1 + std::log(rope.factor) / std::log(rope.originalContext))));
  }

  void buildKvGroups() {
    for (auto [layer, kind] : llvm::enumerate(desc.layers)) {
      std::vector<int64_t> &layers = kvGroups.of(desc.blocks.at(kind).attention).layers;
      kvSlots.push_back(int64_t(layers.size()));
      layers.push_back(int64_t(layer));
    }
    for (const KvGroups::Group &group : kvGroups.groups)
      builder.create<ir::KvGroupOp>(loc(), group.name, group.layers, group.attention->kvHeads,
                                    group.attention->headDim, group.attention->window,
                                    options.kvElement, options.kvBlockTokens);
  }

  void buildWeight(const WeightDecl &decl) {
    SmallVector<Attribute> parts;
    for (const WeightPart &part : decl.parts)
      parts.push_back(
          ir::PartAttr::get(context, builder.getStringAttr(part.tensor),
                            part.scales.empty() ? StringAttr() : builder.getStringAttr(part.scales),
                            static_cast<ir::Format>(part.stored), int64_t(part.rows),
                            part.transposed, part.interleaved));
    builder.create<ir::WeightOp>(loc(), builder.getStringAttr(decl.name),
                                 TypeAttr::get(weightType(context, decl)),
                                 builder.getArrayAttr(parts), nullptr, nullptr, nullptr, nullptr);
  }

  std::optional<size_t> firstLayerOf(const std::string &kind) {
    auto it = std::find(desc.layers.begin(), desc.layers.end(), kind);
    if (it == desc.layers.end())
      return std::nullopt;
    return size_t(it - desc.layers.begin());
  }

  static std::string layerPrefix(size_t layer) { return fmt::format("layers.{}.", layer); }

  /// Weights of a layer without their prefix, in declaration order.
  std::vector<BlockSlot> slotsOf(size_t layer) {
    std::vector<BlockSlot> slots;
    std::string prefix = layerPrefix(layer);
    for (const WeightDecl &decl : decls)
      if (decl.name.starts_with(prefix))
        slots.push_back({decl.name.substr(prefix.size()), weightType(context, decl)});
    return slots;
  }

  Value use(const std::string &name) {
    for (const WeightDecl &decl : decls)
      if (decl.name == name)
        return builder.create<ir::UseOp>(loc(), weightType(context, decl), name);
    fail(ErrorCode::Internal, "weight {} was not declared by the description", name);
  }

  void buildStep() {
    auto step = builder.create<ir::StepOp>(loc());
    Block &body = step.getBody().emplaceBlock();
    auto tokensType = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
    Value tokens = body.addArgument(tokensType, loc());
    builder.setInsertionPointToEnd(&body);
    auto residualType = ir::activationType(context, desc.hidden);
    Value x = builder.create<ir::EmbeddingOp>(loc(), residualType, tokens, use("embedding.weight"));
    for (auto [layer, kind] : llvm::enumerate(desc.layers)) {
      SmallVector<Attribute> weights;
      for (const BlockSlot &slot : slotsOf(layer))
        weights.push_back(FlatSymbolRefAttr::get(context, layerPrefix(layer) + slot.name));
      x = builder.create<ir::LayerOp>(loc(), residualType, x, FlatSymbolRefAttr::get(context, kind),
                                      i64(layer), i64(kvSlots[layer]),
                                      builder.getArrayAttr(weights));
    }
    x = builder.create<ir::OutputRowsOp>(loc(), x);
    Value hidden = builder.create<ir::RmsNormOp>(loc(), residualType, x, use("final_norm.weight"),
                                                 builder.getF64FloatAttr(desc.normEps), i64(1));
    Value logits = builder.create<ir::LmHeadOp>(loc(), ir::activationType(context, desc.vocabulary),
                                                hidden, use("lm_head.weight"));
    builder.create<ir::YieldOp>(loc(), ValueRange{hidden, logits});
  }

  MLIRContext *context;
  OpBuilder builder;
  const ModelDesc &desc;
  const std::vector<WeightDecl> &decls;
  const ImportOptions &options;
  KvGroups kvGroups;
  std::vector<int64_t> kvSlots; ///< of each layer in its group
};

} // namespace

OwningOpRef<ModuleOp> buildModel(MLIRContext &context, const ModelDesc &desc,
                                 const std::vector<WeightDecl> &decls,
                                 const ImportOptions &options) {
  return ModelBuilder(context, desc, decls, options).build();
}

} // namespace inf
