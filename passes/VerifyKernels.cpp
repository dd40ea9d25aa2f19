// Every kernel exists, fits its op and the target, and its weights' format and layout.
#include "passes/BlockWeights.h"
#include "passes/KernelUse.h"
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "InfPasses.h.inc"

namespace {

/// `named` does what `demand` asks: everything but isa, formats, row tile and order is equal.
bool serves(const KernelSpec &named, KernelSpec demand) {
  demand.isa = named.isa;
  demand.weights = named.weights;
  demand.rows = named.rows;
  demand.order = named.order;
  demand.kv = named.kv;
  return demand == named;
}

LogicalResult verifyKernel(ir::ModelOp model, Operation *op, const Target &target) {
  std::optional<KernelSpec> demand = kernelDemand(model, op);
  if (!demand)
    return success();
  auto name = op->getAttrOfType<StringAttr>(ir::kernelAttrName);
  std::optional<KernelSpec> named = kernelOn(op);
  if (!named)
    return op->emitError() << describe(op) << ": expected inf.kernel to name a kernel, found "
                           << (name ? name.getValue() : StringRef("nothing"))
                           << "; `infc kernels` lists what there is";
  if (std::optional<std::string> reason = whyNotGenerable(*named))
    return op->emitError() << describe(op) << ": kernel " << name
                           << " can't be generated: " << *reason;
  if (!serves(*named, *demand)) {
    demand->isa = named->isa;
    demand->weights = named->weights;
    demand->rows = named->rows;
    demand->order = named->order;
    demand->kv = named->kv;
    return op->emitError() << describe(op) << ": expected a kernel like " << kernelSymbol(*demand)
                           << ", found " << name;
  }
  FeatureSet missing = target.features.missing(kernelFeatures(*named));
  if (!missing.empty())
    return op->emitError() << describe(op) << ": kernel " << name << " needs " << missing.toString()
                           << ", which target " << target.name << " lacks";
  if (named->op == KernelOp::Attention) {
    auto group = model.lookupSymbol<ir::KvGroupOp>(cast<ir::AttentionOp>(op).getGroupAttr());
    if (group.getElement() != StringRef(weightFormatName(named->kv)))
      return op->emitError() << describe(op) << ": kernel " << name << " reads "
                             << weightFormatName(named->kv).data() << " keys, kv_group "
                             << group.getSymName() << " holds " << group.getElement();
    return success();
  }
  for (ir::WeightOp weight : weightsBehind(model, kernelWeight(op)))
    if (!weight.getFormat() || int(*weight.getFormat()) != int(named->weights))
      return op->emitError() << describe(op) << ": kernel " << name << " reads "
                             << weightFormatName(named->weights).data() << ", weight "
                             << weight.getSymName() << " is packed to "
                             << (weight.getFormat() ? ir::stringifyFormat(*weight.getFormat())
                                                    : StringRef("nothing yet"))
                             << "; change both, for every layer of this block";
  return success();
}

LogicalResult verifyLayouts(ir::ModelOp model, Operation *op) {
  for (const WeightUse &use : weightUses(op))
    for (ir::WeightOp weight : weightsBehind(model, use.value)) {
      if (!weight.getLayout() || *weight.getLayout() != use.layout)
        return op->emitError() << describe(op) << ": expected " << weight.getSymName()
                               << " in layout " << ir::stringifyLayout(use.layout);
      if (isa<ir::EmbeddingOp>(op) && weight.getFormat() == ir::Format::MXFP4)
        return op->emitError() << describe(op) << ": expected " << weight.getSymName()
                               << " in another format: rows of mxfp4 can't be gathered";
    }
  return success();
}

struct VerifyKernelsPass : impl::VerifyKernelsBase<VerifyKernelsPass> {
  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    if (!model.getTarget()) {
      model.emitError() << "expected a target; run inf-select-kernels first";
      return signalPassFailure();
    }
    FailureOr<Target> found = findTarget(model, *model.getTarget());
    if (failed(found))
      return signalPassFailure();
    Target target = *found;
    WalkResult result = model.walk([&](Operation *op) {
      if (failed(verifyKernel(model, op, target)) || failed(verifyLayouts(model, op)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace inf
