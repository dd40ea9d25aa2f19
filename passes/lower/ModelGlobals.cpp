#include "passes/lower/ModelGlobals.h"

#include "ir/dialect/RopeFrequencies.h"
#include "passes/BlockWeights.h"
#include "passes/lower/KvLayout.h"
#include "runtime/abi/inf_abi.h"

using namespace mlir;

namespace inf {

namespace {

/// Builds constant globals; structs field by field in the order of inf_abi.h.
class Globals {
public:
  explicit Globals(Emit &emit) : e(emit) {}

  template <typename T> void array(StringRef name, Type element, ArrayRef<T> values) {
    auto type = LLVM::LLVMArrayType::get(element, std::max<size_t>(values.size(), 1));
    SmallVector<T> padded(values.begin(), values.end());
    if (padded.empty())
      padded.push_back(T()); // no zero-length objects
    auto shape = RankedTensorType::get({int64_t(padded.size())}, element);
    create(name, type, DenseElementsAttr::get(shape, ArrayRef<T>(padded)));
  }

  /// A global whose value `build` makes in its initializer.
  void computed(StringRef name, Type type, function_ref<Value()> build) {
    auto global = create(name, type, Attribute());
    OpBuilder::InsertionGuard guard(e.b);
    Block *block = e.b.createBlock(&global.getInitializerRegion());
    e.b.setInsertionPointToStart(block);
    e.b.create<LLVM::ReturnOp>(e.loc, build());
  }

  /// A struct literal of these values.
  Value structOf(ArrayRef<Value> fields) {
    SmallVector<Type> types;
    for (Value field : fields)
      types.push_back(field.getType());
    Value result =
        e.b.create<LLVM::UndefOp>(e.loc, LLVM::LLVMStructType::getLiteral(e.b.getContext(), types));
    for (auto [i, field] : llvm::enumerate(fields))
      result = e.b.create<LLVM::InsertValueOp>(e.loc, result, field, ArrayRef<int64_t>{int64_t(i)});
    return result;
  }

  Value arrayOf(Type element, ArrayRef<Value> values) {
    Value result =
        e.b.create<LLVM::UndefOp>(e.loc, LLVM::LLVMArrayType::get(element, values.size()));
    for (auto [i, value] : llvm::enumerate(values))
      result = e.b.create<LLVM::InsertValueOp>(e.loc, result, value, ArrayRef<int64_t>{int64_t(i)});
    return result;
  }

  Value u32(uint64_t value) {
    return e.b.create<LLVM::ConstantOp>(e.loc, e.b.getI32IntegerAttr(int32_t(uint32_t(value))));
  }
  Value u64(uint64_t value) {
    return e.b.create<LLVM::ConstantOp>(e.loc, e.b.getI64IntegerAttr(int64_t(value)));
  }
  Value f64(double value) {
    return e.b.create<LLVM::ConstantOp>(e.loc, e.b.getF64FloatAttr(value));
  }
  Value addressOf(StringRef name) { return e.b.create<LLVM::AddressOfOp>(e.loc, e.ptr(), name); }

private:
  LLVM::GlobalOp create(StringRef name, Type type, Attribute value) {
    return e.b.create<LLVM::GlobalOp>(e.loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                      name, value, /*alignment=*/16);
  }

