// The q, k and v products of one input become one product of a longer weight.
#include "passes/BlockWeights.h"
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_FUSEQKV
#include "InfPasses.h.inc"

namespace {

/// The product behind `value`, through its rope and the norm of its heads if it has them.
ir::LinearOp productOf(Value value) {
  if (auto rope = value.getDefiningOp<ir::RopeOp>())
    value = rope.getX();
  if (auto norm = value.getDefiningOp<ir::RmsNormOp>())
    value = norm.getX();
  return value.getDefiningOp<ir::LinearOp>();
}

/// Nothing but x, weight and bias: anything more belongs to one of the three alone.
bool isPlain(ir::LinearOp linear) {
  return !linear.getScale() && !linear.getAddend() && !linear.getNorm() && !linear.getResidual() &&
         !linear.getActivation();
}

struct Products {
  ir::LinearOp q, k, v;
};

/// Weights bound by the layers, since only those can be joined for each layer.
bool isBound(Value weight) { return !weight || isa<BlockArgument>(weight); }

/// In every layer the same format is wished for both, or none for both.
bool samePacking(ir::ModelOp model, Value first, Value second) {
  for (auto [a, b] : llvm::zip(weightsBehind(model, first), weightsBehind(model, second)))
    if (a.getFormat() != b.getFormat())
      return false;
  return true;
}

/// The three products of this attention, when they read the same rows and can be joined.
std::optional<Products> match(ir::ModelOp model, ir::AttentionOp attention, ir::KvAppendOp append) {
  Products found{productOf(attention.getQ()), productOf(append.getK()), productOf(append.getV())};
  if (!found.q || !found.k || !found.v)
    return std::nullopt;
  // One product that is two of them has one weight to read already.
  if (found.q == found.k || found.q == found.v || found.k == found.v)
    return std::nullopt;
  for (ir::LinearOp linear : {found.q, found.k, found.v})
    if (!isPlain(linear) || linear.getX() != found.q.getX() ||
        !linear.getBias() != !found.q.getBias() || !isBound(linear.getWeight()) ||
        !isBound(linear.getBias()) || !samePacking(model, found.q.getWeight(), linear.getWeight()))
      return std::nullopt;
  return found;
}

ir::LinearOp earliest(Products products) {
  ir::LinearOp first = products.q;
  for (ir::LinearOp linear : {products.k, products.v})
    if (linear->isBeforeInBlock(first))
      first = linear;
  return first;
}

void join(ir::ModelOp model, ir::BlockOp block, Products products) {
  SmallVector<Value> weights, biases;
  for (ir::LinearOp linear : {products.q, products.k, products.v}) {
    weights.push_back(linear.getWeight());
    if (linear.getBias())
      biases.push_back(linear.getBias());
  }
  Value weight = concatenateArguments(model, block, weights, "attention.qkv.weight");
  Value bias;
  if (!biases.empty())
    bias = concatenateArguments(model, block, biases, "attention.qkv.bias");

  OpBuilder builder(earliest(products)); // whatever reads one of them comes later
  int64_t rows = cast<ir::WeightType>(weight.getType()).getRows();
  auto joined = builder.create<ir::LinearOp>(
      products.q.getLoc(), ir::activationType(model.getContext(), rows), products.q.getX(), weight,
      bias, Value(), Value(), Value(), Value(), FloatAttr(), ir::ActivationAttr());
  int64_t begin = 0;
  for (ir::LinearOp linear : {products.q, products.k, products.v}) {
    Value slice = builder.create<ir::SliceOp>(linear.getLoc(), linear.getType(), joined, begin);
    begin += ir::featuresOf(slice);
    linear.getResult().replaceAllUsesWith(slice);
  }
  for (ir::LinearOp linear : {products.q, products.k, products.v})
    linear.erase(); // last: the builder stands at one of them
}

struct FuseQkvPass : impl::FuseQkvBase<FuseQkvPass> {
  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    for (auto block : model.getBody().getOps<ir::BlockOp>()) {
      auto attentions = block.getBody().getOps<ir::AttentionOp>();
      auto appends = block.getBody().getOps<ir::KvAppendOp>();
      if (attentions.empty() || appends.empty())
        continue;
      if (std::optional<Products> products = match(model, *attentions.begin(), *appends.begin())) {
        join(model, block, *products);
        dropUnusedArguments(model, block);
      }
    }
  }
};

} // namespace
} // namespace inf
