// Gives every product and attention its kernel by the kernel table, and every weight the layout its
// readers need.
#include "passes/BlockWeights.h"
#include "passes/KernelUse.h"
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_SELECTKERNELS
#include "InfPasses.h.inc"

namespace {

/// The format the kernel of `op` must read; nullopt when the weights behind it disagree.
std::optional<WeightFormat> formatFor(ir::ModelOp model, Operation *op) {
  if (auto attention = dyn_cast<ir::AttentionOp>(op)) {
    auto group = model.lookupSymbol<ir::KvGroupOp>(attention.getGroupAttr());
    return weightFormatByName(group.getElement());
  }
  std::optional<WeightFormat> format;
  for (ir::WeightOp weight : weightsBehind(model, kernelWeight(op))) {
    if (!weight.getFormat() || (format && int(*format) != int(*weight.getFormat())))
      return std::nullopt;
    format = static_cast<WeightFormat>(*weight.getFormat());
  }
  return format;
}

/// The first row of the kernel table that serves `demand` on `target`.
std::optional<KernelSpec> choose(KernelSpec demand, WeightFormat format, const Target &target) {
  for (const KernelChoice &choice : kernelTable()) {
    if (choice.op != demand.op || choice.format != format || choice.inputs != demand.inputs ||
        target.features.hasAny(choice.slowWith) ||
        (demand.op == KernelOp::Attention && demand.group < choice.fewestHeads))
      continue;
    demand.isa = choice.isa;
    if (demand.op == KernelOp::Attention) {
      demand.kv = format;
    } else {
      demand.weights = format;
      demand.rows = choice.rows;
    }
    demand.order = choice.order;
    if (target.features.missing(kernelFeatures(demand)).empty() && !whyNotGenerable(demand))
      return demand;
  }
  return std::nullopt;
}

struct SelectKernelsPass : impl::SelectKernelsBase<SelectKernelsPass> {
  using SelectKernelsBase::SelectKernelsBase;

  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    FailureOr<Target> found = findTarget(model, target);
    if (failed(found))
      return signalPassFailure();
    Target resolved = *found;
    model.setTarget(resolved.name);
    WalkResult result = model.walk([&](Operation *op) {
      if (failed(selectKernel(model, op, resolved)) || failed(setLayouts(model, op)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult selectKernel(ir::ModelOp model, Operation *op, const Target &resolved) {
    std::optional<KernelSpec> demand = kernelDemand(model, op);
    if (!demand || op->hasAttr(ir::kernelAttrName))
      return success();
    std::optional<WeightFormat> format = formatFor(model, op);
    if (!format)
      return op->emitError() << describe(op)
                             << ": expected weights of one format in all layers of this block; run "
                                "inf-quantize and inf-specialize-blocks first";
    std::optional<KernelSpec> spec = choose(*demand, *format, resolved);
    if (!spec)
      return op->emitError() << describe(op) << ": no kernel for format "
                             << weightFormatName(*format).data() << " with "
                             << inputFormatName(demand->inputs).data()
                             << (demand->op == KernelOp::Linear ? " rows" : " dots")
                             << " on target " << resolved.name
                             << "; `infc kernels` lists what there is";
    op->setAttr(ir::kernelAttrName, StringAttr::get(op->getContext(), kernelSymbol(*spec)));
    return success();
  }

  LogicalResult setLayouts(ir::ModelOp model, Operation *op) {
    for (const WeightUse &use : weightUses(op))
      for (ir::WeightOp weight : weightsBehind(model, use.value)) {
        if (weight.getLayout() && *weight.getLayout() != use.layout)
          return op->emitError() << describe(op) << ": expected " << weight.getSymName()
                                 << " in layout " << ir::stringifyLayout(use.layout) << ", found "
                                 << ir::stringifyLayout(*weight.getLayout());
        weight.setLayout(use.layout);
      }
    return success();
  }
};

} // namespace
} // namespace inf