  Emit &e;
};

Type structType(Emit &e, ArrayRef<Type> types) {
  return LLVM::LLVMStructType::getLiteral(e.b.getContext(), types);
}

void emitKvGroups(Emit &e, Globals &globals, ir::ModelOp model) {
  Type i32 = e.i32(), i64 = e.i64();
  Type type = structType(e, {i32, i32, i32, i32, i32, i32, i32, i32, i64, i64, i64, i64, e.ptr()});
  SmallVector<ir::KvGroupOp> groups(model.getBody().getOps<ir::KvGroupOp>());
  auto layersName = [](size_t i) { return "inf_kv_layers_" + std::to_string(i); };
  for (auto [i, group] : llvm::enumerate(groups)) {
    SmallVector<uint32_t> layers(group.getLayers().begin(), group.getLayers().end());
    globals.array<uint32_t>(layersName(i), i32, layers);
  }
  globals.computed("inf_kv_groups", LLVM::LLVMArrayType::get(type, groups.size()), [&] {
    SmallVector<Value> values;
    for (auto [i, group] : llvm::enumerate(groups)) {
      KvLayout kv = kvLayout(group);
      uint32_t element = kv.isBf16() ? INF_ELEMENT_BF16 : INF_ELEMENT_F32;
      values.push_back(globals.structOf(
          {globals.u32(sizeof(inf_kv_group)), globals.u32(element), globals.u32(kv.blockTokens),
           globals.u32(kv.slots), globals.u32(kv.kvHeads), globals.u32(kv.headDim),
           globals.u32(kv.window), globals.u32(0), globals.u64(kv.headBytes),
           globals.u64(kv.valueOffset), globals.u64(kv.slotBytes), globals.u64(kv.blockBytes),
           globals.addressOf(layersName(i))}));
    }
    return globals.arrayOf(type, values);
  });
}

void emitRopes(Emit &e, Globals &globals, ir::ModelOp model) {
  Type type = structType(e, {e.i32(), e.i32(), e.f64(), e.ptr()});
  SmallVector<ir::RopeTableOp> tables(model.getBody().getOps<ir::RopeTableOp>());
  auto name = [](size_t i) { return "inf_rope_frequencies_" + std::to_string(i); };
  for (auto [i, table] : llvm::enumerate(tables))
    globals.array<double>(name(i), e.f64(), ir::ropeFrequencies(table).inverse);
  globals.computed("inf_ropes", LLVM::LLVMArrayType::get(type, tables.size()), [&] {
    SmallVector<Value> values;
    for (auto [i, table] : llvm::enumerate(tables))
      values.push_back(globals.structOf(
          {globals.u32(sizeof(inf_rope)), globals.u32(table.getHeadDim()),
           globals.f64(ir::ropeFrequencies(table).attentionFactor), globals.addressOf(name(i))}));
    return globals.arrayOf(type, values);
  });
}

void emitPlan(Emit &e, Globals &globals, ir::ModelOp model) {
  Type type = structType(e, {e.i32(), e.i32(), e.i32(), e.i32(), e.i64(), e.i64()});
  globals.computed("inf_plan_0", type, [&] {
    return globals.structOf({globals.u32(sizeof(inf_plan)), globals.u32(*model.getMaxRows()),
                             globals.u32(*model.getMaxOutputRows()), globals.u32(0),
                             globals.u64(*model.getArena()), globals.u64(*model.getScratch())});
  });
}

int64_t countLayers(ir::ModelOp model) {
  ir::StepOp step = *model.getBody().getOps<ir::StepOp>().begin();
  auto layers = step.getBody().getOps<ir::LayerOp>();
  return std::distance(layers.begin(), layers.end());
}

void emitModel(Emit &e, Globals &globals, ir::ModelOp model, const ModelIdentity &identity) {
  Type i32 = e.i32(), i64 = e.i64();
  SmallVector<Type> types{i64, i32, i32, i64, i64, i64};
  types.append(8, i32);
  types.append(4, e.ptr());
  auto groups = model.getBody().getOps<ir::KvGroupOp>();
  auto ropes = model.getBody().getOps<ir::RopeTableOp>();
  globals.computed("inf_model_0", structType(e, types), [&] {
    return globals.structOf({globals.u64(INF_ABI_MAGIC), globals.u32(INF_ABI_VERSION),
                             globals.u32(sizeof(inf_model)), globals.u64(identity.buildId[0]),
                             globals.u64(identity.buildId[1]), globals.u64(identity.featureBits),
                             globals.u32(model.getVocabulary()), globals.u32(model.getHidden()),
                             globals.u32(countLayers(model)), globals.u32(model.getMaxContext()),
                             globals.u32(alignTo(model.getVocabulary(), rowPadding)),
                             globals.u32(alignTo(model.getHidden(), rowPadding)),
                             globals.u32(std::distance(groups.begin(), groups.end())),
                             globals.u32(std::distance(ropes.begin(), ropes.end())),
                             globals.addressOf("inf_kv_groups"), globals.addressOf("inf_ropes"),
                             globals.addressOf("inf_plan_0"), globals.addressOf(stepSymbol)});
  });
}

/// const inf_model *inf_model_query(uint32_t version): the one exported symbol.
void emitQuery(Emit &e) {
  auto type = LLVM::LLVMFunctionType::get(e.ptr(), {e.i32()});
  auto query = e.b.create<LLVM::LLVMFuncOp>(e.loc, INF_ABI_SYMBOL, type);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(query.addEntryBlock(e.b));
  Value served = e.equal(query.getArgument(0), e.constI32(INF_ABI_VERSION));
  Value model = e.b.create<LLVM::AddressOfOp>(e.loc, e.ptr(), "inf_model_0");
  Value result = e.b.create<LLVM::SelectOp>(e.loc, served, model, e.null());
  e.b.create<LLVM::ReturnOp>(e.loc, result);
}

} // namespace

std::vector<int64_t> emitLayerTable(Emit &e, ir::ModelOp model) {
  SmallVector<int64_t> offsets;
  std::vector<int64_t> begins;
  ir::StepOp step = *model.getBody().getOps<ir::StepOp>().begin();
  for (auto layer : step.getBody().getOps<ir::LayerOp>()) {
    begins.push_back(int64_t(offsets.size()) * 8);
    for (unsigned i = 0; i < layer.getWeights().size(); ++i)
      offsets.push_back(int64_t(*boundWeight(model, layer, i + 1).getOffset()));
  }
  Globals(e).array<int64_t>(layerTableSymbol, e.i64(), offsets);
  return begins;
}

void emitModelGlobals(Emit &e, ir::ModelOp model, const ModelIdentity &identity) {
  Globals globals(e);
  emitKvGroups(e, globals, model);
  emitRopes(e, globals, model);
  emitPlan(e, globals, model);
  emitModel(e, globals, model, identity);
  emitQuery(e);
}

} // namespace inf
